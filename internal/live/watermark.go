package live

import (
	"context"
	"sync"
)

// watermark is a number that only rises, for callers that wait until it has passed theirs.
// Safe for concurrent use.
type watermark struct {
	mu    sync.Mutex
	at    int64
	ended bool
	moved chan struct{} // closed and replaced at every rise; nil while nobody waits
}

// raise moves the mark up to n; a lower number changes nothing.
func (w *watermark) raise(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.at {
		w.at = n
		w.tell()
	}
}

// end lets everybody go who waits for more.
func (w *watermark) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.tell()
}

func (w *watermark) tell() {
	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
}

// wait returns when the mark is at n: nil. ErrStopped says that it never will be, and
// nobody knows whether what n stands for is durable.
func (w *watermark) wait(ctx context.Context, n int64) error {
	for {
		w.mu.Lock()
		if w.at >= n {
			w.mu.Unlock()
			return nil
		}
		if w.ended {
			w.mu.Unlock()
			return ErrStopped
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
