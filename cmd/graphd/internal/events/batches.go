package events

import (
	"context"
	"time"
)

const (
	// PerBatch is how many events a batch holds, batchBytes how much: enough to make the cost of a request per event
	// small, little enough that a rejected tail or a full queue is heard of soon.
	PerBatch   = 1000
	batchBytes = 1 << 20
)

// Event is one event of a stream.
type Event struct {
	Text []byte
	At   int // its place in the stream, from 0
}

// Batches are the events of a stream as they are sent: by the thousand, or what has come within a time.
type Batches struct {
	arrivals chan arrival
	read     int
	within   time.Duration // for how long an event waits for others to fill its batch
}

// arrival is an event, or the error behind the last.
type arrival struct {
	text []byte
	err  error
}

// Batches reads a stream on a goroutine of its own, so that what has come within a time can be sent while nothing
// comes. It ends behind the first error, or once ctx is over and what it waits for has come.
func (r *Reader) Batches(ctx context.Context, within time.Duration) *Batches {
	b := &Batches{arrivals: make(chan arrival, 64), within: within}
	go func() {
		for {
			text, err := r.Next()
			select {
			case b.arrivals <- arrival{text, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return b
}

// Next is the next batch; with the last comes why there is none behind it, io.EOF at the end of the stream.
func (b *Batches) Next(ctx context.Context) (batch []Event, err error) {
	size := 0
	var due <-chan time.Time // when the first of the batch has waited for long enough
	for len(batch) < PerBatch && size < batchBytes {
		select {
		case <-ctx.Done():
			return batch, context.Cause(ctx)
		case <-due:
			return batch, nil
		case a := <-b.arrivals:
			if a.err != nil {
				return batch, a.err
			}
			if due == nil {
				due = time.After(b.within)
			}
			batch = append(batch, Event{a.text, b.read})
			b.read++
			size += len(a.text)
		}
	}
	return batch, nil
}
