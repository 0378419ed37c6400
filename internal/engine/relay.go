package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

// relay is the sink of an output that may feed other graphs: it hands each value to every
// linked accumulator, and to the output's own sink, if it has one. It waits for all of them,
// so that a full sequential input at the other end holds this output up, and by it, once its
// queue is full, the graph (M46).
//
// A value reaches the mailbox of the other accumulator, which outlives that graph's restarts
// and updates; how far each link has come is remembered, so that a delivery that was
// interrupted goes on where it was.
type relay struct {
	e      *Engine
	from   Ref
	output string
	sink   sink.Sink     // nil when the output has none of its own
	done   map[end]int64 // the epoch up to which each end of a link has the values
}

// end is the accumulator at the end of a link.
type end struct {
	graph       Ref
	accumulator string
}

// relayGroup is how many values are handed on at once: one slow end of several links is
// never ahead of the others by more.
const relayGroup = 64

// relayed puts a relay before output i's sink, so that it feeds other graphs too; nil where
// there is neither a sink nor a link yet.
func (m *managed) relayed(i int, sink sink.Sink) sink.Sink {
	name := m.unit.Spec.Outputs[i].Name
	if _, already := sink.(*relay); already || sink == nil && len(m.e.wiring.of(m.ref, name)) == 0 {
		return sink
	}
	return newRelay(m.e, m.ref, name, sink)
}

func newRelay(e *Engine, from Ref, output string, sink sink.Sink) *relay {
	return &relay{e: e, from: from, output: output, sink: sink, done: make(map[end]int64)}
}

// Deliver implements [sink.Sink].
func (r *relay) Deliver(ctx context.Context, batch []sink.Message) error {
	if len(r.e.wiring.of(r.from, r.output)) == 0 && r.sink != nil {
		return r.sink.Deliver(ctx, batch)
	}
	for lo := 0; lo < len(batch); lo += relayGroup {
		if err := r.group(ctx, batch[lo:min(lo+relayGroup, len(batch))]); err != nil {
			return behind(err, lo)
		}
	}
	return ctx.Err()
}

// behind moves the place of a failed delivery by what was delivered before.
func behind(err error, lo int) error {
	var refused *sink.PermanentError
	if errors.As(err, &refused) {
		return &sink.PermanentError{Index: lo + refused.Index, Code: refused.Code, Err: refused.Err}
	}
	var again *sink.RetryError
	if errors.As(err, &again) {
		return &sink.RetryError{Index: lo + again.Index, After: again.After, Err: again.Err}
	}
	return &sink.RetryError{Index: lo, Err: err}
}

// group delivers a few values to everyone. The links are looked at anew each time: they come
// and go with the graphs.
func (r *relay) group(ctx context.Context, batch []sink.Message) error {
	links := r.e.wiring.of(r.from, r.output)
	for _, l := range links {
		if err := r.feed(ctx, l, batch); err != nil {
			return err
		}
	}
	if r.sink == nil {
		return nil
	}
	return r.sink.Deliver(ctx, batch)
}

// feed hands one link what it does not have yet of a batch.
func (r *relay) feed(ctx context.Context, l link, batch []sink.Message) error {
	at := end{l.to, l.accumulator}
	events := make([]boundary.Event, 0, len(batch))
	epochs := make([]int64, 0, len(batch))
	for i := range batch {
		if m := &batch[i]; m.Epoch > r.done[at] {
			events = append(events, boundary.Event{Value: m.Value, At: m.At, Pos: relayed(m)})
			epochs = append(epochs, m.Epoch)
		}
	}
	if len(events) == 0 {
		return nil
	}
	m, i, err := r.e.target(l)
	if err != nil {
		return err
	}
	out, err := m.mailboxes[i].Push(ctx, events)
	if out.Taken > 0 {
		r.done[at] = epochs[out.Taken-1]
	}
	switch {
	case errors.Is(err, pump.ErrClosed):
		return fmt.Errorf("the accumulator %q of graph %q was taken away; the values wait for it", l.accumulator, l.to.Name)
	case err != nil:
		return fmt.Errorf("hand over to graph %q: %w", l.to.Name, err)
	case out.Taken < len(epochs):
		return ctx.Err()
	}
	return nil
}

// relayed is the position of a value in the graph that it feeds: instance, incarnation,
// epoch and output of where it comes from. A later incarnation takes an earlier one's place.
func relayed(m *sink.Message) boundary.Position {
	return boundary.Position{Stream: fmt.Sprintf("graph/%s/%s#%d", m.Instance, m.Output, m.Incarnation), Offset: m.Epoch}
}

// Close implements [sink.Sink].
func (r *relay) Close(ctx context.Context) error {
	if r.sink == nil {
		return nil
	}
	return r.sink.Close(ctx)
}

// graphSource is the source of an accumulator that another graph feeds. The values come
// through the accumulator's mailbox; the source says whether there is who sends them.
type graphSource struct {
	e      *Engine
	from   Ref
	output string
}

// Run implements [accumulator.Source].
func (s *graphSource) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	told := "?"
	for {
		changed := s.e.wiring.next()
		if why := s.e.upstream(s.from, s.output); why != told {
			if told = why; why == "" {
				out.Health(accumulator.Live, "")
			} else {
				out.Health(accumulator.Disconnected, why)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
