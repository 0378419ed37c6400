package accumulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// countModel is windows of so many events the plain way: all events of a key, of which the newest are looked at.
type countModel struct {
	size, every int
	came        map[string][]sample
	out         []string
	devs        []float64
}

func (m *countModel) add(s sample) {
	m.came[s.k] = append(m.came[s.k], s)
	all := m.came[s.k]
	if len(all)%m.every > 0 {
		return
	}
	all = all[max(0, len(all)-m.size):]
	sum, ids, kinds := 0.0, []int{}, map[int]bool{}
	for _, s := range all {
		sum += s.x
		kinds[s.kind] = true
		if len(ids) < 3 {
			ids = append(ids, s.id)
		}
	}
	mean, squares := sum/float64(len(all)), 0.0
	for _, s := range all {
		squares += (s.x - mean) * (s.x - mean)
	}
	m.devs = append(m.devs, math.Sqrt(squares/float64(len(all)-1)))
	by := slices.Clone(all)
	slices.SortStableFunc(by, func(a, b sample) int { return cmp.Compare(b.x, a.x) })
	top := []int{}
	for _, s := range by[:min(2, len(by))] {
		top = append(top, s.id)
	}
	low := slices.MinFunc(all, func(a, b sample) int { return cmp.Compare(a.x, b.x) })
	text, _ := json.Marshal(map[string]any{"key": s.k, "n": len(all), "total": sum, "first": all[0].id,
		"last": all[len(all)-1].id, "ids": ids, "kinds": len(kinds), "top": top, "low": low.id, "most": by[0].x,
		"events": m.every})
	m.out = append(m.out, string(text))
}

// open is how many events no window has told of.
func (m *countModel) open() (n int64) {
	for _, all := range m.came {
		n += int64(len(all) % m.every)
	}
	return n
}

// toldCount is a boundary in the words of the model, and its deviation.
func toldCount(b *boundary.Boundary) (said string, dev float64) {
	m := map[string]any{"events": b.Events}
	for name, v := range b.Value.Fields() {
		switch name {
		case "k":
		case "dev":
			dev, _ = v.AsFloat()
		default:
			m[name] = v.Any()
		}
	}
	text, _ := json.Marshal(m)
	return string(text), dev
}

func counting(size, every int, aggregates ...spec.Field) spec.Accumulator {
	a := tumbling(0, aggregates...)
	a.TimeUnit = "ms"
	change(&a, func(w *window.Declared) {
		w.Key = []spec.Expr{expr("event.k")}
		w.Size, w.Every, w.Count, w.CountEvery = 0, 0, size, every
	})
	return a
}

func randomCount(r *rand.Rand) (a spec.Accumulator, m *countModel) {
	m = &countModel{size: 1 + r.IntN(24), came: map[string][]sample{}}
	if m.every = 1 + r.IntN(m.size); r.IntN(4) == 0 {
		m.every = m.size
	}
	a = counting(m.size, m.every, field("n", "count()"), field("total", "sum(event.x)"),
		field("first", "first(event.id)"), field("last", "last(event.id)"), field("ids", "collect(event.id, 3)"),
		field("kinds", "distinct(event.kind)"), field("top", "top(event.id, event.x, 2)"),
		field("low", "min_by(event.id, event.x)"), field("most", "max(event.x)"), field("dev", "stddev(event.x)"))
	return a, m
}

// M3, M42: windows of so many events are those of an independent computation, boundary by boundary, by the order in
// which events come, whatever their times; each event is accounted for once. What is not whole at the end of the input
// is not handed over. Restored at random points the fold does the same, and no handle changes after it was taken.
func TestM3CountsOfAnyEvents(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 5))
			a, m := randomCount(r)
			p := compile(t, a)
			c := NewCore(p, Limits{MaxEventBytes: 1 << 20})
			var got []string
			var devs []float64
			var handles []func()
			done := int64(0)
			hear := func() Mark {
				h := &Handoff{}
				c.changed = true
				c.Drain(h)
				for k := range h.Boundaries {
					said, dev := toldCount(&h.Boundaries[k])
					got, devs = append(got, said), append(devs, dev)
				}
				done += events(h)
				if n := h.Mark.Counters; n.Received != n.Open+done || n.Open != m.open() {
					t.Fatalf("books %+v, handed over %d, open %d", n, done, m.open())
				}
				return h.Mark
			}
			all := shuffled(r, samples(r, 30+r.IntN(400)), 20_000)
			var back goneBack
			for i, s := range all {
				if o := c.Add(far, s.event(int64(i+1)), true); o.Status != Accepted {
					t.Fatalf("event %d: %+v", s.id, o)
				}
				m.add(s)
				if r.IntN(8) > 0 {
					continue
				}
				mark := hear()
				state := encoded(mark)
				if back.mark.State == nil || r.IntN(4) == 0 {
					back = goneBack{mark, i + 1, len(got)}
				}
				handles = append(handles, func() {
					if !bytes.Equal(encoded(mark), state) {
						t.Error("a handle changed after it was taken")
					}
				})
				if r.IntN(3) == 0 {
					c = restarted(t, r, p, mark)
				}
			}
			c.EndOfInput(far)
			hear()
			if diff := gocmp.Diff(m.out, got); diff != "" {
				t.Errorf("the newest %d, each %d (-want +got):\n%s", m.size, m.every, diff)
			}
			for i := range min(len(devs), len(m.devs)) {
				if !math.IsNaN(m.devs[i]) && math.Abs(devs[i]-m.devs[i]) > 1e-9*(1+m.devs[i]) {
					t.Errorf("boundary %d: deviates by %v, want %v", i, devs[i], m.devs[i])
				}
			}
			for _, check := range handles {
				check()
			}
			if back.mark.State == nil {
				return
			}
			c, told := back.core(t, p), got
			got = nil
			for i, s := range all[back.next:] {
				c.Add(far, s.event(int64(back.next+i+1)), true)
			}
			h := &Handoff{}
			c.Drain(h)
			for k := range h.Boundaries {
				said, _ := toldCount(&h.Boundaries[k])
				got = append(got, said)
			}
			if !slices.Equal(told[back.told:], got) {
				t.Errorf("gone back to event %d (-want +got):\n%s", back.next, gocmp.Diff(told[back.told:], got))
			}
		})
	}
}

// goneBack is a state that is gone on from once more, after others have gone on from it: what it shares with them is
// what it was.
type goneBack struct {
	mark Mark
	next int // the event that comes next
	told int // boundaries, until then
}

func (b *goneBack) core(t *testing.T, p *Program) *Core {
	t.Helper()
	c := NewCore(p, Limits{MaxEventBytes: 1 << 20})
	if err := c.RestoreMark(b.mark, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// M3: a window that is handed over whole leaves nothing behind, so that keys may be without number.
func TestM3CountsForgetWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	c := newCore(t, counting(2, 2))
	for i := range 100 {
		for range 2 {
			c.Add(far, pulled(int64(i+1), fmt.Sprintf(`{"at":0,"k":"%d"}`, i)), true)
		}
	}
	h := take(t, c)
	if n := len(h.Boundaries); n != 100 {
		t.Errorf("%d boundaries, want 100", n)
	}
	if n := len(encoded(h.Mark)); n > 16 {
		t.Errorf("a state of nothing has %d bytes", n)
	}
}

// M4: one more group than there may be is refused, and the others go on.
func TestM4CountsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCore(t, counting(100_000, 100))
	for i := range window.MaxPanes / 1000 {
		if o := c.Add(far, pulled(int64(i+1), fmt.Sprintf(`{"at":0,"k":"%d"}`, i)), true); o.Status != Accepted {
			t.Fatalf("group %d: %+v", i, o)
		}
	}
	o := c.Add(far, pulled(99_999, `{"at":0,"k":"one more"}`), true)
	if o.Status == Accepted || o.Code != "window_full" {
		t.Errorf("one more group: %+v", o)
	}
	if o := c.Add(far, pulled(100_000, `{"at":0,"k":"7"}`), true); o.Status != Accepted {
		t.Errorf("a group that is there: %+v", o)
	}
}

// M28: a checkpoint has each event of a window once, however many sums it is in, and the window goes on from it.
func TestM28CountsKeepEachEventOnce(t *testing.T) {
	t.Parallel()
	a := counting(200, 1, field("ids", "collect(event.id, 200)"), field("top", "top(event.id, event.id, 3)"),
		field("kinds", "count_distinct(event.id, 200)"))
	p := compile(t, a)
	c, beside := NewCore(p, Limits{}), NewCore(p, Limits{})
	add := func(c *Core, i int) {
		if o := c.Add(far, pulled(int64(i+1), fmt.Sprintf(`{"at":0,"k":"a","id":%d}`, i)), true); o.Status != Accepted {
			t.Fatalf("event %d: %+v", i, o)
		}
	}
	for i := range 450 {
		add(c, i)
		add(beside, i)
		if i%37 != 0 {
			continue
		}
		beside.changed = true // nothing may have been handed over since
		m := take(t, beside).Mark
		if n := len(encoded(m)); n > 200*100 {
			t.Fatalf("after %d events a state has %d bytes", i+1, n)
		}
		if beside = NewCore(p, Limits{}); beside.Restore(encoded(m), m.Counters, nil) != nil {
			t.Fatal("it cannot be read")
		}
		take(t, c)
	}
	add(c, 450)
	add(beside, 450)
	if got, want := values(take(t, beside)), values(take(t, c)); !slices.Equal(got, want[len(want)-len(got):]) ||
		len(got) == 0 {
		t.Errorf("gone on from a checkpoint it is %q", got)
	}
}

// M4: what the sums of a window list is bounded when it is declared.
func TestM4SumsOfCountsAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size, every int
		text        string
		most        string
	}{
		{1000, 1, "collect(event.id, 100)", ""},
		{1000, 1, "collect(event.id, 101)", "keep at most 100"},
		{1000, 1, "{ \"t\": top(event.id, event.id, 200) }", "let top keep at most 100"},
		{1000, 1, "{ \"t\": top(event.id, event.id, 50), \"c\": collect(event.id, 50) }", ""},
		{1000, 1, "{ \"t\": top(event.id, event.id, 50), \"c\": collect(event.id, 51) }",
			"up to 101 values, and a window is of 1000 parts"},
		{1000, 10, "count_distinct(event.id)", ""}, // a window has no more
		{10_000, 10, "count_distinct(event.id)", "let count_distinct keep at most 100"},
		{1_000_000, 500_000, "count_distinct(event.id, 1000000)", ""},
		{10_000, 10_000, "collect(event.id, 10000)", ""},
	} {
		a := counting(c.size, c.every, field("n", "count()"), field("x", c.text))
		_, diags := Compile(&a, CompileOptions{})
		err := diags.Err()
		if c.most == "" && err != nil || c.most != "" && (err == nil || !strings.Contains(err.Error(), c.most) ||
			diags[0].Code != "too_many") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// M54: keys that one shard could not keep are not put together there, which is said as what it is.
func TestM54CountsOfTooManyKeysAreNotDealt(t *testing.T) {
	t.Parallel()
	var states []fold.State
	for s := range 2 {
		c := newCore(t, counting(100_000, 100))
		for i := range window.MaxPanes/1000/2 + 1 {
			c.Add(far, pulled(int64(i+1), fmt.Sprintf(`{"at":0,"k":"%d-%d"}`, s, i)), true)
		}
		states = append(states, c.fold.State())
	}
	dealt := newCore(t, counting(100_000, 100)).fold.(fold.Dealt)
	all := func(boundary.Value) bool { return true }
	if _, err := dealt.Deal(states, all, true); !errors.Is(err, fold.ErrTooMany) {
		t.Errorf("put together: %v", err)
	}
	if _, err := dealt.Deal(states[:1], all, true); err != nil {
		t.Errorf("one alone: %v", err)
	}
}
