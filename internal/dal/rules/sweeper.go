package rules

import "context"

// Sweeper removes the rows of deleted graphs. What a process does not get done, the
// next one that opens the store goes on with. An error ends the round: nothing is
// wrong but that space is held, and the next deletion or start tries again.
type Sweeper struct {
	round   func(ctx context.Context) error
	due     chan struct{} // holds one: what matters is that there is work, not how often it was said
	stop    context.CancelFunc
	stopped chan struct{} // closed when serve has returned
}

// StartSweeper begins with what an earlier process has left.
func StartSweeper(round func(ctx context.Context) error) *Sweeper {
	ctx, stop := context.WithCancel(context.Background())
	w := &Sweeper{round: round, due: make(chan struct{}, 1), stop: stop, stopped: make(chan struct{})}
	w.Wake()
	go w.serve(ctx) // joined by Close
	return w
}

// Wake says that there is something to sweep.
func (w *Sweeper) Wake() {
	select {
	case w.due <- struct{}{}:
	default:
	}
}

func (w *Sweeper) serve(ctx context.Context) {
	defer close(w.stopped)
	for {
		select {
		case <-w.due:
			_ = w.round(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the round under way and waits for it.
func (w *Sweeper) Close() {
	w.stop()
	<-w.stopped
}
