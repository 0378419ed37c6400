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
