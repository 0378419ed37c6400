package life

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

// Routes is how each output's values leave.
func (r *Run) Routes() []reactor.Route { return r.Reactor.Core.Config().Routes }

// Shard is the number of the shard that is run.
func (r *Run) Shard() int { return r.g.ID.Shard }

// Running is the node that runs somebody else's code now, or in a pool, or that was given up in one; or the first of a
// loop that has iterated for long.
func (r *Run) Running() (runs told.Running) {
	nodes := r.g.Unit.Plan.Nodes()
	if i, since, lost := r.Reactor.Hands.Running(); i >= 0 {
		runs = told.Running{Node: nodes[i].Name, Since: since, Lost: lost}
	}
	if i := r.foreign.node.Load(); i > 0 && !runs.Lost {
		runs = told.Running{Node: nodes[i-1].Name, Since: time.Unix(0, r.foreign.since.Load())}
		if l := nodes[i-1].Loop; l != "" {
			runs.Node += " of the loop " + l
		}
	}
	return runs
}

// foreign is the node whose code may not come back, while it runs.
type foreign struct{ node, since atomic.Int64 } // by index + 1, 0 for none; in Unix nanoseconds

// runs notes a node that begins, or -1 for none.
func (f *foreign) runs(node int) {
	if node >= 0 {
		f.since.Store(time.Now().UnixNano())
	}
	f.node.Store(int64(node) + 1)
}

// Abandoned says that the run would not stop, and was left to itself: its core is still somebody's.
func (r *Run) Abandoned() bool { return r.abandoned.Load() }

// LetGo ends the hold of a run that has come up. It is safe to call twice; a reactor that has
// ended needs it no more.
func (r *Run) LetGo(ctx context.Context) {
	_ = r.Reactor.Begin(ctx) // ErrStopped only
}

// Restart revives accumulator i at once and with a fresh count (M36).
func (r *Run) Restart(i int) { r.accs[i].operator.Restart() }

// Obey has the mailbox and the source of an input do what the core says of it. The
// accumulator begins anew, with its source or without: what is pushed is refused and counted
// by one that has none. It does not block.
func (r *Run) Obey(i int, stopped bool) {
	if stopped {
		r.g.Mailboxes[i].Stop()
	} else {
		r.g.Mailboxes[i].Start()
	}
	r.Restart(i)
}

// published sees how fast the queues fill and epochs come, and passes on that there is a new view.
func (r *Run) published() {
	if r.Reactor != nil { // else it is being made
		v, now := r.Reactor.View(), time.Now()
		r.rates.Sample(v.Inputs, r.g.Unit.Spec.Accumulators, now)
		r.epochs.Sample(v.Epoch, now)
		r.ages.Sample(&v.View, r.g.Unit.Spec, now)
		r.astray.Sample(v.Inputs, r.g.Unit.Spec.Accumulators)
	}
	if r.g.Published != nil {
		r.g.Published()
	}
}

// Input is what the run knows of accumulator i beside what the reactor has published.
func (r *Run) Input(i int) told.Input {
	a := r.accs[i]
	in := told.Input{Lag: a.lag(), SecondsToFull: r.rates.SecondsToFull(i, time.Now())}
	a.mu.Lock()
	defer a.mu.Unlock()
	in.Restarts = a.restarts
	return in
}

// EpochsPerSecond is how many epochs there were of late.
func (r *Run) EpochsPerSecond(now time.Time) float64 { return r.epochs.PerSecond(now) }

// Age is for how many seconds output i has given nothing; nil while it is to give nothing. Rows that commits write do
// not come to its writer: they are given by their epochs.
func (r *Run) Age(i int, now time.Time) *float64 {
	w := r.Writer(i)
	if routes := r.Reactor.Core.Config().Routes; routes != nil && routes[i].Path == reactor.PathCoTransaction {
		w = nil
	}
	return r.ages.Of(i, w, now)
}

// Misplaced is how many of the last events of input i were in partitions of other shards than their keys'.
func (r *Run) Misplaced(i int) (misplaced, events int64) { return r.astray.Of(i) }

// Writer is output i's, nil when nothing is delivered.
func (r *Run) Writer(i int) *delivery.Writer {
	r.wmu.Lock()
	defer r.wmu.Unlock()
	return r.writers[i]
}

// Crowded is the first output that has no room beyond what is held for it; -1 where none is.
func (r *Run) Crowded() int {
	for i, held := range r.Reactor.View().Held {
		if w := r.Writer(i); w != nil && int64(w.Free()) <= held {
			return i
		}
	}
	return -1
}

// Attach gives the outputs that feed other graphs by now a writer, while the run is on.
// Values of epochs from then on are delivered.
func (r *Run) Attach(ctx context.Context) {
	r.attaching.Lock()
	defer r.attaching.Unlock()
	for i := range r.g.Unit.Spec.Outputs {
		name := r.g.Unit.Spec.Outputs[i].Name
		if r.Writer(i) != nil || !r.g.Feeds.Feeds(r.g.Ref, name) {
			continue
		}
		w := r.newWriter(i, r.g.Feeds.Relay(r.g.Ref, name, nil))
		// The group is asked on the reactor's goroutine: it does not end before the reactor has.
		err := r.Reactor.Attach(ctx, i, w, func() {
			r.flushed.Go(context.WithoutCancel(ctx), "output/"+name,
				func(ctx context.Context, _ *supervisor.Node) error { return w.Run(ctx) })
		})
		if err != nil {
			return // the run is ending; the next one begins with a writer
		}
		r.wmu.Lock()
		r.writers[i] = w
		r.wmu.Unlock()
	}
}
