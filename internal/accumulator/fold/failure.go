package fold

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Failure is a boundary that cannot be made of what was folded: it becomes a dead letter.
type Failure struct {
	Value  boundary.Value // what there is to show of it
	Key    boundary.Key
	Bad    *BadEvent
	Events int64 // that were in it and are accounted for by nothing else
	Last   boundary.Position
}

// Failures are what a fold has failed at since they were last taken. The zero value is ready.
type Failures struct {
	list      []Failure
	forgotten int64
}

// Put adds one.
func (f *Failures) Put(failed Failure) { f.list = append(f.list, failed) }

// Forget counts events that are kept no longer, and of which nothing was to be handed over: they are
// filtered.
func (f *Failures) Forget(events int64) { f.forgotten += events }

// Any reports whether there is something to account for.
func (f *Failures) Any() bool { return len(f.list) > 0 || f.forgotten > 0 }

// Take takes them away.
func (f *Failures) Take() []Failure {
	list := f.list
	f.list = nil
	return list
}

// Forgotten takes away how many events were forgotten.
func (f *Failures) Forgotten() int64 {
	n := f.forgotten
	f.forgotten = 0
	return n
}

// Lateness is what a fold has dropped as late since it was made or restored, and why: events
// are numbered as they were received, from 1.
type Lateness struct {
	Events int64
	// Worst is the event that came furthest behind the watermark, and its time.
	Worst   int64
	WorstAt time.Time
	// Of is the input that it came to where the fold takes what others hand over; Worst is 0 then. "" for its own.
	Of string
	// Mover is the event by which the watermark went then, and its time: one that is far
	// ahead of all others makes them late. It is 0 when that was before a restart, and for
	// folds that go by the clock.
	Mover   int64
	MoverAt time.Time
}
