package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// counting is a sink that counts what it gets.
type counting struct{ n int }

func (c *counting) Deliver(_ context.Context, batch []sink.Message) error {
	c.n += len(batch)
	return nil
}

func (c *counting) Close(context.Context) error { return nil }

// M11, M46: an output that is stopped and gets its writer only later, when a graph begins to read
// it, delivers nothing until it is started, and then all that came since.
func TestM11AttachedWriterObeysTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t, plain)
		out := reactor.Part{Output: true}
		if err := s.StopPart(t.Context(), out, "ann", func() {}); err != nil {
			t.Fatal(err)
		}
		var got counting
		w := delivery.NewWriter(delivery.Config{Output: "out", Sink: &got, Room: s.Room})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		wrote := make(chan error, 1)
		if err := s.Attach(t.Context(), 0, w, func() { go func() { wrote <- w.Run(ctx) }() }); err != nil {
			t.Fatal(err)
		}
		defer func() { cancel(); <-wrote; _ = s.end() }()
		received := int64(0)
		s.push(&received, 3)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got.n != 0 {
			t.Errorf("a stopped output delivered %d values", got.n)
		}
		if err := s.StartPart(t.Context(), out, func() {}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got.n != 3 {
			t.Errorf("%d of 3 values after the start", got.n)
		}
	})
}
