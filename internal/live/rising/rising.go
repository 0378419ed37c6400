// Package rising is a number that only rises, and callers that wait until it has passed theirs.
package rising

import (
	"context"
	"sync"
)

// Mark is a number that only rises, for callers that wait until it has passed theirs. Its zero value is at zero.
// Safe for concurrent use.
type Mark struct {
	mu    sync.Mutex
	at    int64
	ended error         // why it rises no more; nil while it may
	moved chan struct{} // closed and replaced at every rise; nil while nobody waits
}

// Raise moves the mark up to n; a lower number changes nothing.
func (w *Mark) Raise(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.at {
		w.at = n
		w.tell()
	}
}

// End lets everybody go who waits for more, with why the mark rises no more.
func (w *Mark) End(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = why
	w.tell()
}

func (w *Mark) tell() {
	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
}

// Wait returns when the mark is at n: nil. What [Mark.End] was told says that it never will be, and
// nobody knows whether what n stands for is durable; the end of ctx says its cause.
func (w *Mark) Wait(ctx context.Context, n int64) error {
	for {
		w.mu.Lock()
		if w.at >= n {
			w.mu.Unlock()
			return nil
		}
		if why := w.ended; why != nil {
			w.mu.Unlock()
			return why
		}
		if w.moved == nil {
			w.moved = make(chan struct{})
		}
		moved := w.moved
		w.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
