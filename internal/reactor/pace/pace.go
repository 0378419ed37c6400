// Package pace keeps the cadences of a graph's lanes (M23): when the next tick of each is due, what a late one stands
// for, and what becomes of those that it was too late for.
//
// It knows no clock: the time is an argument, in nanoseconds of engine time. The ticks of a cadence are at whole
// multiples of its period, counted from 1970, so that they are the same after a restart.
//
// [Lanes] are for the owner of the graph's core alone.
package pace

import (
	"slices"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// behindAfter is how many ticks in a row come too late before that is told: one or two are the pause of a collection or
// of a neighbour.
const behindAfter = 10

// Told is what a lane has done since the graph has started.
type Told struct {
	// Ticks are epochs that the lane's nodes have run in. Overruns are those of them that came a period late, or more,
	// and Dropped the ticks that came and went before an epoch could be for them. What a guard turns down is neither.
	Ticks, Overruns, Dropped int64
}

// Add adds what others have counted.
func (t *Told) Add(o *Told) {
	t.Ticks += o.Ticks
	t.Overruns += o.Overruns
	t.Dropped += o.Dropped
}

// Lanes are the cadences of a plan.
type Lanes struct {
	rates []graph.Rate
	// served is by lane the last instant that a tick was for, or was dropped up to; or never.
	served []int64
	// yields says that the last epoch was a tick which came late: what else waits comes before the next one.
	yields bool
	told   []Told
	late   uint64   // by bit, the lanes whose tick the last Take has found a period late, or more
	row    []int    // by lane, ticks in a row that came too late
	before struct { // the last Take
		served []int64
		told   []Told
		row    []int
		yields bool
	}
}

// Tick is one epoch's part of the cadences.
type Tick struct {
	Lanes   uint64 // by bit, those that tick, by their place in [graph.Plan.Rates]
	Dropped int64  // ticks that the epoch came too late for
}

// New makes the cadences of a plan that have served nothing. nil for a plan without.
func New(rates []graph.Rate) *Lanes {
	if len(rates) == 0 {
		return nil
	}
	l := &Lanes{rates: rates, served: make([]int64, len(rates)), told: make([]Told, len(rates)),
		row: make([]int, len(rates))}
	for i := range l.served {
		l.served[i] = form.Never
	}
	return l
}

// Begin has cadences that have not begun begin behind an instant. It reports whether there were any.
func (l *Lanes) Begin(at int64) (begun bool) {
	if l == nil {
		return false
	}
	for i, s := range l.served {
		if s == form.Never {
			l.served[i], begun = at, true
		}
	}
	return begun
}

// Forget has all cadences begin anew.
func (l *Lanes) Forget() {
	if l == nil {
		return
	}
	for i := range l.served {
		l.served[i] = form.Never
	}
	l.yields = false
}

// SetBack says that engine time was set back to an instant: no tick is owed to a time that has not come.
func (l *Lanes) SetBack(at int64) {
	if l == nil {
		return
	}
	for i := range l.served {
		l.served[i] = min(l.served[i], at)
	}
}

// due is the next tick of a lane.
func (l *Lanes) due(i int) int64 { return Grid(l.served[i]+1, int64(l.rates[i].Period)) }

// Grid is the first whole multiple of a period, counted from 1970, that is not before t.
func Grid(t, period int64) int64 {
	switch rest := t % period; {
	case rest > 0:
		return t - rest + period
	default: // before 1970 the rest is negative
		return t - rest
	}
}

// Due is when the next tick comes; ok is false where no cadence has begun, or there is none.
func (l *Lanes) Due() (at int64, ok bool) {
	if l == nil {
		return 0, false
	}
	for i := range l.rates {
		if l.served[i] == form.Never {
			continue
		}
		if due := l.due(i); !ok || due < at {
			at, ok = due, true
		}
	}
	return at, ok
}

// DueAll is when the next tick of each of some lanes, by bit, has come; ok is false where none of them has begun.
func (l *Lanes) DueAll(lanes uint64) (at int64, ok bool) {
	for i := range l.rates {
		if lanes>>i&1 == 0 || l.served[i] == form.Never {
			continue
		}
		if due := l.due(i); !ok || due > at {
			at, ok = due, true
		}
	}
	return at, ok
}

// First reports whether a tick is due that comes before what else may fire now. One that is at its instant does: it is
// of what came before that. Late ones take turns with the rest, so that neither waits for good.
func (l *Lanes) First(now int64) bool {
	at, ok := l.Due()
	return ok && at <= now && (at == now || !l.yields)
}

// Yield says that an epoch has run which was no tick.
func (l *Lanes) Yield() {
	if l != nil {
		l.yields = false
	}
}

// Take takes the ticks that are due: those of all lanes together are one epoch. Undo gives them back.
func (l *Lanes) Take(now int64) (t Tick) {
	b := &l.before
	b.served, b.told = append(b.served[:0], l.served...), append(b.told[:0], l.told...)
	b.row, b.yields = append(b.row[:0], l.row...), l.yields
	l.yields, l.late = false, 0
	for i := range l.rates {
		if l.served[i] == form.Never {
			continue
		}
		period := int64(l.rates[i].Period)
		due := l.due(i)
		if due > now {
			continue
		}
		t.Lanes |= 1 << i
		l.yields = l.yields || due < now
		missed := (now - due) / period // beside the one that this epoch is
		l.served[i] = now
		if missed == 0 {
			l.row[i] = 0
			continue
		}
		l.row[i]++
		l.late |= 1 << i
		last := due + missed*period
		switch l.rates[i].Overrun {
		case lanes.SkipNext:
			l.served[i] = last + period
			missed++
		case lanes.CatchUpOnce:
			l.served[i] = last - 1 // so that the last of them is due, at once
			missed--
		}
		l.told[i].Dropped += missed
		t.Dropped += missed
	}
	return t
}

// Ran counts the ticks that Take has taken last: their epoch has run, and was not turned down by a guard.
func (l *Lanes) Ran(t Tick) {
	for i := range l.rates {
		l.told[i].Ticks += int64(t.Lanes >> i & 1)
		l.told[i].Overruns += int64(l.late >> i & 1)
	}
}

// Undo gives back what Take has taken last: its epoch has not run, and those ticks have not been served.
func (l *Lanes) Undo() {
	copy(l.served, l.before.served)
	copy(l.told, l.before.told)
	copy(l.row, l.before.row)
	l.yields = l.before.yields
}

// Told is by lane what it has done. The list is the caller's.
func (l *Lanes) Told() []Told {
	if l == nil {
		return nil
	}
	return slices.Clone(l.told)
}

// Behind names a lane that does not keep to its rate: its last ticks have all come too late. "" for none.
func (l *Lanes) Behind() string {
	if l == nil {
		return ""
	}
	for i, n := range l.row {
		if n >= behindAfter {
			return l.rates[i].Name
		}
	}
	return ""
}

// State is where the cadences stand, for a checkpoint; nil where there are none.
func (l *Lanes) State() *form.Pace {
	if l == nil {
		return nil
	}
	s := &form.Pace{Served: make(map[string]int64, len(l.rates)), Yields: l.yields}
	for i, at := range l.served {
		if at != form.Never {
			s.Served[l.rates[i].Name] = at
		}
	}
	return s
}

// Restore goes on from what a checkpoint has; lanes that it does not know have not begun. nil: none have.
func (l *Lanes) Restore(s *form.Pace) {
	if l == nil || s == nil {
		return
	}
	l.yields = s.Yields
	for i := range l.rates {
		if at, known := s.Served[l.rates[i].Name]; known {
			l.served[i] = at
		}
	}
}
