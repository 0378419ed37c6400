package delivery

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

// stuck is a sink whose deliveries wait until they may go on.
type stuck struct{ goOn chan struct{} }

func (s *stuck) Deliver(ctx context.Context, _ []sink.Message) error {
	select {
	case <-s.goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stuck) Close(context.Context) error { return nil }

// rings counts how often a writer says that there is room again.
type rings struct{ n int }

func (r *rings) ring() { r.n++ }

// M30: an outbox that held the graph up by its bytes says so as soon as they are fewer, and one
// that has been emptied says that too: its entries are marked with the next commit.
func TestM30OutboxSaysWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rung rings
		held := &stuck{goOn: make(chan struct{})}
		page := func(_ context.Context, after int64) ([]sink.Message, error) {
			return []sink.Message{{Output: "out", Seq: after + 1, Value: boundary.String("x")}}, nil
		}
		w := NewWriter(Config{Output: "out", Sink: held, Room: rung.ring, Outbox: &Outbox{
			Read: page, Committed: 3, Bytes: outboxBytes,
		}})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		synctest.Wait()
		for delivered, want := range []int{1, 1, 2} { // by the bytes; in between; when it is empty
			if free := w.Free() > 0; free != (delivered > 0) {
				t.Fatalf("after %d there is room: %v", delivered, free)
			}
			held.goOn <- struct{}{}
			synctest.Wait()
			if rung.n != want {
				t.Fatalf("after %d deliveries it rang %d times, want %d", delivered+1, rung.n, want)
			}
		}
	})
}

// oneByOne is a sink that is given one message at a time.
type oneByOne struct {
	stuck
	sizes []int
}

func (s *oneByOne) Deliver(ctx context.Context, batch []sink.Message) error {
	s.sizes = append(s.sizes, len(batch))
	return s.stuck.Deliver(ctx, batch)
}

func (s *oneByOne) DeliversSingly() {}

// M30: of a sink that takes one message after the other each counts as through when it is, on both paths, and so is
// not delivered again.
func TestM30EachIsThroughByItself(t *testing.T) {
	for _, outbox := range []*Outbox{nil, {Committed: 0}} {
		synctest.Test(t, func(t *testing.T) {
			one := &oneByOne{stuck: stuck{goOn: make(chan struct{})}}
			w := NewWriter(Config{Output: "out", Sink: one, Outbox: outbox})
			ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			ended := make(chan error, 1)
			go func() { ended <- w.Run(ctx) }()
			defer func() { cancel(); <-ended }()
			var batch []sink.Message
			for seq := range int64(5) {
				batch = append(batch, sink.Message{Output: "out", Seq: seq + 1, Value: boundary.String("x")})
			}
			w.Put(batch)
			for done := range int64(5) {
				synctest.Wait()
				if s := w.Status(); s.Pending != 5-done || w.Delivered() != done || s.Oldest.IsZero() {
					t.Errorf("after %d of 5: %+v, %d delivered", done, s, w.Delivered())
				}
				one.goOn <- struct{}{}
			}
			synctest.Wait()
			if s := w.Status(); s.Pending != 0 || len(one.sizes) != 5 {
				t.Errorf("in the end: %+v, deliveries of %v", s, one.sizes)
			}
		})
	}
}
