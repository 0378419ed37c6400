package accumulator

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/pushkey"
	"github.com/graphd/graphd/internal/refused"
)

// Counters are one accumulator's own share of the books (M42), in events. All but Open only grow.
type Counters struct {
	Received     int64
	Filtered     int64
	Rejected     int64
	DeadLettered int64
	// Open is how many events are folded in but not yet handed over (an open batch).
	Open int64
}

// What of package fold others see too.
type (
	// FoldState is a fold's state as of one moment.
	FoldState = fold.State
	// PartedState is a FoldState that is kept in parts.
	PartedState = fold.Parted
	// TrackedState is a PartedState that knows what has changed.
	TrackedState = fold.Tracked
	// TableRows is what the reactor does with the states of a table.
	TableRows = fold.Rows
	// KeyedState is a FoldState with a state for each key.
	KeyedState = fold.Keyed
	// TimingState is a FoldState that goes by the time of events.
	TimingState = fold.Timing
	// Watermark is how far the time of events has come in it.
	Watermark = fold.Watermark
	// HistoriedState is a FoldState that keeps what it was.
	HistoriedState = fold.Historied
	// History is how much it keeps.
	History = fold.History
	// Part is one of them.
	Part = fold.Part
	// Lateness is what a fold has dropped as late.
	Lateness = fold.Lateness
	// BadEvent says why an event cannot be used.
	BadEvent = fold.BadEvent
)

// JoinParts makes of a head and parts, as a checkpoint kept them, one state for
// [Core.Restore].
func JoinParts(head []byte, parts map[string][]byte) []byte { return fold.Join(head, parts) }

// Mark is where an accumulator stands: all that must be persisted so that it can
// go on from here (M28).
type Mark struct {
	// Positions are the resume points of the source, one per stream; nil without a source.
	Positions []boundary.Position
	// State is nil for a fold without state.
	State       FoldState
	Counters    Counters
	LastEventAt time.Time
	// Late is how many events came too late for the fold since it was made or restored, whatever became of them:
	// they are in the books as that. It is not persisted.
	Late int64
}

// Handoff is what an accumulator gives the reactor at once. It is admitted whole: the mark is true after all of it.
type Handoff struct {
	Boundaries  []boundary.Boundary
	DeadLetters []checkpoint.DeadLetter
	// Late are events that the fold did not take and that go to the input of its own, as a window's
	// late events do. They account for no events: the books here count them as filtered.
	Late []boundary.Boundary
	// Heard is of a side of a join how far the events of other shards have come: along Before.
	Heard []fold.Heard
	Mark  Mark
	Keys  []checkpoint.PushKey // of pushes with an Idempotency-Key
	// Refused is what has come to nothing since the last handoff; nil where nothing has, or nobody notes it.
	Refused *refused.Batch
}

// Ticket waits until a handoff is durable; see [pushkey.Ticket].
type Ticket = pushkey.Ticket

// Ticketer is what a Port may be too, where handoffs become durable one by one: in a
// journaled graph (M29).
type Ticketer interface {
	// Ticket is for what was put last; nil where there is nothing to wait for.
	Ticket() Ticket
}

// Port is the reactor as one accumulator sees it. Put is called by one goroutine; Health
// by another too.
type Port interface {
	// Put hands h over; the reactor owns it from then on. It blocks while a sequential input
	// is full, and returns ctx's error, with nothing taken, when ctx is done first.
	Put(ctx context.Context, h *Handoff) error
	// Health reports a change of the accumulator's health. It never blocks.
	Health(h Health, code, detail string)
}

// PanicError is a panic in an accumulator, caught. The supervisor restarts the
// accumulator; the books and the source's position are behind the event already.
type PanicError struct {
	Value any
	Stack []byte
	// Event is the event that was being folded; nil when the panic was elsewhere.
	Event *boundary.Event
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
