package fold

import (
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Fold collects values into boundaries. It belongs to one goroutine, knows no clock, and
// does the same for the same calls.
type Fold interface {
	Folder
	Keeper
}

// Folder is the work of a fold. It either does what it is asked as a whole or panics
// having changed nothing.
type Folder interface {
	// Add folds an event and appends the boundaries that this completes.
	Add(now time.Time, in *Input, out []boundary.Boundary) ([]boundary.Boundary, Verdict)
	// Due says when Tick must be called; false for never.
	Due() (time.Time, bool)
	// Tick completes what is due at now.
	Tick(now time.Time, out []boundary.Boundary) []boundary.Boundary
	// End completes what is buffered: no event comes any more.
	End(out []boundary.Boundary) []boundary.Boundary
}

// Input is an event on its way into a fold, good until Add returns.
type Input struct {
	Value boundary.Value // what the event has become
	Event *boundary.Event
	Facts *Facts // for a window
	// Number is which of all received events it is, from 1.
	Number int64
}

// Facts are what a window needs to know of one event. They are used again for the next.
type Facts struct {
	At   int64 // event time, in nanoseconds since 1970
	Key  boundary.Value
	Args []boundary.Value // by the window's distinct arguments
}

// Verdict is what a fold says to an event.
type Verdict uint8

// What becomes of an event in a fold.
const (
	Folded Verdict = iota
	Late           // its windows have closed; nothing was changed
	Full           // it would open more than may be; nothing was changed
)

// Keeper is the memory of a fold.
type Keeper interface {
	// State is an immutable handle on what is kept; nil when nothing ever is.
	State() State
	// Resume goes back to a state that the same fold made.
	Resume(s State)
	// Decode reads what AppendBinary wrote.
	Decode(data []byte) (State, error)
	// Open is how many events are kept that no boundary accounts for yet.
	Open() int64
}

// State is an immutable handle on a fold's state as of one moment. It is encoded only
// when a checkpoint is taken, beside the accumulator.
type State interface {
	AppendBinary(dst []byte) []byte
}

// Arrival is when ev arrived: as its source says, else now.
func Arrival(now time.Time, ev *boundary.Event) time.Time {
	if ev.At.IsZero() {
		return now
	}
	return ev.At
}

// BadEvent says why an event cannot be used.
type BadEvent struct {
	Stage string // where it failed, see the documentation of package accumulator
	Code  string // stable, snake_case
	Text  string // one line for people
}

func (e *BadEvent) Error() string { return e.Stage + ": " + e.Code + ": " + e.Text }

// OneLine keeps a text of foreign origin fit for a log line and an answer.
func OneLine(s string) string {
	const longest = 500 // enough for any real message; an event's own text may be in it
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}
