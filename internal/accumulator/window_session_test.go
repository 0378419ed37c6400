package accumulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// sessionModel is sessions the plain way: lists of events, all looked at each time.
type sessionModel struct {
	gap, lateness, retain int64 // retain: -1 without updates
	mark, newest          int64
	open                  []*modelSession
	late                  int
	out                   []string
}

type modelSession struct {
	k              string
	start, end     int64
	events         []sample // in the order in which they came
	owes           int
	handed, closed bool
}

func (m *sessionModel) add(s sample) {
	kept := m.mark
	if m.retain >= 0 && kept != never {
		kept -= m.retain
	}
	if s.at+m.gap <= kept {
		m.late++
		return
	}
	one := &modelSession{k: s.k, start: s.at, end: s.at + m.gap, closed: true}
	m.open = slices.DeleteFunc(m.open, func(o *modelSession) bool {
		if o.k != s.k || o.start >= s.at+m.gap || s.at >= o.end {
			return false
		}
		one.start, one.end = min(one.start, o.start), max(one.end, o.end)
		one.events = append(one.events, o.events...)
		one.owes += o.owes
		one.handed, one.closed = one.handed || o.handed, one.closed && o.closed
		return true
	})
	one.events = append(one.events, s)
	one.owes++
	m.open = append(m.open, one)
	if one.closed = one.end <= m.mark; one.closed {
		m.tell(one, true)
	}
	m.newest = max(m.newest, s.at)
	m.advance(m.newest - m.lateness)
}

const never = -1 << 62

func (m *sessionModel) advance(mark int64) {
	if m.mark = max(m.mark, mark); m.mark == never {
		return
	}
	slices.SortFunc(m.open, func(a, b *modelSession) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.k, b.k))
	})
	for _, o := range m.open {
		if !o.closed && o.end <= m.mark {
			m.tell(o, o.handed)
			o.closed = true
		}
	}
	m.open = slices.DeleteFunc(m.open, func(o *modelSession) bool {
		return o.closed && o.end+max(m.retain, 0) <= m.mark
	})
}

func (m *sessionModel) tell(o *modelSession, update bool) {
	all := slices.Clone(o.events)
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	sum, ids := 0.0, []int{}
	for _, s := range all {
		sum += s.x
		if len(ids) < 3 {
			ids = append(ids, s.id)
		}
	}
	best := slices.Clone(all)
	slices.SortStableFunc(best, func(a, b sample) int { return cmp.Compare(b.x, a.x) })
	top := []int{}
	for _, s := range best[:min(2, len(best))] {
		top = append(top, s.id)
	}
	said := map[string]any{"key": o.k, "start": o.start, "end": o.end, "n": len(all), "total": sum, "first": all[0].id,
		"last": all[len(all)-1].id, "ids": ids, "top": top, "events": o.owes}
	if m.retain >= 0 {
		said["update"] = update
	}
	text, _ := json.Marshal(said)
	m.out = append(m.out, string(text))
	o.owes, o.handed = 0, true
}

// toldSession is a boundary in the words of the model.
func toldSession(b *boundary.Boundary) string {
	start, _ := b.Value.Field("start").AsTime()
	end, _ := b.Value.Field("end").AsTime()
	m := map[string]any{"start": start.UnixMilli(), "end": end.UnixMilli(), "events": b.Events}
	for _, name := range []string{"key", "n", "total", "first", "last", "ids", "top", "update"} {
		if v := b.Value.Field(name); !v.IsAbsent() {
			m[name] = v.Any()
		}
	}
	text, _ := json.Marshal(m)
	return string(text)
}

func randomSessions(r *rand.Rand) (a spec.Accumulator, m *sessionModel) {
	a = tumbling(0, field("n", "count()"), field("total", "sum(event.x)"), field("first", "first(event.id)"),
		field("last", "last(event.id)"), field("ids", "collect(event.id, 3)"),
		field("top", "top(event.id, event.x, 2)"))
	a.TimeUnit = "ms"
	m = &sessionModel{gap: 1 + r.Int64N(15_000), lateness: r.Int64N(20_000), retain: -1, mark: never, newest: never}
	change(&a, func(w *window.Declared) {
		w.Key = []spec.Expr{expr("event.k")}
		w.Size, w.Every, w.Gap = 0, 0, time.Duration(m.gap)*time.Millisecond
		w.Lateness = time.Duration(m.lateness) * time.Millisecond
		if r.IntN(2) == 0 {
			m.retain = 1 + r.Int64N(30_000)
			w.Late, w.Retain = "update", time.Duration(m.retain)*time.Millisecond
		}
	})
	return a, m
}

// M3, M42: sessions are those of an independent computation, boundary by boundary, for events in any order, also those
// that come too late or change what was handed over; each event is accounted for once. Restored at random points the
// fold does the same, and no handle changes after it was taken.
func TestM3SessionsOfAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 4))
			a, m := randomSessions(r)
			p := compile(t, a)
			c := NewCore(p, Limits{MaxEventBytes: 1 << 20})
			var got []string
			var handles []func()
			late, done := 0, int64(0)
			hear := func() Mark {
				h := &Handoff{}
				c.changed = true
				c.Drain(h)
				for k := range h.Boundaries {
					got = append(got, toldSession(&h.Boundaries[k]))
				}
				done += events(h)
				if n := h.Mark.Counters; n.Received != n.Open+n.Filtered+done {
					t.Fatalf("books %+v, handed over %d", n, done)
				}
				return h.Mark
			}
			for i, s := range shuffled(r, samples(r, 30+r.IntN(300)), 1+m.lateness*int64(r.IntN(4))) {
				switch o := c.Add(far, s.event(int64(i+1)), true); o.Status {
				case Accepted:
				case Filtered:
					late++
				default:
					t.Fatalf("event %d: %+v", s.id, o)
				}
				m.add(s)
				if r.IntN(8) > 0 {
					continue
				}
				mark := hear()
				state := encoded(mark)
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
			m.advance(1 << 62)
			if diff := gocmp.Diff(m.out, got); diff != "" || late != m.late {
				t.Errorf("gap %d, lateness %d, retain %d: %d late, want %d (-want +got):\n%s",
					m.gap, m.lateness, m.retain, late, m.late, diff)
			}
			for _, check := range handles {
				check()
			}
		})
	}
}

// A pause as long as the gap ends a session, one that is shorter does not.
func TestM3SessionsGap(t *testing.T) {
	t.Parallel()
	a := tumbling(0, field("n", "count()"))
	change(&a, func(w *window.Declared) { w.Size, w.Every, w.Gap = 0, 0, 10*time.Second })
	want := []string{
		`{"end":"2026-01-01T00:00:28.000Z","n":3,"start":"2026-01-01T00:00:00.000Z"}`,
		`{"end":"2026-01-01T00:00:38.000Z","n":1,"start":"2026-01-01T00:00:28.000Z"}`,
	}
	for _, order := range [][]int{{0, 9, 18, 28}, {28, 18, 9, 0}, {28, 0, 18, 9}} {
		change(&a, func(w *window.Declared) { w.Lateness = time.Minute })
		c := newCore(t, a)
		for i, at := range order {
			c.Add(far, pulled(int64(i+1), fmt.Sprintf(`{"at":%q}`, at2026(at))), true)
		}
		c.EndOfInput(far)
		if got := values(take(t, c)); !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", order, got, want)
		}
	}
}

func at2026(s int) string {
	return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC).Format(time.RFC3339)
}
