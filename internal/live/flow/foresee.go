package flow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/timeline"
)

const (
	// foreseeWithin is how many times as many events are looked at as may be told of: several may be of one key.
	foreseeWithin = 4
	// foreseeLeast is how many events of each stream are, however many streams there are.
	foreseeLeast = 8
)

// coming are the next events of a stream, in their order, as far as they have been looked at.
type coming []foreseen

type foreseen struct {
	reactor.Foreseen
	event *boundary.Event
}

// Foresee are the questions of the epochs of events that wait for their turn, of so many at most, as far as they have
// not been told (0541). Nodes run for that, once at least and then within a time; more says that there are others.
func (f *Flow) Foresee(most int, within time.Duration) (asks []reactor.Ask, more bool) {
	began, tried, behind := f.Mono(), false, int64(0)
	views := f.views()
	for _, v := range views {
		for n := range max(foreseeWithin*most/len(views), foreseeLeast) {
			if n == len(*v.coming) && !f.lookOn(v) {
				break
			}
			one := &(*v.coming)[n].Foreseen
			told := one.Told()
			if one.Boundary == nil || !told && f.told >= most {
				continue
			}
			if tried && f.Mono()-began >= int64(within) {
				return asks, true
			}
			var now bool
			asks, now = f.Core.Foresee(asks, one, behind)
			tried = tried || now
			if behind++; !told && one.Told() {
				f.told++
			}
		}
	}
	return asks, false
}

// view is one stream of which something waits; stream is nil for the pushes.
type view struct {
	input  int
	entry  *entry
	stream *staged
	coming *coming
}

// views are the streams of which it can be told what their events will call for, in their order.
func (f *Flow) views() (all []view) {
	for i := range f.entries {
		e := &f.entries[i]
		if e.line == nil || e.scout == nil || !f.Core.Foresees(i) {
			continue
		}
		if e.pushing {
			all = append(all, view{i, e, nil, &e.coming})
		}
		for _, s := range slices.SortedFunc(maps.Values(e.streams),
			func(a, b *staged) int { return cmp.Compare(a.number, b.number) }) {
			if s.head < len(s.queue) {
				all = append(all, view{i, e, s, &s.coming})
			}
		}
	}
	return all
}

// at is the n-th event that waits, whether it is folded here, and when it happens, if that is known; nil for none.
func (v *view) at(n int) (ev *boundary.Event, here bool, at int64) {
	if v.stream == nil {
		ev, here = v.entry.line.ComingPush(n)
		return ev, here, timeline.Never
	}
	n += v.stream.next
	for _, p := range v.stream.queue[v.stream.head:] {
		if n < len(p.Events) {
			return &p.Events[n], v.entry.line.Coming(p, n), p.Times[n]
		}
		n -= len(p.Events)
	}
	return nil, false, timeline.Never
}

// lookOn looks at the event behind those that have been looked at, and is false where there is none.
func (f *Flow) lookOn(v view) bool {
	ev, here, at := v.at(len(*v.coming))
	if ev == nil {
		return false
	}
	one := foreseen{reactor.Foreseen{Input: v.input, At: at}, ev}
	if here {
		f.scout(v.entry, ev, &one.Foreseen)
	}
	*v.coming = append(*v.coming, one)
	return true
}

// scout makes the boundary of an event. What panics is told when the event is folded.
func (f *Flow) scout(e *entry, ev *boundary.Event, one *reactor.Foreseen) {
	defer func() {
		if recover() != nil {
			e.scout, one.Boundary = e.line.Core().Scout(), nil // its scratch may be in any state
		}
	}()
	b, at := e.scout.Scout(f.Time(), *ev)
	if b == nil {
		return
	}
	b.Key = boundary.Key(strings.Clone(string(b.Key)))
	one.Boundary, one.At = b, max(one.At, at)
}

// cameIn says that the next event of a stream has come in: what is known of its epoch goes with that. Those before it
// that were looked at do not come: who has sent them has given up since.
func (f *Flow) cameIn(c *coming, ev *boundary.Event) {
	n := slices.IndexFunc(*c, func(one foreseen) bool { return one.event == ev })
	if n < 0 {
		return
	}
	f.forgo(c, n)
	if (*c)[0].Told() {
		f.told--
	}
	(*c)[0] = foreseen{}
	*c = (*c)[1:]
}

// forgo forgets what was told of the next n events of a stream, which do not come.
func (f *Flow) forgo(c *coming, n int) {
	for i := range n {
		if one := &(*c)[i].Foreseen; one.Told() {
			f.told--
			f.Core.Forgo(one)
		}
	}
	clear((*c)[:n])
	*c = (*c)[n:]
}
