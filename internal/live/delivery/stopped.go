package delivery

import "context"

// Stop has the writer deliver nothing more until Start: what comes waits as it does for a sink
// that cannot be reached. What is on its way to the sink is finished.
func (w *Writer) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped == nil {
		w.stopped = make(chan struct{})
	}
}

// Start lets a stopped writer go on.
func (w *Writer) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped != nil {
		close(w.stopped)
		w.stopped = nil
	}
}

// mayDeliver waits while the output is stopped. It is false when ctx is done first, and when
// the writer is to return: what is left then is in the outbox, or is carried by the last checkpoint.
func (w *Writer) mayDeliver(ctx context.Context) bool {
	for {
		w.mu.Lock()
		stopped, closing := w.stopped, w.closing
		w.mu.Unlock()
		if stopped == nil {
			return true
		}
		if closing {
			w.GiveUp()
			return false
		}
		select {
		case <-stopped:
		case <-w.wake: // CloseWhenEmpty, or more to deliver later, which Run looks for anyway
		case <-ctx.Done():
			return false
		}
	}
}
