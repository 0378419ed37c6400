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
		stopped, closing := w.stoppedBy(), w.closes()
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

// stoppedBy is closed when the output goes on; nil while it is not stopped.
func (w *Writer) stoppedBy() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped
}

// closes reports whether nothing else comes.
func (w *Writer) closes() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closing
}
