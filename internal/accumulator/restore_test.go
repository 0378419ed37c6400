package accumulator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// restart is what a restart does: a new Core, restored from an encoded mark.
func restart(t testing.TB, p *Program, m Mark) *Core {
	t.Helper()
	c := NewCore(p, Limits{})
	if err := c.Restore(encoded(m), m.Counters, m.Positions); err != nil {
		t.Fatal(err)
	}
	return c
}

// W13: after a batch was handed over, a restart does not hand it over again, and an open
// batch is neither lost nor flushed by a restart.
func TestRestoreBatchHandsNothingOverTwice(t *testing.T) {
	t.Parallel()
	p := compile(t, spec.Accumulator{Kind: "batch", Config: batch.Declared{Size: 3, Interval: time.Second}})
	c := NewCore(p, Limits{})
	for i := range 3 {
		c.Add(at(0), pulled(int64(i+1), fmt.Sprint(i)), true)
	}
	h := take(t, c)
	if got := fmt.Sprint(values(h)); got != "[[0,1,2]]" {
		t.Fatalf("got %s", got)
	}
	c = restart(t, p, h.Mark)
	if _, due := c.Due(); due || c.Drain(&Handoff{}) {
		t.Fatal("the batch that was handed over is still there after a restart")
	}
	c.Add(at(0), pulled(4, "3"), true)
	m := take(t, c).Mark
	c = restart(t, p, m)
	if c.Drain(&Handoff{}) {
		t.Error("a restart flushed the open batch")
	}
	if due, ok := c.Due(); !ok || !due.Equal(at(time.Second)) {
		t.Errorf("due %v, %v: want a second after the first event, before the restart", due, ok)
	}
	c.Add(at(0), pulled(5, "4"), true)
	c.Add(at(0), pulled(6, "5"), true)
	h = take(t, c)
	if got := fmt.Sprint(values(h)); got != "[[3,4,5]]" {
		t.Errorf("got %s, want the batch that spans the restart", got)
	}
	if b := h.Boundaries[0]; b.First.Offset != 4 || b.Last.Offset != 6 {
		t.Errorf("got positions %v to %v", b.First, b.Last)
	}
}

// W2: a window of untyped values is exactly the same after a restart, kinds included.
func TestRestoreStateKeepsTheWindow(t *testing.T) {
	t.Parallel()
	p := compile(t, spec.Accumulator{Kind: "state", Config: state.Declared{Keep: 4}})
	texts := []string{`1`, `1.0`, `"x"`, `null`, `{"b":[1,{"a":2.5}],"a":"ü"}`, `[]`}
	c, twin := NewCore(p, Limits{}), NewCore(p, Limits{})
	for i, text := range texts {
		c.Add(at(0), pulled(int64(i+1), text), true)
		twin.Add(at(0), pulled(int64(i+1), text), true)
		c = restart(t, p, take(t, c).Mark)
		take(t, twin)
	}
	c.Add(at(0), pulled(9, `true`), true)
	twin.Add(at(0), pulled(9, `true`), true)
	got, want := take(t, c).Boundaries[0], take(t, twin).Boundaries[0]
	if !boundary.Equal(got.Value, want.Value) || got.Value.String() != want.Value.String() {
		t.Errorf("got %s, want %s", got.Value, want.Value)
	}
	for i := range want.Value.Len() {
		if g, w := got.Value.Index(i).Kind(), want.Value.Index(i).Kind(); g != w {
			t.Errorf("item %d: kind %v, want %v", i, g, w)
		}
	}
}

// A restart at any moment changes nothing of what comes out, whatever the kind.
func TestRestoreAnywhere(t *testing.T) {
	t.Parallel()
	programs := map[string]*Program{
		"passthrough": compile(t, spec.Accumulator{Where: expr("event % 3 != 0")}),
		"batch": compile(t, spec.Accumulator{Kind: "batch", Config: batch.Declared{Size: 4, Interval: 5 * time.Second},
			Where: expr("event % 3 != 0")}),
		"state": compile(t, spec.Accumulator{
			Kind: "state", Config: state.Declared{Keep: 3}, Where: expr("event % 3 != 0"),
		}),
		"go": compile(t, spec.Accumulator{Kind: "go", Config: summing(), Where: expr("event % 3 != 0")}),
	}
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				c, twin := NewCore(p, Limits{}), NewCore(p, Limits{})
				var got, want []string
				var mark, twinMark Mark
				now := epochStart
				for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
					now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(rt, "wait")) * time.Second)
					text := fmt.Sprint(i)
					if rapid.IntRange(0, 9).Draw(rt, "bad") == 0 {
						text = `"`
					}
					for _, core := range []*Core{c, twin} {
						core.Tick(now)
						core.Add(now, pulled(int64(i+1), text), i%2 == 0)
					}
					var h, th Handoff
					if c.Drain(&h) {
						got, mark = append(got, values(&h)...), h.Mark
					}
					if twin.Drain(&th) {
						want, twinMark = append(want, values(&th)...), th.Mark
					}
					if rapid.Bool().Draw(rt, "restart") {
						c = restart(t, p, mark)
					}
				}
				c.EndOfInput(now)
				twin.EndOfInput(now)
				var h, th Handoff
				if c.Drain(&h) {
					got, mark = append(got, values(&h)...), h.Mark
				}
				if twin.Drain(&th) {
					want, twinMark = append(want, values(&th)...), th.Mark
				}
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Error(diff)
				}
				if mark.Counters != twinMark.Counters {
					rt.Errorf("got %+v, want %+v", mark.Counters, twinMark.Counters)
				}
			})
		})
	}
}

// M42: at any moment received = filtered + rejected + dead-lettered + open + handed over.
func TestM42Conservation(t *testing.T) {
	t.Parallel()
	for _, a := range []spec.Accumulator{
		{Where: expr("event > 2")},
		{Kind: "batch", Config: batch.Declared{Size: 3}, Where: expr("event > 2")},
		{Kind: "state", Config: state.Declared{Keep: 5}, Where: expr("event > 2")},
		{Kind: "go", Config: summing(), Where: expr("event > 2")},
	} {
		p := compile(t, a)
		rapid.Check(t, func(rt *rapid.T) {
			c := NewCore(p, Limits{})
			var out int64
			var before Moment
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				switch rapid.IntRange(0, 6).Draw(rt, "step") {
				case 0:
					c.RefuseTail(int64(rapid.IntRange(0, 3).Draw(rt, "n")))
				case 1:
					c.Add(at(0), pushed("{"), false)
				case 2:
					c.Poison(at(0), pulled(1, "{}"), true, "boom")
				case 3: // a group that is recalled
					before = c.Moment()
					c.Add(at(0), pushed("7"), false)
					c.Add(at(0), pushed("8"), false)
					c.GoBack(before)
				default:
					c.Add(at(0), pulled(2, fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "event"))), true)
				}
				var h Handoff
				c.Drain(&h)
				out += events(&h)
				ctr := c.Counters()
				if sum := ctr.Filtered + ctr.Rejected + ctr.DeadLettered + ctr.Open + out; sum != ctr.Received {
					rt.Fatalf("%+v and %d handed over make %d", ctr, out, sum)
				}
			}
		})
	}
}

// A handoff that is undone leaves no trace: not in what follows, not in earlier handles.
func TestGoBack(t *testing.T) {
	t.Parallel()
	for _, a := range []spec.Accumulator{
		{}, {Kind: "batch", Config: batch.Declared{Size: 3}}, {Kind: "state", Config: state.Declared{Keep: 2}},
	} {
		p := compile(t, a)
		c, twin := NewCore(p, Limits{}), NewCore(p, Limits{})
		for _, core := range []*Core{c, twin} {
			core.Add(at(0), pulled(1, "1"), true)
			core.Add(at(0), pulled(2, "2"), true)
		}
		take(t, twin)
		handle := take(t, c).Mark
		kept := encoded(handle)
		before := c.Moment()
		for i := range 5 {
			c.Add(at(0), pulled(int64(9+i), "99"), true)
		}
		if n := len(take(t, c).Boundaries); n == 0 {
			t.Errorf("%s: nothing to undo", p.Type())
		}
		c.GoBack(before)
		c.Add(at(0), pulled(9, "98"), true) // not even taken
		c.Add(at(0), pulled(9, "{"), true)
		c.GoBack(before)
		if b, l, _ := c.Pending(); b+l > 0 {
			t.Errorf("%s: %d boundaries and %d dead letters are still there", p.Type(), b, l)
		}
		if string(encoded(handle)) != string(kept) {
			t.Errorf("%s: an earlier handle changed", p.Type())
		}
		for _, core := range []*Core{c, twin} {
			core.Add(at(0), pulled(3, "3"), true)
		}
		got, want := take(t, c), take(t, twin)
		if fmt.Sprint(values(got)) != fmt.Sprint(values(want)) || got.Mark.Counters != want.Mark.Counters ||
			!cmp.Equal(got.Mark.Positions, want.Mark.Positions) ||
			string(encoded(got.Mark)) != string(encoded(want.Mark)) {
			t.Errorf("%s: got %s %+v, want %s %+v", p.Type(), values(got), got.Mark, values(want), want.Mark)
		}
	}
}

func TestRestoreRefusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	batches := compile(t, spec.Accumulator{Kind: "batch", Config: batch.Declared{Size: 3}})
	histories := compile(t, spec.Accumulator{Kind: "state", Config: state.Declared{Keep: 3}})
	plain := compile(t, spec.Accumulator{})
	c := NewCore(batches, Limits{})
	c.Add(at(0), pulled(1, `{"a":1}`), true)
	m := take(t, c).Mark
	good := encoded(m)
	for name, bad := range map[string]struct {
		p    *Program
		data []byte
		ctr  Counters
	}{
		"another kind":   {histories, good, m.Counters},
		"no state":       {plain, good, m.Counters},
		"cut off":        {batches, good[:len(good)-1], m.Counters},
		"too long":       {batches, append(append([]byte(nil), good...), 0), m.Counters},
		"head only":      {batches, []byte("B\x01"), Counters{}},
		"a huge length":  {histories, append([]byte("H\x01"), 0xff, 0xff, 0xff, 0xff, 0x7f), Counters{}},
		"other counters": {batches, good, Counters{Received: 5, Open: 2}},
		"fewer open":     {batches, good, Counters{Received: 5}},
	} {
		if err := NewCore(bad.p, Limits{}).Restore(bad.data, bad.ctr, nil); !errors.Is(err, fold.ErrForeign) {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
	for i := range good { // no damage may panic
		NewCore(batches, Limits{}).Restore(good[:i], m.Counters, nil)
	}
	// A state that was dropped on purpose: its open events are accounted for.
	c = NewCore(batches, Limits{})
	if err := c.Restore(nil, m.Counters, m.Positions); err != nil {
		t.Fatal(err)
	}
	if h := take(t, c); h.Mark.Counters != (Counters{Received: 1, Filtered: 1}) {
		t.Errorf("got %+v", h.Mark.Counters)
	}
	// A declaration that keeps fewer keeps the newest.
	c = NewCore(histories, Limits{})
	for i := range 3 {
		c.Add(at(0), pulled(int64(i+1), fmt.Sprint(i)), true)
	}
	fewer := compile(t, spec.Accumulator{Kind: "state", Config: state.Declared{Keep: 2}})
	c = restart(t, fewer, take(t, c).Mark)
	c.Add(at(0), pulled(4, "3"), true)
	if got := fmt.Sprint(values(take(t, c))); got != "[[2,3]]" {
		t.Errorf("got %s, want the newest two", got)
	}
}

func FuzzRestore(f *testing.F) {
	batches := compile(f, spec.Accumulator{Kind: "batch", Config: batch.Declared{Size: 3}})
	histories := compile(f, spec.Accumulator{Kind: "state", Config: state.Declared{Keep: 3}})
	for _, p := range []*Program{batches, histories} {
		c := NewCore(p, Limits{})
		c.Add(at(0), pulled(1, `{"a":[1,2.5,"x"]}`), true)
		var h Handoff
		c.Drain(&h)
		f.Add(encoded(h.Mark))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range []*Program{batches, histories} {
			c := NewCore(p, Limits{})
			s, err := c.fold.Decode(data)
			if err != nil || s == nil {
				continue
			}
			c.fold.Resume(s)
			again, err := NewCore(p, Limits{}).fold.Decode(s.AppendBinary(nil))
			if err != nil {
				t.Fatalf("what was restored cannot be restored again: %v", err)
			}
			if string(again.AppendBinary(nil)) != string(s.AppendBinary(nil)) {
				t.Error("restoring twice differs")
			}
		}
	})
}
