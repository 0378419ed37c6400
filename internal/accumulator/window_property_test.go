package accumulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// every aggregate there is, with results that do not depend on the order of events of
// different times. Floats are quarters, whose sums are exact.
func everyAggregate() []spec.Field {
	return []spec.Field{
		field("n", "count()"), field("total", "sum(event.x)"), field("mean", "mean(event.x)"),
		field("spread", "max(event.x) - min(event.x)"), field("low", "min_by(event.id, event.x)"),
		field("high", "max_by(event.id, event.x)"),
		field("first", "first(event.id)"), field("last", "last(event.id)"), field("ids", "collect(event.id, 3)"),
		field("kinds", "distinct(event.kind)"), field("median", "quantile(event.x, 0.5)"),
		field("dev", "stddev(event.x) ?? 0"),
	}
}

type sample struct {
	id   int
	at   int64 // milliseconds
	k    string
	kind int
	x    float64
}

func (s sample) event(n int64) *boundary.Event {
	return pulled(n, fmt.Sprintf(`{"id":%d,"at":%d,"k":%q,"kind":%d,"x":%v}`, s.id, s.at, s.k, s.kind, s.x))
}

// samples are events with distinct times, in order.
func samples(r *rand.Rand, n int) []sample {
	all := make([]sample, n)
	at := int64(1_700_000_000_000)
	for i := range all {
		at += 1 + r.Int64N(2000)
		all[i] = sample{
			id: i, at: at, k: string(rune('a' + r.IntN(5))), kind: r.IntN(4), x: float64(r.IntN(400)-200) / 4,
		}
	}
	return all
}

// shuffled is the events in another order, none of them overtaken by one that is lateness
// or more ahead of it.
func shuffled(r *rand.Rand, all []sample, lateness int64) []sample {
	out := slices.Clone(all)
	delay := make(map[int]int64, len(all))
	for _, s := range all {
		delay[s.id] = s.at + r.Int64N(lateness)
	}
	slices.SortStableFunc(out, func(a, b sample) int { return int(delay[a.id] - delay[b.id]) })
	return out
}

// expected computes the windows of all events anew, with none of the code under test.
func expected(all []sample, size, every int64) (out []string) {
	type group struct {
		end int64
		k   string
	}
	groups := map[group][]sample{}
	owes := map[group]int64{}
	for _, s := range all {
		newest := s.at / every * every
		for start := newest; start+size > s.at; start -= every {
			g := group{start + size, s.k}
			groups[g] = append(groups[g], s)
			if start == newest {
				owes[g]++
			}
		}
	}
	keys := make([]group, 0, len(groups))
	for g := range groups {
		keys = append(keys, g)
	}
	slices.SortFunc(keys, func(a, b group) int {
		if a.end != b.end {
			return int(a.end - b.end)
		}
		return int(a.k[0]) - int(b.k[0])
	})
	for _, g := range keys {
		in := groups[g] // by time, as all is
		sum, low, high := 0.0, in[0], in[0]
		ids, kinds := []int{}, map[int]bool{}
		for _, s := range in {
			sum += s.x
			if s.x < low.x {
				low = s
			}
			if s.x > high.x {
				high = s
			}
			if len(ids) < 3 {
				ids = append(ids, s.id)
			}
			kinds[s.kind] = true
		}
		text, _ := json.Marshal(map[string]any{
			"key": g.k, "end": g.end, "n": len(in), "total": sum, "mean": sum / float64(len(in)),
			"spread": high.x - low.x,
			"low":    low.id, "high": high.id, "first": in[0].id, "last": in[len(in)-1].id, "ids": ids,
			"kinds": len(kinds), "events": owes[g],
		})
		out = append(out, string(text))
	}
	return out
}

// told is a boundary in the words of expected.
func told(b *boundary.Boundary) string {
	end, _ := b.Value.Field("end").AsTime()
	m := map[string]any{"end": end.UnixMilli(), "events": b.Events}
	for _, name := range []string{"key", "n", "total", "mean", "spread", "low", "high", "first", "last", "ids",
		"kinds"} {
		m[name] = b.Value.Field(name).Any()
	}
	text, _ := json.Marshal(m)
	return string(text)
}

func randomWindow(r *rand.Rand) (a spec.Accumulator, lateness int64) {
	a = tumbling(0, everyAggregate()...)
	a.TimeUnit = "ms"
	lateness = 1 + r.Int64N(30_000)
	change(&a, func(w *window.Declared) {
		w.Key = []spec.Expr{expr("event.k")}
		w.Every = time.Duration(1+r.IntN(20)) * time.Second
		w.Size = w.Every*time.Duration(1+r.IntN(4)) + time.Duration(r.IntN(2))*500*time.Millisecond
		w.Lateness = time.Duration(lateness) * time.Millisecond
	})
	return a, lateness
}

// M3, M42: whatever the order of arrival within the lateness, the windows are those of an
// independent computation over all events; nothing is late, and each event is accounted
// for once. Restored at random points the fold does the same, and no handle changes after
// it was taken.
func TestM3WindowsOfAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			a, lateness := randomWindow(r)
			w := a.Config.(window.Declared)
			all := samples(r, 50+r.IntN(400))
			want := expected(all, w.Size.Milliseconds(), w.Every.Milliseconds())
			p := compile(t, a)
			c := NewCore(p, Limits{MaxEventBytes: 1 << 20})
			var got []string
			var handles []func()
			var done int64
			for i, s := range shuffled(r, all, lateness) {
				if o := c.Add(far, s.event(int64(i+1)), true); o.Status != Accepted {
					t.Fatalf("event %d: %+v", s.id, o)
				}
				if r.IntN(8) > 0 {
					continue
				}
				h := &Handoff{}
				c.Drain(h)
				for k := range h.Boundaries {
					got = append(got, told(&h.Boundaries[k]))
				}
				done += events(h)
				if n := h.Mark.Counters; n.Received != n.Open+done {
					t.Fatalf("books %+v, handed over %d", n, done)
				}
				state := encoded(h.Mark)
				handles = append(handles, func() {
					if !bytes.Equal(encoded(h.Mark), state) {
						t.Error("a handle changed after it was taken")
					}
				})
				if r.IntN(3) == 0 {
					c = restarted(t, r, p, h.Mark)
				}
			}
			c.EndOfInput(far)
			h := &Handoff{}
			c.Drain(h)
			for k := range h.Boundaries {
				got = append(got, told(&h.Boundaries[k]))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("size %v every %v (-want +got):\n%s", w.Size, w.Every, diff)
			}
			for _, check := range handles {
				check()
			}
		})
	}
}

// restarted is a new core that goes on from a mark, in one piece, in parts, or as it is.
func restarted(t *testing.T, r *rand.Rand, p *Program, m Mark) *Core {
	t.Helper()
	state, way := encoded(m), r.IntN(3)
	if way == 0 {
		parted := m.State.(PartedState)
		parts := map[string][]byte{}
		for part := range parted.Parts() {
			parts[part.Name] = part.Append(nil)
		}
		state = fold.Join(parted.AppendHead(nil), parts)
	}
	from := Mark{Counters: m.Counters, Positions: m.Positions}
	if way == 1 {
		from.State, state = m.State, nil
	}
	c := NewCore(p, Limits{MaxEventBytes: 1 << 20})
	if err := c.RestoreMark(from, state); err != nil {
		t.Fatal(err)
	}
	h := &Handoff{}
	c.changed = true
	c.Drain(h)
	if !bytes.Equal(encoded(h.Mark), encoded(m)) || len(h.Boundaries) > 0 {
		t.Fatal("a restored state is not the state that was kept")
	}
	return c
}

// A damaged state is refused and never read as another.
func TestWindowStateDamaged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	a, _ := randomWindow(r)
	p := compile(t, a)
	c := NewCore(p, Limits{MaxEventBytes: 1 << 20})
	for i, s := range samples(r, 30) {
		c.Add(far, s.event(int64(i+1)), true)
	}
	h := &Handoff{}
	c.Drain(h)
	state := encoded(h.Mark)
	for n := 1; n < len(state); n++ {
		if err := NewCore(p, Limits{}).Restore(state[:n], h.Mark.Counters, nil); err == nil {
			t.Fatalf("the first %d of %d bytes were read", n, len(state))
		}
	}
	for range 500 { // no bytes may make it panic or allocate the world
		bad := slices.Clone(state)
		bad[r.IntN(len(bad))] ^= byte(1 << r.IntN(8))
		_ = NewCore(p, Limits{}).Restore(bad, h.Mark.Counters, nil)
	}
}

// What changes between two checkpoints is what is written: pages of other groups are the same.
func TestM28WindowPartsAreTheChanges(t *testing.T) {
	t.Parallel()
	c := newCore(t, keyed(tumbling(time.Hour)))
	for i := range 40 * 32 {
		c.Add(far, reading(0, strconv.Itoa(i), 1), true)
	}
	same := func() map[any]bool {
		h := &Handoff{}
		c.Drain(h)
		set := map[any]bool{}
		for part := range h.Mark.State.(PartedState).Parts() {
			set[part.Same] = true
		}
		return set
	}
	before := same()
	c.Add(far, reading(1, "0", 1), true)
	c.Add(far, reading(1, strconv.Itoa(20*32), 1), true)
	after, changed := same(), 0
	for page := range after {
		if !before[page] {
			changed++
		}
	}
	if len(before) != 40 || len(after) != 40 || changed != 2 {
		t.Errorf("%d of %d pages changed, want 2 of 40", changed, len(after))
	}
}

// M28, M35: a window that goes on from a state that another one has made, as that of an input that is started again
// does, leaves the state as it was, however often each has handed its own over; and what it changes are other pages.
func TestM35AnotherWindowLeavesTheState(t *testing.T) {
	t.Parallel()
	p := compile(t, keyed(tumbling(time.Hour)))
	state := func(c *Core) PartedState {
		h := &Handoff{}
		c.Drain(h)
		return h.Mark.State.(PartedState)
	}
	for made := range 4 {
		for again := range 4 {
			c := NewCore(p, Limits{})
			for i := range 40 {
				c.Add(far, reading(0, strconv.Itoa(i), 1), true)
			}
			for range made {
				state(c)
				c.Add(far, reading(1, "1", 1), true)
			}
			h := &Handoff{}
			c.Drain(h)
			before := h.Mark.State.(PartedState)
			text := string(before.AppendBinary(nil))
			had := map[any]string{}
			for part := range before.Parts() {
				had[part.Same] = string(part.Append(nil))
			}
			other := NewCore(p, Limits{})
			for range again {
				other.Moment()
			}
			if err := other.RestoreMark(h.Mark, nil); err != nil {
				t.Fatal(err)
			}
			other.Add(far, reading(2, "1", 1), true)
			other.Add(far, reading(2, "99", 1), true)
			if got := string(before.AppendBinary(nil)); got != text {
				t.Errorf("after %d and %d: the state of before was changed", made, again)
			}
			for part := range state(other).Parts() {
				if was, there := had[part.Same]; there && was != string(part.Append(nil)) {
					t.Errorf("after %d and %d: page %s was changed, and is said to be the same", made, again, part.Name)
				}
			}
			end := &Handoff{}
			other.EndOfInput(far)
			other.Drain(end)
			if n := len(end.Boundaries); n != 41 {
				t.Errorf("after %d and %d: %d keys are handed over, and there are 41", made, again, n)
			}
		}
	}
}
