package live

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// commandCapacity bounds the commands that wait; more callers than that wait outside. Every graph has room for so many.
const commandCapacity = 2

// command is a message to the reactor. It runs between two epochs, with everything handed
// over so far admitted, unless its caller has gone by then. It leaves its answer in a channel
// of capacity 1 and never waits for anybody.
type command struct {
	caller context.Context
	run    func(now time.Time)
}

// carryOut runs a command. Who has gone wants it no more: nothing of it happens.
func (r *Reactor) carryOut(c command, now time.Time) {
	if c.caller.Err() != nil {
		return
	}
	r.settle()
	c.run(r.engine(now))
	r.desk.Stir()
	if r.flow != nil {
		r.flow.Stir()
	}
	r.shown.stirred = true
}

// answer is what a command came to.
type answer[T any] struct {
	value T
	err   error
}

// ask sends a command and waits for its answer. When ctx ends first, the command has not run
// or its outcome is not known to the caller, as with any message.
func ask[T any](ctx context.Context, r *Reactor, f func(now time.Time) (T, error)) (value T, err error) {
	answers := make(chan answer[T], 1)
	c := command{caller: ctx, run: func(now time.Time) {
		v, err := f(now)
		answers <- answer[T]{v, err}
	}}
	if err := r.send(ctx, c); err != nil {
		return value, err
	}
	return await(ctx, r, answers)
}

func (r *Reactor) send(ctx context.Context, c command) error {
	select {
	case r.commands <- c:
		r.Inbox.bell.Ring()
		return nil
	case <-r.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await is the answer to a command that was sent.
func await[T any](ctx context.Context, r *Reactor, answers <-chan answer[T]) (value T, err error) {
	select {
	case a := <-answers:
		return a.value, a.err
	case <-r.stopped:
		select {
		case a := <-answers: // it ran before the end
			return a.value, a.err
		default:
			return value, ErrStopped
		}
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
}

// none is the value of an answer that has none.
type none struct{}

// tell is ask for a command that answers no value.
func tell(ctx context.Context, r *Reactor, f func(now time.Time) error) error {
	_, err := ask(ctx, r, func(now time.Time) (none, error) { return none{}, f(now) })
	return err
}

// Look lets f read the core between two epochs; it must change nothing and not block. When
// Look returns, f has run to its end or never will: f may write what its caller reads.
func (r *Reactor) Look(ctx context.Context, f func(c *reactor.Core, now time.Time)) error {
	var begun atomic.Bool // by f, or by the caller, who gave up
	answers := make(chan answer[none], 1)
	err := r.send(ctx, command{caller: ctx, run: func(now time.Time) {
		if begun.CompareAndSwap(false, true) {
			f(r.Core, now)
			answers <- answer[none]{}
		}
	}})
	if err != nil {
		return err
	}
	if _, err = await(ctx, r, answers); err == nil || begun.CompareAndSwap(false, true) {
		return err
	}
	_, err = await(context.WithoutCancel(ctx), r, answers) // f is running
	return err
}

// Start begins the warming of a core that was loaded (M10).
func (r *Reactor) Start(ctx context.Context) error {
	return tell(ctx, r, func(now time.Time) error { r.Core.Start(now); return nil })
}

// ForceFire makes a cut now; see [reactor.Core.ForceFire]. The answer comes when the journal,
// if there is one, has the epoch.
func (r *Reactor) ForceFire(ctx context.Context, key boundary.Key, onlyChanged bool) (reactor.FireResult, error) {
	return r.commandedEpoch(ctx, func(now time.Time) (reactor.FireResult, error) {
		return r.Core.ForceFire(now, key, onlyChanged)
	})
}

// FireWith runs an epoch on injected values; see [reactor.Core.FireWith]. The answer comes
// when the journal, if there is one, has the epoch.
func (r *Reactor) FireWith(
	ctx context.Context, key boundary.Key, values []boundary.Value, replace bool,
) (reactor.FireResult, error) {
	return r.commandedEpoch(ctx, func(now time.Time) (reactor.FireResult, error) {
		return r.Core.FireWith(now, key, values, replace)
	})
}

// Pause stops the evaluation. Whether it is durable is for Durable to say (W27).
func (r *Reactor) Pause(ctx context.Context, by string) error {
	return tell(ctx, r, func(now time.Time) error { r.Core.Pause(now, by); return nil })
}

// Resume goes on and evaluates at once (M12).
func (r *Reactor) Resume(ctx context.Context) error {
	return tell(ctx, r, func(now time.Time) error { r.Core.Resume(now); return nil })
}

// StopPart stops one input or output while the others go on. An output's writer delivers no
// more than what is on its way to the sink; an input's source is for then to stop, which is
// called on the reactor's goroutine and must not block. What is stopped already is left alone.
// Whether it is durable is for Durable to say.
func (r *Reactor) StopPart(ctx context.Context, p reactor.Part, by string, then func()) error {
	return tell(ctx, r, func(now time.Time) error {
		if r.Core.StopPart(now, p, by) {
			r.obey(p)
			then()
		}
		return nil
	})
}

// StartPart lets a stopped input or output go on, and leaves alone one that does.
func (r *Reactor) StartPart(ctx context.Context, p reactor.Part, then func()) error {
	return tell(ctx, r, func(now time.Time) error {
		if r.Core.StartPart(now, p) {
			r.obey(p)
			then()
		}
		return nil
	})
}

// obey has the writer of an output do what the core says of it.
func (r *Reactor) obey(p reactor.Part) {
	if !p.Output || r.Writers[p.Index] == nil {
		return
	}
	if r.Core.Stopped(p) != nil {
		r.Writers[p.Index].Stop()
	} else {
		r.Writers[p.Index].Start()
	}
}

// Stopped says whether a part is stopped.
func (r *Reactor) Stopped(ctx context.Context, p reactor.Part) (bool, error) {
	return ask(ctx, r, func(time.Time) (bool, error) { return r.Core.Stopped(p) != nil, nil })
}

// Step runs up to n epochs by the normal criteria while paused, and answers when they have
// run or nothing is left to fire. They run as any others do: when a sink, the store or the
// journal is behind, they wait for it. What has not begun when the caller goes does not run.
func (r *Reactor) Step(ctx context.Context, n int) error {
	answers := make(chan answer[none], 1)
	err := r.send(ctx, command{caller: ctx, run: func(now time.Time) {
		r.endSteps(nil) // of one whose caller has just gone
		if err := r.Core.Step(now, n); err != nil {
			answers <- answer[none]{err: err}
			return
		}
		r.stepping = &stepping{caller: ctx, answers: answers}
	}})
	if err != nil {
		return err
	}
	_, err = await(ctx, r, answers)
	if ctx.Err() != nil {
		r.Room() // so that what is left is withdrawn at once
	}
	return err
}

// stepping is a Step that goes on.
type stepping struct {
	caller  context.Context
	answers chan<- answer[none]
}

// deserted reports whether the caller of a Step has gone. It is asked before each epoch: what
// has not begun when the caller is answered does not run.
func (r *Reactor) deserted() bool { return r.stepping != nil && r.stepping.caller.Err() != nil }

// stepped ends a Step that has come to its end: its epochs have run, or nothing is left that
// may fire now.
func (r *Reactor) stepped(fired, free bool) {
	switch {
	case r.stepping == nil:
	case r.Core.Steps() == 0 || free && !fired:
		r.endSteps(nil)
	}
}

// endSteps ends a Step: what is left of it is withdrawn.
func (r *Reactor) endSteps(err error) {
	if s := r.stepping; s != nil {
		r.stepping = nil
		r.Core.EndSteps()
		s.answers <- answer[none]{err: err}
	}
}

// ResumePoint is where input i's accumulator goes on, with the fold's state encoded (M35). Under the
// event clock what the present incarnation has not folded by then is void.
func (r *Reactor) ResumePoint(ctx context.Context, i int) (accumulator.Mark, []byte, error) {
	type point struct {
		mark  accumulator.Mark
		state []byte
	}
	p, err := ask(ctx, r, func(time.Time) (p point, err error) {
		r.leave(i)
		p.mark, p.state = r.Core.ResumePoint(i)
		return p, nil
	})
	return p.mark, p.state, err
}

// Rewind makes input i's accumulator go on from other positions when it is next started, nil
// for the beginning, and answers from where it would have. What its present incarnation still
// says is void; what it has folded stays.
func (r *Reactor) Rewind(ctx context.Context, i int, to []boundary.Position) (from []boundary.Position, err error) {
	return ask(ctx, r, func(now time.Time) ([]boundary.Position, error) {
		r.Inbox.Port(i)
		r.leave(i)
		r.Inbox.Drain(now, r.Core)
		mark, _ := r.Core.ResumePoint(i)
		r.Core.Rewind(i, to)
		return mark.Positions, nil
	})
}

// Attach gives output i a writer while the reactor runs: values of epochs from then on are
// delivered. run begins it, on the reactor's goroutine, and must not block.
func (r *Reactor) Attach(ctx context.Context, i int, w *delivery.Writer, run func()) error {
	return tell(ctx, r, func(time.Time) error {
		r.Writers[i] = w
		r.obey(reactor.Part{Output: true, Index: i})
		run()
		return nil
	})
}

// Begin lets a reactor that was made with Hold begin. Before, its accumulators connect and say
// how they are, but nothing is admitted, fired or committed: whoever finds that the graph
// cannot start has changed nothing by trying (M33).
func (r *Reactor) Begin(ctx context.Context) error {
	return tell(ctx, r, func(time.Time) error {
		r.held = false
		r.Inbox.open()
		return nil
	})
}

// Refresh publishes a view now, and answers it.
func (r *Reactor) Refresh(ctx context.Context) (*View, error) {
	return ask(ctx, r, func(now time.Time) (*View, error) {
		r.publish(r.Clock.Now())
		return r.View(), nil
	})
}

// Rest waits until nothing is left to fire now, whatever waits for a timer, and the writers are through
// with everything.
func (r *Reactor) Rest(ctx context.Context) error {
	answers := make(chan answer[none], 1)
	err := r.send(ctx, command{caller: ctx, run: func(time.Time) {
		r.resting = append(r.resting, resting{ctx, answers})
	}})
	if err != nil {
		return err
	}
	_, err = await(ctx, r, answers)
	return err
}

// resting is somebody who waits for the graph to come to rest.
type resting struct {
	caller  context.Context
	answers chan<- answer[none]
}

// atRest answers those who wait for rest, if there is some. Who has gone is forgotten.
func (r *Reactor) atRest() {
	if len(r.resting) == 0 {
		return
	}
	held, _ := r.Core.Held()
	done := r.Core.Resting() && held == 0 && r.pipe.waiting == 0 && (r.flow == nil || r.flow.Through())
	done = done && !r.desk.Holds()
	for _, w := range r.Writers {
		done = w.Through() && done
	}
	kept := r.resting[:0]
	for _, w := range r.resting {
		switch {
		case done:
			w.answers <- answer[none]{}
		case w.caller.Err() == nil:
			kept = append(kept, w)
		}
	}
	clear(r.resting[len(kept):])
	r.resting = kept
}

// refusal is a message that its sink refused for good.
type refusal struct {
	m            sink.Message
	code, reason string
}

// maxRefusals bounds what was refused and the reactor has not seen. A writer that finds no room waits.
const maxRefusals = 2

// DeadLetter keeps a message that its sink refused for good. Then every checkpoint that covers the message has
// its dead letter, or carries the message itself. It is for the writers.
func (r *Reactor) DeadLetter(ctx context.Context, m *sink.Message, code, reason string) error {
	select {
	case r.refused <- &refusal{*m, code, reason}:
		r.Room()
		return nil
	case <-r.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
