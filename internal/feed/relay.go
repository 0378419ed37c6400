package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
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
	links  *Links
	from   api.Ref
	output string
	own    sink.Sink // nil when the output has none
	// done is the number up to which each end of a link has the values; feeding guards it, where several are delivered
	// at once.
	feeding sync.Mutex
	done    map[End]int64
}

// relayGroup is how many values are handed on at once: one slow end of several links is
// never ahead of the others by more.
const relayGroup = 64

// Relay is what delivers the values of an output that feeds other graphs, or may: to each of
// them, and to the output's own sink, nil when it has none.
func (w *Links) Relay(from api.Ref, output string, own sink.Sink) sink.Sink {
	r := &relay{links: w, from: from, output: output, own: own, done: make(map[End]int64)}
	switch own := own.(type) {
	case sink.Concurrent:
		return &several{singly{r}, own}
	case sink.Singly:
		return &singly{r}
	}
	return r
}

// singly is a relay to a sink that delivers one value after the other.
type singly struct{ *relay }

// DeliversSingly implements [sink.Singly].
func (*singly) DeliversSingly() {}

// several is a relay to a sink that may deliver several values at once. While it feeds other graphs they go one after
// the other: a link has its values in their order.
type several struct {
	singly
	to sink.Concurrent
}

// Concurrency implements [sink.Concurrent].
func (s *several) Concurrency() int { return s.to.Concurrency() }

// AtOnce implements [sink.Concurrent].
func (s *several) AtOnce() int {
	if len(s.links.of(s.from, s.output)) > 0 {
		return 1
	}
	return s.to.AtOnce()
}

// Lane implements [sink.Concurrent].
func (s *several) Lane(m *sink.Message) string { return s.to.Lane(m) }

// Deliver implements [sink.Sink].
func (r *relay) Deliver(ctx context.Context, batch []sink.Message) error {
	if len(r.links.of(r.from, r.output)) == 0 && r.own != nil {
		return r.own.Deliver(ctx, batch)
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
	if err := r.feedAll(ctx, batch); err != nil {
		return err
	}
	if r.own == nil {
		return nil
	}
	return r.own.Deliver(ctx, batch)
}

func (r *relay) feedAll(ctx context.Context, batch []sink.Message) error {
	r.feeding.Lock()
	defer r.feeding.Unlock()
	for _, l := range r.links.of(r.from, r.output) {
		if err := r.feed(ctx, l, batch); err != nil {
			return err
		}
	}
	return nil
}

// feed hands one link what it does not have yet of a batch.
func (r *relay) feed(ctx context.Context, l link, batch []sink.Message) error {
	events := make([]boundary.Event, 0, len(batch))
	numbers := make([]int64, 0, len(batch))
	for i := range batch {
		if m := &batch[i]; m.Seq > r.done[l.to] {
			ev := boundary.Event{Value: m.Value, At: m.At, Pos: relayed(m)}
			if m.Trace != nil {
				ev.Links = traced.From(*m.Trace, true)
			}
			events = append(events, ev)
			numbers = append(numbers, m.Seq)
		}
	}
	if len(events) == 0 {
		return nil
	}
	box, err := r.links.graphs.Mailbox(l.to)
	if err != nil {
		return err
	}
	out, err := box.Push(ctx, events)
	if out.Taken > 0 {
		r.done[l.to] = numbers[out.Taken-1]
	}
	switch {
	case errors.Is(err, pump.ErrClosed):
		return fmt.Errorf("the accumulator %q of graph %q was taken away; the values wait for it", l.to.Accumulator,
			l.to.Graph.Name)
	case err != nil:
		return fmt.Errorf("hand over to graph %q: %w", l.to.Graph.Name, err)
	case out.Taken < len(numbers):
		return ctx.Err()
	}
	return nil
}

// relayed is the position of a value in the graph that it feeds: instance, incarnation,
// epoch and output of where it comes from. A later incarnation takes an earlier one's place. A value that is
// sent again has none: its place has been passed.
func relayed(m *sink.Message) boundary.Position {
	if m.Again != nil {
		return boundary.Position{}
	}
	return boundary.Position{Stream: fmt.Sprintf("graph/%s/%s#%d", m.Instance, m.Output, m.Incarnation),
		Offset: m.Epoch}
}

// CarriesTrace implements [sink.Carrier].
func (r *relay) CarriesTrace() {}

// Close implements [sink.Sink].
func (r *relay) Close(ctx context.Context) error {
	if r.own == nil {
		return nil
	}
	return r.own.Close(ctx)
}

// Source is the source of an accumulator that is fed by an output of another graph.
func (w *Links) Source(from api.Ref, output string) accumulator.Source {
	return &source{links: w, from: from, output: output}
}

// source is the source of an accumulator that another graph feeds. The values come
// through the accumulator's mailbox; the source says whether there is who sends them.
type source struct {
	links  *Links
	from   api.Ref
	output string
}

// Run implements [accumulator.Source].
func (s *source) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	told := "?"
	for {
		changed := s.links.next()
		why := s.links.graphs.Upstream(s.from, s.output)
		if why == "" && s.links.holds(outputOf{s.from, s.output}) {
			why = fmt.Sprintf("the output %q of graph %q is kept for graphs that follow it; read it with source: "+
				"{ follow: … }", s.output, s.from.Name)
		}
		if why != told {
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
