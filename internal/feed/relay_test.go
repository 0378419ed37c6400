package feed

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

var up, down = api.Ref{Tenant: "acme", Name: "up"}, api.Ref{Tenant: "acme", Name: "down"}

// end is the one mailbox at the end of every link. Of each push it takes what is left of room,
// and ends the caller's time where that is not all, as a full accumulator does.
type end struct {
	room int
	full context.CancelFunc
	got  []string
}

func (e *end) Mailbox(End) (Mailbox, error)    { return e, nil }
func (e *end) Upstream(api.Ref, string) string { return "" }

func (e *end) Push(_ context.Context, events []boundary.Event) (pump.PushOutcome, error) {
	n := min(e.room, len(events))
	e.room -= n
	for _, ev := range events[:n] {
		e.got = append(e.got, string(ev.Value.AppendJSON(nil)))
	}
	if n < len(events) {
		e.full()
		e.room = 1000 // what is pushed after that may be taken all the same
	}
	return pump.PushOutcome{Taken: n, Accepted: n, Full: n < len(events)}, nil
}

func messages(from, to int64) (batch []sink.Message) {
	for i := from; i <= to; i++ {
		batch = append(batch, sink.Message{Epoch: i, Seq: i, Output: "o", Value: boundary.Int(i)})
	}
	return batch
}

// M46: a delivery that only a part of was taken before its time was over is not through, and
// goes on behind that part: each value arrives, once, and in order. Over more than one group too.
func TestM46PartlyTakenDeliveryGoesOn(t *testing.T) {
	const n = 2*relayGroup + 10
	for _, room := range []int{0, 1, 3, relayGroup, relayGroup + 1, n - 1} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			e := &end{room: room}
			links := New(e)
			links.live.put(down, []link{{from: up, output: "o", to: End{down, "a"}}})
			to := links.Relay(up, "o", nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			e.full = cancel
			if err := to.Deliver(ctx, messages(1, n)); err == nil {
				t.Fatalf("%d of %d values were taken, and the delivery counts as through", room, n)
			}
			if err := to.Deliver(t.Context(), messages(1, n)); err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range n {
				want = append(want, fmt.Sprint(i+1))
			}
			if !slices.Equal(e.got, want) {
				t.Errorf("got %v", e.got)
			}
		})
	}
}

// plenty is a sink that delivers several values at once, and counts how many.
type plenty struct{ n atomic.Int64 }

func (p *plenty) Deliver(context.Context, []sink.Message) error { p.n.Add(1); return nil }
func (p *plenty) Close(context.Context) error                   { return nil }
func (p *plenty) DeliversSingly()                               {}
func (p *plenty) Concurrency() int                              { return 8 }
func (p *plenty) AtOnce() int                                   { return 8 }
func (p *plenty) Lane(m *sink.Message) string                   { return string(m.Key) }

// M30, M46: an output's own sink is given several values at once, and while the output feeds another graph one after
// the other, so that the link has them in their order.
func TestM46SeveralAtOnceUnlessItFeeds(t *testing.T) {
	e, own := &end{room: 1000}, &plenty{}
	links := New(e)
	to, ok := links.Relay(up, "o", own).(sink.Concurrent)
	if !ok || to.Concurrency() != 8 || to.AtOnce() != 8 {
		t.Fatalf("the relay hides that the sink takes several: %T", to)
	}
	if m := messages(1, 1); to.Deliver(t.Context(), m) != nil || len(e.got) != 0 || own.n.Load() != 1 {
		t.Errorf("without a link: %v, %d", e.got, own.n.Load())
	}
	links.live.put(down, []link{{from: up, output: "o", to: End{down, "a"}}})
	if to.Concurrency() != 8 || to.AtOnce() != 1 {
		t.Errorf("with a link %d go at once, of %d", to.AtOnce(), to.Concurrency())
	}
	if m := messages(2, 2); to.Deliver(t.Context(), m) != nil || len(e.got) != 1 || own.n.Load() != 2 {
		t.Errorf("with a link: %v, %d", e.got, own.n.Load())
	}
	if _, ok := links.Relay(up, "o", nil).(sink.Singly); ok {
		t.Error("a relay without a sink is taken for one that takes a value at a time")
	}
}
