// Package virtual runs a graph under virtual time, in one goroutine: the accumulators'
// folds and the reactor's core that the daemon runs live, driven by hand. The nodes of pools alone are computed by
// workers beside it, as they are live: what comes of them is the same for any number of these (M23). What it does
// depends on nothing but the declaration and the order of the calls, so the same input
// gives the same bytes. Bounded runs, tests of declarations and replays stand on it.
//
// Time moves only by [Graph.AdvanceTo], [Graph.Next] and, where the inputs have ended, [Graph.Close], which
// is [Graph.Await] and [Graph.HandOver]: through every timer on the way, each at its own time, with the
// graph at rest in between (M26). What a live graph under the event clock does is the same code, package drive.
package virtual

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/live/hands"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/drive"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/timeline"
)

// Graph is one graph under virtual time. It belongs to one goroutine.
type Graph struct {
	unit  *compile.Unit
	core  *reactor.Core
	hands *hands.Hands        // the workers of pools; nil for none
	accs  []*accumulator.Core // nil for the inputs of stages, whose folds are the core's
	drive *drive.Drive

	// Release takes what each epoch releases, before the next one runs. The messages are
	// the caller's until it returns.
	Release func(batch []sink.Message) error
	// Interrupt, when given, is asked again and again while the graph runs, however long it
	// does without coming back; an error ends it, and is what the call returns.
	Interrupt func() error
	// Closely has it asked each time, and not now and then: where an epoch may take long.
	Closely bool
	// Tap, when given, is told what the graph does on its way.
	Tap Tap
	// Calls, when given, answers what nodes call for, within the epoch. Without it such nodes fail.
	Calls   Answerer
	calling int64     // the epoch that has called last, and
	until   time.Time // when the time of that is up
	err     error
	rounds  int // of the loops, for looking at Interrupt only now and then

	handoff accumulator.Handoff
	letters []checkpoint.DeadLetter
	// lent is how many boundaries of each sequential input the core still has queued: at
	// none, their memory serves the next ones. nil in the plain mode, where it never does.
	lent []int
	// cells are what the seals so far come to; nil before the first.
	cells map[string]checkpoint.Cell
	// short says that nothing here goes by timers and an event may go straight through the core; see Step. only is the
	// input that was given events since the last Step, if it is one.
	short bool
	only  int
}

// New makes a graph that has never fired and whose accumulators are all healthy. Where start is
// zero, time begins with the first event. The clock, for durations, may be nil: then every duration
// is 0 and nothing times out.
func New(u *compile.Unit, start time.Time, mono func() int64) *Graph {
	g := build(u, mono)
	g.begin(start)
	return g
}

// build makes the graph's pieces, which nothing has been told yet.
func build(u *compile.Unit, mono func() int64) *Graph {
	cfg := u.Reactor()
	cfg.ID = checkpoint.ID{Tenant: checkpoint.DefaultTenant, Graph: u.Spec.Name}
	cfg.Instance, cfg.Incarnation, cfg.Fence = uuid.Nil, 1, 1
	cfg.Mono = mono
	// Whatever the declaration says of a daemon's restarts: a graph under virtual time is
	// sealed when its driver wants it, and nobody takes its journal.
	cfg.Forgetful, cfg.Journal, cfg.EventClock = false, false, false
	cfg.KeepFirings = 0 // nobody asks a graph under virtual time for its history
	g := &Graph{unit: u, hands: hands.New(u.Plan, 0)}
	if g.hands != nil {
		cfg.Hands = g.hands
	}
	cfg.Answer = g.answer
	g.core = reactor.NewCore(cfg)
	for i, p := range u.Programs {
		if u.Spec.Accumulators[i].Fed() {
			g.accs = append(g.accs, nil)
			continue
		}
		g.accs = append(g.accs, accumulator.NewCore(p, accumulator.Limits{}))
		g.accs[len(g.accs)-1].Ephemeral()
	}
	if !cfg.FullRecompute {
		g.lent = make([]int, len(g.accs))
	}
	g.only = nothing
	g.short = g.lent != nil && g.core.Short() && !slices.ContainsFunc(g.accs, func(a *accumulator.Core) bool {
		return a == nil || a.Waits()
	})
	return g
}

// Core is the reactor's core, for commands and for looking.
func (g *Graph) Core() *reactor.Core { return g.core }

// Now is the virtual time.
func (g *Graph) Now() time.Time { return g.drive.Time() }

// Feed gives the graph events in an order, for [Graph.Next].
func (g *Graph) Feed(order *timeline.Order, events drive.Events) { g.drive.Feed(order, events) }

// Next does what comes next of what was fed: an event, a timer, the end of an instant. The graph is
// at rest before it; more is false when there is no event.
func (g *Graph) Next() (more bool, err error) {
	if !g.drive.Rested() && !g.drive.Open() {
		if err := g.Quiesce(); err != nil {
			return false, err
		}
	}
	if g.drive.Step(0) == drive.Nothing {
		return false, g.err
	}
	if g.look(); g.err == nil && g.drive.Circling() {
		g.err = livelock(g.Now())
	}
	return true, g.err
}

// Add gives input i one event at the present instant, without firing: call Quiesce when
// the instant is complete. pulled says that refused events are kept as dead letters. An event for the
// input of a stage stands beside those of its node.
func (g *Graph) Add(i int, ev *boundary.Event, pulled bool) accumulator.Outcome {
	if g.accs[i] == nil {
		g.drive.Stir()
		return g.core.Feed(g.Now(), i, ev)
	}
	return g.accs[i].Add(g.touch(i), ev, pulled)
}

// AddTaken is Add of an event of which something was made ahead; the input is not that of a stage.
func (g *Graph) AddTaken(i int, ev *boundary.Event, t *accumulator.Taken) {
	g.accs[i].Taken(ev, t)
	g.accs[i].Add(g.touch(i), ev, true)
}

// AddBad gives input i an event that could not be read, or whose time could not.
func (g *Graph) AddBad(i int, ev *boundary.Event, bad *accumulator.BadEvent) {
	g.accs[i].AddBad(g.touch(i), ev, true, bad)
}

// LateDrops are input i's events that came too late for their window or join and were dropped; ok is
// false when there are none.
func (g *Graph) LateDrops(i int) (l accumulator.Lateness, ok bool) {
	if g.accs[i] == nil {
		return g.core.LateDrops(i)
	}
	return g.accs[i].LateDrops()
}

// EventTime is the time an event of input i declares; ok is false when it declares none.
func (g *Graph) EventTime(i int, ev *boundary.Event) (at time.Time, ok bool, err error) {
	if g.accs[i] == nil {
		return at, false, nil // it is not the clock's
	}
	return g.accs[i].EventTime(ev)
}

// Quiesce hands over what the accumulators have, and fires until nothing is left to fire.
func (g *Graph) Quiesce() error {
	g.drive.Quiesce()
	g.drain()
	if g.err == nil && g.core.Livelocked() {
		g.err = livelock(g.Now())
	}
	return g.err
}

// host is a graph as its drive sees it.
type host struct{ *Graph }

// HandOver implements [drive.Host].
func (g host) HandOver(i int) { g.admit(i) }

// Grant implements [drive.Host].
func (g host) Grant() bool { return g.err == nil }

// Fired implements [drive.Host].
func (g host) Fired() {
	if g.Tap != nil {
		g.Tap.Fired()
	}
	g.hand()
	g.look()
}

// Begun implements [drive.Host]: what a checkpoint holds goes by the same time.
func (g host) Begun(time.Time) {}

// lookEvery is how many rounds of a loop lie between two looks at Interrupt: some tens of
// microseconds.
const lookEvery = 64

// look asks Interrupt now and then.
func (g *Graph) look() {
	if g.rounds++; !g.Closely && g.rounds%lookEvery != 0 || g.Interrupt == nil || g.err != nil {
		return
	}
	g.err = g.Interrupt()
}

// ErrLivelock says that a graph does not come to rest: its epochs or timers follow from each
// other without taking in anything new (M17).
var ErrLivelock = errors.New("feedback_livelock")

func livelock(at time.Time) error {
	return fmt.Errorf("%w: %d rounds at %s have taken in nothing new; look for a timer or a feedback "+
		"that starts itself again", ErrLivelock, reactor.DefaultMicroEpochs, at.Format(time.RFC3339Nano))
}

// Step is Quiesce for a driver that calls it after every event: what has completed no
// boundary gives the core nothing to fire on, and its mark goes with the next that has.
// In the plain mode it is Quiesce.
func (g *Graph) Step() error {
	only := g.only
	g.only = nothing
	if only >= 0 && g.short && g.through(only) {
		return g.err
	}
	if g.drive.Close(); !g.drive.Rested() {
		return g.Quiesce()
	}
	return g.err
}

// admit hands over what accumulator i has.
func (g *Graph) admit(i int) {
	// Take sets every field, and queues keep the boundaries' array and never the handoff
	// itself: it is used again as it is.
	if !g.accs[i].Drain(&g.handoff) {
		return
	}
	if g.Tap != nil {
		g.Tap.Admit(i, &g.handoff)
	} else {
		g.core.Admit(g.Now(), i, &g.handoff, 0)
	}
	if g.lent != nil {
		g.lent[i] += len(g.handoff.Boundaries)
		if late := g.handoff.Late; len(late) > 0 {
			g.lent[g.input(g.unit.Inputs()[i].LateTo)] += len(late)
		}
	}
}

// input is the index of an input.
func (g *Graph) input(name string) int {
	return slices.IndexFunc(g.unit.Spec.Accumulators, func(a spec.Accumulator) bool { return a.Name == name })
}

// hand gives what an epoch released to Release. A graph that an error has ended releases nothing
// more, and keeps the error.
func (g *Graph) hand() {
	if batch := g.core.Released(); len(batch) > 0 {
		if g.Release != nil && g.err == nil {
			g.err = g.Release(batch)
		}
		g.core.ResetReleased()
	}
}

// drain takes what a live graph would give to the store, so that it does not pile up.
func (g *Graph) drain() {
	if g.core.DeadLettersPending() > 0 {
		g.letters = append(g.letters, g.core.DrainDeadLetters()...)
	}
	g.core.DrainFreed(g.freed)
}

// freed notes that boundaries have left input i's queue. Nothing keeps a boundary itself
// after that: its value, its bytes and its position are copied out.
func (g *Graph) freed(i int, room reactor.Credit) {
	if g.lent == nil {
		return
	}
	if g.lent[i] -= room.Boundaries; g.lent[i] == 0 {
		g.accs[i].Recycle()
	}
}

// Command runs a command on the core and hands out what it released.
func (g *Graph) Command(f func(c *reactor.Core, now time.Time) error) error {
	if err := f(g.core, g.Now()); err != nil {
		return err
	}
	g.hand()
	return g.Quiesce()
}

// AdvanceTo moves the clock to t, through every timer that is due on the way, each at its
// own time (M26).
func (g *Graph) AdvanceTo(t time.Time) error { return g.advance(t, false) }

// advance is AdvanceTo; quiet says that no event comes any more, so that watermarks follow.
func (g *Graph) advance(t time.Time, quiet bool) error {
	if g.short && g.drive.Skip(t) { // no timer is on the way
		return nil
	}
	if g.drive.Begin(t) {
		return nil
	}
	for g.drive.Timer(t, quiet) {
		if err := g.Quiesce(); err != nil {
			return err
		}
		if g.look(); g.err != nil {
			return g.err
		}
	}
	if g.drive.Circling() {
		g.err = livelock(g.Now()) // timers that do not move on would hold the clock for ever
		return g.err
	}
	g.drive.Reach(t)
	return nil
}

// Join waits for the workers of pools, which have nothing to do between two calls. The graph is not used after it.
func (g *Graph) Join() { g.hands.Close() }

// Letters are the dead letters since DropLetters was called, or all.
func (g *Graph) Letters() []checkpoint.DeadLetter { return g.letters }

// DropLetters forgets the dead letters so far; the books still count them.
func (g *Graph) DropLetters() { g.letters = nil }
