package delivery

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/sink"
)

// countingSink counts what is delivered, and remembers whether it was closed in time.
type countingSink struct {
	delivered atomic.Int64
	closedIn  error
}

func (s *countingSink) Deliver(_ context.Context, batch []sink.Message) error {
	s.delivered.Add(int64(len(batch)))
	return nil
}

func (s *countingSink) Close(ctx context.Context) error {
	s.closedIn = ctx.Err()
	return nil
}

// M45: a writer whose graph is another daemon's delivers nothing, and closes its sink without
// time to flush what it buffers.
func TestM45WriterOfTheDisowned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, owned := &countingSink{}, atomic.Bool{}
		owned.Store(true)
		w := NewWriter(Config{Output: "o", Sink: to, Owned: owned.Load})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		w.Put(make([]sink.Message, 3))
		synctest.Wait()
		owned.Store(false)
		w.Put(make([]sink.Message, 2))
		time.Sleep(time.Minute)
		if n := to.delivered.Load(); n != 3 {
			t.Errorf("%d messages were delivered, want the 3 from before", n)
		}
		cancel()
		if err := <-ended; err != nil || to.closedIn == nil {
			t.Errorf("ended with %v; the sink was closed with time to flush (%v)", err, to.closedIn)
		}
	})
}
