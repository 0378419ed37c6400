// Package job runs a graph over bounded input: from files to files, under virtual time.
//
// [Run] is `graphd run`. Its clock is event time where the declaration has one: inputs are
// merged by their next event's time, ties by declaration order and then by line; events of
// one instant are admitted together, and then the graph runs to quiescence. Where no time
// is declared the clock starts at [Start] and moves [Step] per event, one event from each
// input in turn. The clock never goes back: an event whose time lies behind it happens now.
// There is no warming and no conflation by backpressure, so the same input gives the same
// bytes. At the end of all inputs time goes on as in a silence: windows and batches close and timers fire, each at its
// time, and what no time completes is handed over, unless the run is told to leave all of it as it is.
package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/job/ahead"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/shard"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/timeline"
	"github.com/graphd/graphd/internal/virtual"
)

// Step is how far the clock moves per event where no time is declared.
const Step = time.Millisecond

// Start is where the clock begins where no time is declared.
func Start() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// Reader is one input's events in order: Next makes *ev the next one. io.EOF ends it. An
// error that is an *accumulator.BadEvent comes with the event it is about, and the reading
// goes on.
type Reader interface {
	Next(ev *boundary.Event) error
}

// Config is one bounded run.
type Config struct {
	Unit *compile.Unit
	// Inputs are the readers by accumulator; nil for one that gets no events.
	Inputs []Reader
	// Sinks are by output; nil for values that are only counted.
	Sinks []sink.Sink
	// Progress, when given, is called now and then with the events read so far.
	Progress func(events int64)
	// DeadLetter, when given, is told of every dead letter, in order; an error ends the run.
	DeadLetter func(Letter) error
	// Shards is how many shards run beside each other, where what they do can be put together as if one did
	// it; 0: as many as are declared.
	Shards int
	// Batch is how much is handed to the shards at once; 0: as many as are good. It is for tests.
	Batch int
	// Decoders is how many goroutines read ahead what each input has; 0: as many as there are cores, none on one; less:
	// none.
	Decoders int
	// NoFlush leaves at the end what is not complete: open windows and batches, and what waits
	// for a timer. The books count it as queued.
	NoFlush bool
	// Calls is what nodes call through that call out; nil calls nobody, and they fail.
	Calls *outbound.Guard
}

// Stats is what a run came to.
type Stats struct {
	Events      int64 `json:"events"`
	Epochs      int64 `json:"epochs"`
	Failed      int64 `json:"failed_epochs"`
	Outputs     int64 `json:"outputs"`
	DeadLetters int64 `json:"dead_letters"`
	// LateDropped is how many events came too late for their windows and joins and were dropped. Late
	// tells of each such window, in a line of its own, the event that made them late.
	LateDropped int64  `json:"late_dropped,omitempty"`
	Late        string `json:"late,omitempty"`
	// MadeUpTime are the reactor's words and the windows that went by made-up times, an event a millisecond: no input
	// says when its events happened.
	MadeUpTime []string `json:"made_up_time,omitempty"`
	// Left tells, a line for each input, which events have come to nothing because the run ended before them, and what
	// to do. Overdue is how many of them time should have completed.
	Left    string `json:"left,omitempty"`
	Overdue int64  `json:"overdue,omitempty"`
	// Inputs are the books of every input, in declaration order.
	Inputs []Input `json:"inputs"`
}

// InputMissing says that a source that pulls has no input to stand in for it.
type InputMissing struct{ Accumulator, Source string }

func (e *InputMissing) Error() string {
	return fmt.Sprintf("accumulator %s reads from its %s source; give it a file with --input %s=PATH",
		e.Accumulator, e.Source, e.Accumulator)
}

// batchSize is how many messages of one output are delivered at once.
const batchSize = 1024

// progressEvery is how many events lie between two calls of Progress and looks at the context.
const progressEvery = 4096

// runner is a run under way.
type runner struct {
	cfg   Config
	g     *virtual.Graph
	front *shard.Front    // nil: g is the whole graph
	ctx   context.Context // of Run's caller: a runner lives within one call
	heads []head
	ahead []*ahead.Input  // by input; nil for one that is read when its turn comes
	order *timeline.Order // of the heads, by input; nil where no time is declared
	err   error           // of a reader
	stats Stats
	out   [][]sink.Message
}

// unreadError says that an input cannot be read any further.
type unreadError struct {
	input string
	err   error
}

func (e *unreadError) Error() string { return "input " + e.input + ": " + e.err.Error() }

func (e *unreadError) Unwrap() error { return e.err }

// head is the next event of one input.
type head struct {
	ev    *boundary.Event
	bad   *accumulator.BadEvent
	taken *accumulator.Taken // what was made of it ahead; nil: nothing
	valid bool               // false: the input has ended
	own   boundary.Event     // what ev points to where nothing is read ahead
}

// Run runs the graph over its inputs to their end, or up to what cannot be read: what was read before
// that has its outputs. The error is the first of a reader or a sink; failed epochs and dead letters are no
// errors, and counted.
func Run(ctx context.Context, cfg Config) (Stats, error) {
	for i, p := range cfg.Inputs {
		if a := &cfg.Unit.Spec.Accumulators[i]; p == nil && a.Source.Origin().Pulls() {
			return Stats{}, &InputMissing{a.Name, a.Source.Kind}
		}
	}
	r := &runner{
		cfg: cfg, ctx: ctx, heads: make([]head, len(cfg.Inputs)), out: make([][]sink.Message, len(cfg.Sinks)),
	}
	start, run := Start(), r.inTurn
	for i, p := range cfg.Unit.Programs {
		if p.Time() != nil && cfg.Unit.Spec.Accumulators[i].From == "" {
			start, run = time.Time{}, r.byTime // the clock begins with the first event
		}
	}
	r.g = virtual.New(cfg.Unit, start, nil)
	defer r.g.Join()
	r.g.Release, r.g.Interrupt = r.release, ctx.Err
	if cfg.Calls != nil && cfg.Unit.Plan.Calls() {
		clients := virtual.NewClients(ctx, cfg.Unit.Plan, cfg.Calls)
		defer clients.Close()
		r.g.Calls = clients.Answer
	}
	if n := cmp.Or(cfg.Shards, cfg.Unit.Spec.Reactor.Shards); n > 1 && cfg.Unit.OneRun(!cfg.NoFlush) == "" {
		r.deal(n, start)
	}
	if r.front == nil { // what shards put out is counted in their order
		routes := make([]reactor.Route, len(cfg.Sinks))
		for o, to := range cfg.Sinks {
			routes[o].Unread = to == nil
		}
		r.g.Core().SetRoutes(routes)
	}
	r.readAhead()
	err := run()
	switch unread := (*unreadError)(nil); {
	case err == nil:
		err = r.end()
	case errors.As(err, &unread):
		// What was read before counts, all of it and whatever has taken how long. What is not complete stays so.
		r.cfg.NoFlush = true
		err = errors.Join(err, r.end())
	}
	r.stopAhead()
	if r.front != nil {
		r.front.Stop() // whatever has ended the run: nothing is released from here on
	}
	err = errors.Join(err, r.closeSinks())
	r.count()
	return r.stats, err
}

// end ends all inputs, and delivers what is left.
func (r *runner) end() error {
	last := r.g.Close
	if r.cfg.NoFlush {
		last = r.g.Quiesce
	}
	if err := last(); err != nil {
		return err
	}
	if r.front != nil {
		if err := r.front.End(!r.cfg.NoFlush); err != nil {
			return err
		}
	}
	if err := r.tellLetters(); err != nil {
		return err
	}
	return r.flush()
}

// add folds the event of input i that was read, and counts it.
func (r *runner) add(i int) error {
	h := &r.heads[i]
	switch {
	case r.front != nil && r.front.Deals(i):
		if err := r.dealOut(i, h); err != nil {
			return err
		}
	default:
		if r.front != nil {
			if err := r.front.Shared(r.g.Now()); err != nil {
				return err
			}
			r.g.Stir()
		}
		switch {
		case h.bad != nil:
			r.g.AddBad(i, h.ev, h.bad)
		case h.taken != nil:
			r.g.AddTaken(i, h.ev, h.taken)
		default:
			r.g.Add(i, h.ev, true)
		}
	}
	return r.counted()
}

// counted counts an event, and looks up now and then.
func (r *runner) counted() error {
	r.stats.Events++
	if r.stats.Events%progressEvery == 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if r.cfg.Progress != nil {
			r.cfg.Progress(r.stats.Events)
		}
	}
	return nil
}

// release queues an epoch's messages, and delivers in batches.
func (r *runner) release(batch []sink.Message) error {
	for i := range batch {
		m := &batch[i]
		r.stats.Outputs++
		if r.cfg.Sinks[m.To] == nil {
			continue
		}
		r.out[m.To] = append(r.out[m.To], *m)
	}
	for o := range r.out {
		if len(r.out[o]) >= batchSize {
			return r.flush()
		}
	}
	return nil
}

// flush delivers what is queued, in order of epoch, then declaration.
func (r *runner) flush() error {
	at := make([]int, len(r.out))
	for {
		first := -1
		for o := range r.out {
			if at[o] < len(r.out[o]) && (first < 0 || r.out[o][at[o]].Epoch < r.out[first][at[first]].Epoch) {
				first = o
			}
		}
		if first < 0 {
			break
		}
		end := r.stretch(at, first)
		if err := r.cfg.Sinks[first].Deliver(r.ctx, r.out[first][at[first]:end]); err != nil {
			return fmt.Errorf("output %s: %w", r.cfg.Unit.Spec.Outputs[first].Name, err)
		}
		at[first] = end
	}
	for o := range r.out {
		clear(r.out[o])
		r.out[o] = r.out[o][:0]
	}
	return nil
}

// stretch is the end of the longest stretch of output o that nothing of another comes between.
func (r *runner) stretch(at []int, o int) int {
	end := at[o] + 1
	for end < len(r.out[o]) {
		epoch := r.out[o][end].Epoch
		for other := range r.out {
			if other != o && at[other] < len(r.out[other]) && (r.out[other][at[other]].Epoch < epoch ||
				r.out[other][at[other]].Epoch == epoch && other < o) {
				return end
			}
		}
		end++
	}
	return end
}

func (r *runner) closeSinks() error {
	var errs []error
	for o, s := range r.cfg.Sinks {
		if s != nil {
			if err := s.Close(context.WithoutCancel(r.ctx)); err != nil {
				errs = append(errs, fmt.Errorf("output %s: %w", r.cfg.Unit.Spec.Outputs[o].Name, err))
			}
		}
	}
	return errors.Join(errs...)
}
