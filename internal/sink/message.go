package sink

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
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
	// Emitted is when the epoch ran, by the wall clock: what the message's age is counted from. The store
	// does not keep it: it is zero in what was read back.
	Emitted time.Time
	// Degraded names what was not healthy when the epoch ran; nil when all was well.
	Degraded []string
	// Stable says that the epoch is durable: its number never carries other content, so a
	// receiver may deduplicate by FiringID. Sinks with headers send it as Graphd-Firing-Stable.
	Stable bool
	// Seq numbers the output's messages densely, over all incarnations.
	Seq int64
	// Trace is the span of the delivery; nil where it is neither recorded nor sent on.
	Trace *traced.Context
	// Again is set on a value that is sent again from its dead letter; its id is the one it had.
	Again *Again
}

// Again is what a value that is sent again knows of its dead letter.
type Again struct {
	// Letter is the dead letter's id, Attempts how often its sink has refused it so far.
	Letter   string
	Attempts int64
	// Settled is told once what became of it: the code and reason with which it was refused again, or none
	// when its sink has it. It must not block. Nil when nobody waits.
	Settled func(code, reason string)
}

// Settle tells who waits for the message what became of it, if somebody does.
func (m *Message) Settle(code, reason string) {
	if m.Again != nil && m.Again.Settled != nil {
		m.Again.Settled(code, reason)
	}
}

// FiringID is the message's id: UUIDv5 over instance, epoch, key and output (M30). On the
// direct path the incarnation is in it too: after a crash the same epoch number may carry
// other content, and then has another id. Where the message is Stable it is left out, and
// the id is the same however often the message is delivered.
func (m *Message) FiringID() string {
	if m.Stable {
		return uuid.NewSHA1(m.Instance, fmt.Appendf(nil, "%d/%s/%s", m.Epoch, m.Key, m.Output)).String()
	}
	return uuid.NewSHA1(m.Instance, fmt.Appendf(nil, "%d/%d/%s/%s", m.Incarnation, m.Epoch, m.Key, m.Output)).String()
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

// RetryError says that the message at Index could not be written now and may be later: those
// before it were written, those after it were not tried.
type RetryError struct {
	Index int
	// After is the least pause before the next try, as the other side asked for; 0: none.
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }
func (e *RetryError) Unwrap() error { return e.Err }
