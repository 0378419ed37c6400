package reactor

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/boundary"
)

// Message is one output of one epoch on its way to a sink.
type Message struct {
	// Instance is the graph instance's UUID; with incarnation, epoch, key and output it makes the firing id.
	Instance           uuid.UUID
	Incarnation, Epoch int64
	Key                boundary.Key
	Output             string
	// To is the output's index in the plan.
	To    int
	Value boundary.Value
	// At is the epoch's engine time.
	At time.Time
	// Degraded names what was not healthy when the epoch ran; nil when all was well.
	Degraded []string
}

// FiringID is the message's id on the direct path: UUIDv5 over instance, incarnation,
// epoch, key and output (M30). It is not stable: after a crash the same epoch number may
// carry other content, and then has another incarnation and another id.
func (m *Message) FiringID() string {
	return uuid.NewSHA1(m.Instance, fmt.Appendf(nil, "%d/%d/%s/%s", m.Incarnation, m.Epoch, m.Key, m.Output)).String()
}

// Sink writes one output's messages somewhere. Deliver and Close are called by one
// goroutine, in the order of the epochs.
type Sink interface {
	// Deliver writes the batch, or answers an error: then nothing is known of it and the
	// whole batch is delivered again after a backoff, unless the error is a *PermanentError.
	// The batch is the caller's again when Deliver returns.
	Deliver(ctx context.Context, batch []Message) error
	// Close flushes what is buffered and releases what is held.
	Close(ctx context.Context) error
}

// PermanentError refuses the message at Index of a batch for good: those before it were
// written, it will fail again, those after it were not tried.
type PermanentError struct {
	Index int
	Code  string
	Err   error
}

func (e *PermanentError) Error() string { return e.Code + ": " + e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }
