package fold

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
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
	Facts *Facts
	// At is when it arrived; in a graph that looks rows up as of its events, when it happened.
	At time.Time
	// Number is which of all received events it is, from 1.
	Number int64
	// Bad is the fold's to set when it answers [Refused]: why.
	Bad *BadEvent
}

// Facts are what the expressions of a kind come to for one event; see [Program]. They are used again
// for the next.
type Facts struct {
	// At is the event's own time, in nanoseconds since 1970, where the declaration says what it is.
	At   int64
	Key  boundary.Value   // of its group: the only part of the key, or a list of all
	Args []boundary.Value // along [Program.Args]
	// Deletes says that the event takes away what its key has: it is null, or [Program.Deletes] holds.
	// Then nothing else was made of it.
	Deletes bool
	// Env has event, meta and vars, for the Terms. A fold with names of its own copies the values.
	Env *expression.Env
}

// Verdict is what a fold says to an event. But for Folded it has changed nothing.
type Verdict uint8

// What becomes of an event in a fold.
const (
	Folded  Verdict = iota
	Dropped         // it is filtered
	Aside           // it goes to the input that the kind has declared, and is filtered here
	Refused         // it is a dead letter, or its sender is told; Input.Bad says why
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

// MaxKept bounds how many events a fold is told to keep in memory. It is far above what is sensible,
// and low enough that a slip of the finger is caught.
const MaxKept = 1 << 24

// What a Fold may be too. No event pays for it.
type (
	// Failing is a fold that can fail to make a boundary of what it has folded.
	Failing interface {
		// Failures is where it puts them, always the same. It is asked once.
		Failures() *Failures
	}
	// Partitioned is a fold that waits for the streams of its source.
	Partitioned interface {
		// Partition makes a stream known before its first event.
		Partition(stream string, now time.Time)
	}
	// Restarter is a fold to which it matters that nobody has listened for a time.
	Restarter interface {
		// Restarted says that a state of before is gone on from at engine time now.
		Restarted(now time.Time)
	}
	// Hearing is a fold that goes by how long a stream of its source is silent.
	Hearing interface {
		// Unheard says that for so long, up to now, nothing could be heard of any: silences are shorter by that. It
		// is false where that is too short to matter.
		Unheard(d time.Duration) bool
	}
	// Watching is a fold that goes by a watermark, which follows engine time in a silence.
	Watching interface {
		// Quiet completes what is due at now if no event comes any more, and reports whether anything was.
		Quiet(now time.Time, out []boundary.Boundary) ([]boundary.Boundary, bool)
		// QuietDue says when it would next; false for never.
		QuietDue() (time.Time, bool)
		// OpenUntil is the end of the first thing that is open; false when nothing is.
		OpenUntil() (time.Time, bool)
	}
	// Lasting is a fold of whose open things time completes some.
	Lasting interface {
		// LastDue is when it would complete the last of those that are open now; false when there are none. With a time
		// for what is behind it, what holds that back counts too, whether or not anything comes of it.
		LastDue(behind time.Time) (time.Time, bool)
	}
	// Handing is a fold that hands over what it keeps itself, once for all that was folded since the
	// last time: a table.
	Handing interface {
		// Hand appends a boundary that stands for the present state, if anything was folded or has changed.
		Hand(out []boundary.Boundary) []boundary.Boundary
	}
	// Vouching is a fold that goes by the times of all events of its input, also where it takes a part of
	// them only: of the others it is told.
	Vouching interface {
		// Vouches reports whether an event would be folded, by its facts: then its time counts.
		Vouches(f *Facts) bool
		// Elsewhere takes note of an event that another part has folded: its stream, "" where all are one, its time,
		// and which of all it was, from 1.
		Elsewhere(now time.Time, stream string, at, number int64, out []boundary.Boundary) []boundary.Boundary
		// Until is the time of the first event that would complete something, where at is the newest so far.
		Until(at int64) int64
	}
	// Ordering is a fold that may complete several things at once, of one event or of time, in an order that can be
	// told by what they are.
	Ordering interface {
		// Order says which of two boundaries that were completed at once comes first, as cmp.Compare does.
		Order(a, b boundary.Value) int
	}
	// Joining is a fold that takes what two other inputs hand over, in place of events.
	Joining interface {
		// Join folds a boundary of a side, which is lent but for its value, and appends what this completes. When it
		// is refused the error says why.
		Join(side int, b *boundary.Boundary, out []boundary.Boundary) ([]boundary.Boundary, Verdict, *BadEvent)
		// Heard takes note of the time of a boundary of a side that was given to another part of its keys, before the
		// next Join.
		Heard(side int, at int64)
	}
	// Dropping is a fold that drops events which come too late.
	Dropping interface {
		// Lateness is what came too late so far; ok is false for a fold that does otherwise with it than drop it.
		Lateness() (l Lateness, ok bool)
	}
)

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

// Watermark is how far the time of events has come in a fold.
type Watermark struct {
	// At is the time before which no event is waited for. HeldBy is the partition by which it goes, "" of pushes, and
	// Newest the greatest time of that.
	At     time.Time
	HeldBy string
	Newest time.Time
	// Until is the end of the first window that is open; zero where none is, or that is not known.
	Until time.Time
	// Partitions are those that it goes by, of All that there are: those that are furthest behind first, those that are
	// idle last. They are told where they are asked for.
	Partitions []Partition
	All        int
}

// Partition is how far the time of events has come in one partition of the input; that of pushes is "".
type Partition struct {
	Name   string
	Newest time.Time // the greatest time that it vouches for; zero before its first event
	Heard  time.Time // when it was last heard of; zero where that is not known
	Idle   bool      // silent for so long that it is not waited for
}

// Timing is a fold, or a state, that goes by the time of events.
type Timing interface {
	// Watermark is how far it has come; ok is false before the first event.
	Watermark() (w Watermark, ok bool)
	// Partitioned is how far it has come with so many partitions at most; nil before the first event.
	Partitioned(most int) *Watermark
}
