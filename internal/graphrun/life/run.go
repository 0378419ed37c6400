package life

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/live/laps"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/supervisor"
)

// watch looks at the core, on the reactor's goroutine: it lets the watchers see what is new, and
// ends the run of a graph that has failed (M10).
func (r *Run) watch(c *reactor.Core, now time.Time) (again time.Time) {
	if r.abandoned.Load() {
		return time.Time{}
	}
	if c.Health() == reactor.HealthFailed && !r.failed {
		r.failed = true
		_, why := c.HealthReason()
		r.giveUp(fmt.Errorf("%w: %s are not healthy: %s", told.ErrCold, strings.Join(c.Degraded(), ", "), why))
	}
	return r.g.Hub.Look(c, now)
}

// giveUp ends the run.
func (r *Run) giveUp(why error) {
	r.gaveUp <- why
	r.bell.Ring()
}

// GivenUp tells of a hand-back that is over.
func (r *Run) GivenUp() {
	if steps := r.ending.Load(); steps != nil {
		r.g.Log.With("graph", r.g.Ref.Name, "tenant", r.g.Ref.Tenant).Debug("the graph was handed over",
			steps.End("given_up")...)
	}
}

// HandBack ends the run, for another daemon is to go on with the graph. It is for one call, and does not block.
func (r *Run) HandBack() {
	r.ending.Store(laps.New(r.g.Log))
	r.handed.Store(true)
	r.giveUp(nil)
}

// kept passes on that epochs were kept.
func (r *Run) kept() {
	if !r.fired {
		r.fired = true
		r.begins.Lap("first_epoch")
	}
	for _, a := range r.accs {
		select {
		case a.epochs <- struct{}{}:
		default:
		}
	}
}

// Live runs the pieces, as children of n, until ctx ends or one of them ends the run. They stop in the order
// of the flow: accumulators, reactor, writers (M38).
//
// When the term ends nothing more goes out: writers end without a flush, the reactor without
// a checkpoint (M45).
//
// While the pieces run, Live rests: it answers a [*rest.Rest].
func (r *Run) Live(ctx context.Context, n *supervisor.Node) error {
	g := r.g
	sources, reactors, writers := n.NewGroup(), n.NewGroup(), n.NewGroup()
	// The reactor and the writers end after what is before them in the flow, not with ctx.
	after := context.WithoutCancel(ctx)
	r.flushed = writers
	for i := range g.Unit.Spec.Outputs {
		if w := r.Writer(i); w != nil {
			writers.Go(after, "output/"+g.Unit.Spec.Outputs[i].Name,
				func(ctx context.Context, _ *supervisor.Node) error { return w.Run(ctx) })
		}
	}
	reacting := reactors.Go(after, "reactor", func(ctx context.Context, _ *supervisor.Node) error {
		return r.Reactor.Work(ctx)
	})
	if err := r.Reactor.Start(after); err != nil && !errors.Is(err, live.ErrStopped) {
		return err
	}
	if r.Reactor.Hold && !g.Held() { // let go while it was being built
		r.LetGo(after)
	}
	r.Attach(after) // what was linked since the sinks were opened
	for _, a := range r.accs {
		if a.spec.Fed() {
			continue // it is the core's: nothing of it runs by itself
		}
		sources.Supervise(after, r.supervision(a)) // which are stopped first when ctx ends
	}
	reacting.Ring(r.bell.Ring)
	forget := context.AfterFunc(r.term.Context(), r.bell.Ring)
	return r.await(ctx, reacting, writers, func(cause error) error {
		forget()
		return r.stop(cause, sources, reactors, reacting, n)
	})
}

// await rests until something is to end the run, and then stops it.
func (r *Run) await(ctx context.Context, reacting *supervisor.Task, writers *supervisor.Group,
	stop func(cause error) error) error {
	var cause error
	if ctx.Err() != nil {
		return stop(nil)
	}
	select {
	case <-reacting.Done():
	case cause = <-r.gaveUp:
	case <-r.term.Context().Done():
		writers.Stop()
		r.Reactor.Room() // which may be at rest, and is to see it
	default:
		return &rest.Rest{
			Ctx: ctx,
			Arm: func(ring func()) {
				r.bell.Hang(ring)
				select {
				case <-reacting.Done():
					ring()
				case <-r.term.Context().Done():
					ring()
				default:
					if len(r.gaveUp) > 0 {
						ring()
					}
				}
			},
			Resume: func() error { return r.await(ctx, reacting, writers, stop) },
		}
	}
	return stop(cause)
}

// cutOff is how much of the time for a stop is kept for what has to be cut off: calls to a
// store that does not answer return a moment after their time is up.
const cutOff = 10

// stop ends the pieces in the order of the flow, within one deadline.
func (r *Run) stop(cause error, sources, reactors *supervisor.Group, reacting *supervisor.Task,
	n *supervisor.Node) error {
	all, cancel := r.g.StopTime()
	defer cancel()
	by, _ := all.Deadline()
	left := time.Until(by)
	end, cancel := context.WithDeadline(all, by.Add(-left/cutOff))
	defer cancel()
	r.end = end
	sources.Stop()
	soon, cancel := context.WithTimeout(end, left/2)
	defer cancel()
	stuck := stuckOnly(sources.WaitContext(soon))
	r.ending.Load().Lap("sources")
	reacting.Stop()
	select {
	case <-reacting.Done():
	case <-all.Done():
		// It is in somebody's code, which nothing can end. Whoever runs the graph next raises the
		// fence, so that nothing of this run is ever stored; and from here on it sends nothing out.
		r.abandoned.Store(true)
		r.flushed.Stop()
		return errors.Join(cause, stuck, stuckOnly(reactors.WaitContext(all)))
	}
	r.flushed.Stop()
	return errors.Join(cause, reacting.Err(), stuck, r.flushed.WaitContext(all), r.home(all, n))
}

// home waits for the nodes that are at work in pools, when the reactor has ended, and names those that have not come
// back in time: nothing can end somebody's function. What they read does not change, and nobody takes what they come
// to, so that the graph may go on without them.
func (r *Run) home(ctx context.Context, n *supervisor.Node) error {
	h, out := r.Reactor.Hands, n.NewGroup()
	for _, i := range h.Leave() {
		out.Go(ctx, "node/"+r.g.Unit.Plan.Nodes()[i].Name, func(context.Context, *supervisor.Node) error {
			h.Await(i)
			return nil
		})
	}
	if err := out.WaitContext(ctx); err != nil {
		return err
	}
	h.Close() // none of them has anything to do
	return nil
}

// owned says whether what the run does may still leave it.
func (r *Run) owned() bool { return r.term.Holds() && !r.abandoned.Load() }

// stuckOnly keeps an error that names what would not stop, and drops failures that the
// supervisor has dealt with.
func stuckOnly(err error) error {
	var stuck *supervisor.StuckError
	if errors.As(err, &stuck) {
		return err
	}
	return nil
}

// flush waits until the writers have delivered what is queued.
func (r *Run) flush(ctx context.Context) {
	if err := r.flushed.WaitContext(ctx); err != nil {
		r.g.Log.Warn("sinks were not flushed in time; what is pending is kept for the next start, where the store "+
			"keeps it", "graph", r.g.Ref.Name, "tenant", r.g.Ref.Tenant, "err", err)
	}
}

// sinkLetter keeps a message that a sink refused for good.
func (r *Run) sinkLetter(ctx context.Context, msg *sink.Message, code, reason string) error {
	return r.Reactor.DeadLetter(ctx, msg, code, reason)
}

// mark is where accumulator i goes on.
func (r *Run) mark(ctx context.Context, i int) (accumulator.Mark, []byte, error) {
	return r.Reactor.ResumePoint(ctx, i) // what was asked for on an error may be on its way still
}
