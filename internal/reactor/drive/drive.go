package drive

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/timeline"
)

// Events is where the events wait that the order knows of.
type Events interface {
	// Fold folds the next event of the order's stream n at the present instant, and tells the order
	// of the one after it. It answers whose event it was, -1 when there is no room for it: then it has
	// taken the stream out of the order.
	Fold(n int) (input int)
	// Timeless says that what comes next of stream n needs no engine time: nothing is folded of it.
	Timeless(n int) bool
	// Begin is when engine time begins where something is here and none of it has a time; ok is
	// false while that is not to be said.
	Begin() (at time.Time, ok bool)
	// Trails reports whether input i, a side of a join, trails behind engine time, since something of it could not come
	// in while that went on. next is when the next event of it happens, Never where that is not known.
	Trails(i int) (next int64, ok bool)
}

// Host is who runs the graph.
type Host interface {
	// HandOver gives the core what accumulator i has complete.
	HandOver(i int)
	// Grant reports whether another epoch may run, if one is called for.
	Grant() bool
	// Fired is told after each epoch.
	Fired()
	// Begun is told when engine time begins.
	Begun(at time.Time)
}

// Drive is one graph on its way. It belongs to one goroutine.
type Drive struct {
	core   *reactor.Core
	order  *timeline.Order
	events Events
	host   Host
	inputs []input
	now    time.Time
	rested bool  // the graph has come to rest since something could fire
	sides  []int // of joins, by input; none where the graph has no joins
	still  int   // timers in a row that have not moved engine time

	flushing []int // inputs that flush with epochs
	kept     int64 // epochs, when they were last told

	// Eager has the graph come to rest after every instant, whatever has come of it.
	Eager bool
}

// input is one accumulator of the graph.
type input struct {
	acc     *accumulator.Core // nil while there is none
	touched bool              // folded, and not looked at
	held    bool              // see [Drive.Hold]
	deaf    time.Duration     // by how much time went on since, and the accumulator was not told
}

// New makes a drive that goes on from the core's engine time and in the instant that is open there, or
// where time has not begun from now, which may be zero: then it begins with the first event. Without events
// it is driven by its timers alone, and what is added is added beside it.
func New(core *reactor.Core, order *timeline.Order, events Events, host Host, now time.Time) *Drive {
	d := &Drive{core: core, order: order, events: events, host: host, now: now, kept: core.Kept()}
	d.inputs = make([]input, len(core.Config().Inputs))
	for i := range d.inputs {
		if core.Joined(i) {
			d.sides = append(d.sides, i)
		}
	}
	d.Time()
	if at, open := core.Open(); open {
		d.Reach(time.Unix(0, at).UTC()) // the core may not have been told yet
	}
	return d
}

// Feed gives a drive that was made without events an order of them.
func (d *Drive) Feed(order *timeline.Order, events Events) { d.order, d.events = order, events }

// Enter makes acc input i's accumulator; nil for none.
func (d *Drive) Enter(i int, acc *accumulator.Core) {
	d.inputs[i] = input{acc: acc}
	d.rested = false
	if acc != nil && acc.FlushesWithEpochs() && !slices.Contains(d.flushing, i) {
		d.flushing = append(d.flushing, i)
	}
}

// Hold says whether input i has something that may not come in yet: a silence of the others is none of it, so that its
// watermark does not follow the time, nor is a stream of it silent meanwhile.
func (d *Drive) Hold(i int, held bool) { d.inputs[i].held, d.inputs[i].deaf = held, 0 }

// move sets the clock.
func (d *Drive) move(to time.Time) {
	for i := range d.inputs {
		if in := &d.inputs[i]; in.held && in.acc != nil && !d.now.IsZero() {
			if in.deaf += to.Sub(d.now); in.acc.Unheard(in.deaf) {
				in.deaf = 0
			}
		}
	}
	d.now, d.still = to, 0
}

// Time is the engine time; zero before it has begun.
func (d *Drive) Time() time.Time {
	if core := d.core.Now(); core != d.now && core.After(d.now) {
		d.now = core
	}
	return d.now
}

// Present is the time that the clock was set to last.
func (d *Drive) Present() time.Time { return d.now }

// Begin has engine time begin, and reports whether it had not.
func (d *Drive) Begin(at time.Time) bool {
	if !d.Time().IsZero() { // this looks at the core's time, which a command may have moved
		return false
	}
	d.now = at
	d.host.Begun(at)
	d.core.Tick(at) // a cadence begins with the first event, and not with the first boundary
	return true
}

// Stir says that something has changed that an epoch may follow from.
func (d *Drive) Stir() { d.rested = false }

// Open says that an instant is open: what was folded at it is not to be fired yet, for more may happen at
// it. It is the core that knows, so a checkpoint and the journal do.
func (d *Drive) Open() bool {
	_, open := d.core.Open()
	return open
}

// Rested reports whether the graph has come to rest since something could fire.
func (d *Drive) Rested() bool { return d.rested }

// Touch says that something is folded into input i's accumulator beside the drive, and when that happens.
func (d *Drive) Touch(i int) time.Time {
	d.inputs[i].touched = true
	return d.now
}

// Passed says that what input i was given has gone through the core beside the drive: the graph is at rest as it was.
func (d *Drive) Passed(i int) { d.inputs[i].touched = false }

// Said is what a [Drive.Step] has come to.
type Said uint8

// What a step comes to.
const (
	Went    Said = iota // something was done
	Waits               // what comes next is not known: somebody is waited for, see [timeline.Order.Missing]
	Nothing             // no event is here that could be next
)

// Step does what comes next: an event, a timer, the end of an instant. The graph must be at rest, or
// an instant be open. mono is what the order goes by for those who are waited for.
func (d *Drive) Step(mono int64) Said {
	if _, _, missing := d.order.Missing(mono); missing {
		return Waits // within an instant too: whose turn it is there is not known either
	}
	n, at, ok := d.order.First()
	if instant, open := d.core.Open(); open {
		if ok && at <= instant && (at == instant || !d.apart(at)) {
			d.fold(n)
			return Went
		}
		if d.Close(); !d.rested {
			return Went
		}
	}
	if !ok {
		return Nothing
	}
	if d.now.IsZero() {
		return d.first(n, at)
	}
	return d.next(n, at)
}

// first is a step to event n before engine time has begun.
func (d *Drive) first(n int, at int64) Said {
	if d.events.Timeless(n) {
		d.fold(n)
		d.Close()
		return Went
	}
	begin := time.Unix(0, at).UTC()
	if at == timeline.Never { // before any that has a time: at the first of those
		if first, ok := d.order.Earliest(); ok {
			begin = time.Unix(0, first).UTC()
		} else if begin, ok = d.events.Begin(); !ok {
			return Nothing
		}
	}
	d.Begin(begin)
	d.enter(begin, begin, n) // before what is due at it: no timer began earlier
	return Went
}

// next is a step to event n: through the timers on the way, then the event.
func (d *Drive) next(n int, at int64) Said {
	t := d.now
	if at > t.UnixNano() {
		t = time.Unix(0, at).UTC()
	}
	if d.Timer(t, false) {
		return Went
	}
	instant := t
	if d.apart(at) {
		instant = time.Unix(0, at)
	}
	d.enter(t, instant, n)
	return Went
}

// enter opens an instant at engine time t with event n.
func (d *Drive) enter(t, instant time.Time, n int) {
	d.Reach(t)
	d.core.OpenInstant(instant.UnixNano())
	d.fold(n)
}

// apart says that what comes next, at a time, is of a side that trails. It has an instant of its own, as it would have
// had in its turn: its join goes on from one of them to the next.
func (d *Drive) apart(at int64) bool {
	return at != timeline.Never && slices.ContainsFunc(d.sides, func(i int) bool {
		next, trails := d.events.Trails(i)
		return trails && next == at
	})
}

func (d *Drive) fold(n int) {
	if i := d.events.Fold(n); i >= 0 {
		d.inputs[i].touched = true
	}
}

// Close ends an instant: what was folded at it is handed over, when the graph next comes to rest.
func (d *Drive) Close() {
	d.core.CloseInstant()
	d.rested = d.rested && !d.Eager
	for i := range d.inputs {
		in := &d.inputs[i]
		if !in.touched {
			continue
		}
		in.touched = false
		if in.acc == nil {
			continue
		}
		if boundaries, letters, _ := in.acc.Pending(); boundaries+letters > 0 {
			d.rested = false
		}
	}
	if d.rested { // as it was before
		d.noteRest()
	}
}

// noteRest notes how far joins have come. What is due is no circle where they have gone on, whatever the clock says.
func (d *Drive) noteRest() {
	if len(d.sides) > 0 && d.core.Rested(d.now, d.holds) {
		d.still = 0
	}
}

// Quiesce hands over what the accumulators have and fires until nothing is left to fire. It is
// false when the host has said no.
func (d *Drive) Quiesce() bool {
	for i := range d.inputs {
		if d.inputs[i].acc != nil {
			d.host.HandOver(i)
		}
	}
	if d.Time().IsZero() { // what an earlier run has left waits for time to begin
		d.rested = true
		return true
	}
	d.core.Tick(d.now)
	d.flush() // a command may have fired
	for d.host.Grant() {
		if !d.core.Fire(d.now) {
			if d.core.Asking() {
				return false // the graph is not at rest, and has to wait
			}
			if d.core.Follow(d.now, d.holds) {
				continue // a stage has gone on, and hands over what was open until then
			}
			d.noteRest()
			d.rested = true
			return true
		}
		d.host.Fired()
		d.flush()
	}
	return false
}

// flush has the batches handed over that are flushed with epochs, when some were kept.
func (d *Drive) flush() {
	if len(d.flushing) == 0 || d.core.Kept() == d.kept {
		return
	}
	d.kept = d.core.Kept()
	for _, i := range d.flushing {
		if acc := d.inputs[i].acc; acc != nil {
			acc.EpochKept(d.now)
			d.host.HandOver(i)
		}
	}
}
