package wire

import (
	"net/http"
	"time"
)

// slowest is how many bytes a second a client takes that is never cut off.
const slowest = 32 << 10

// Response remembers what was answered, and has each answer end: a client that takes nothing would hold a goroutine,
// and all that belongs to its request.
type Response struct {
	http.ResponseWriter
	// Stall is how long a client may take for nothing of the answer, and four times as long it may for all of it,
	// beside the time that it takes at the slowest rate.
	Stall  time.Duration
	Status int
	Bytes  int64
	began  time.Time // of the answer
}

// WriteHeader implements http.ResponseWriter.
func (w *Response) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
		w.hurry(0)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *Response) Write(p []byte) (int, error) {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	w.hurry(len(p))
	n, err := w.ResponseWriter.Write(p)
	w.Bytes += int64(n)
	return n, err
}

// hurry sets the end of writing n bytes more. Over HTTP/2 it is that of the stream, over HTTP/1 that of the
// connection, where each answer sets it anew and a WebSocket has none.
func (w *Response) hurry(n int) {
	now := time.Now()
	if w.began.IsZero() {
		w.began = now
	}
	end := now.Add(w.Stall + carrying(int64(n)))
	if last := w.began.Add(4*w.Stall + carrying(w.Bytes+int64(n))); last.Before(end) {
		end = last
	}
	// A writer that knows no deadlines (a test's recorder) has nobody to wait for.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(end)
}

func carrying(bytes int64) time.Duration { return time.Duration(bytes) * (time.Second / slowest) }

// Unwrap lets http.ResponseController reach the connection.
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
