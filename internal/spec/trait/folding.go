package trait

import (
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
)

// Folding is what a kind of accumulator makes of events, as far as it matters to the rest of a
// declaration and to those who must not know its name. The zero Folding is that of what passes
// through: each event is a value of its own.
type Folding struct {
	// Hands is what a boundary is.
	Hands Hands
	// Grouped says that a boundary is of many events that belong together, and Keys are what
	// groups them, over an event as it came; none: they are one group. Such an accumulator has no
	// key of its own: the key of a boundary is its group's, or what the reactor's makes of it.
	Grouped bool
	Keys    []decode.Expr
	// Lateness is how far events may be out of order where they are folded into windows of time.
	Lateness time.Duration
	// Idle is for how long a part of the source that is silent is waited for there; 0: for ever.
	Idle time.Duration
	// Time says whether the events' own time has a part in it.
	Time Timing
	// AsOf says that what is kept is looked up as of the time of the event that fires.
	AsOf bool
	// Sequential says that every boundary counts: the accumulator is sequential where neither it
	// nor the reactor declares a strategy.
	Sequential bool
	// Joins are the inputs that the kind takes in place of a source. The zero Sides are none.
	Joins Sides
	// Own is an input that the kind declares beside the accumulator, for events that it does not
	// fold. The zero Own is none.
	Own Own
}

// Hands is what an accumulator's boundary is, as far as that matters to those who take one apart.
type Hands uint8

const (
	// OneValue is one that cannot be taken apart.
	OneValue Hands = iota
	// NewEvents is a list of events, all of which are new.
	NewEvents
	// NewestEvents is a list of events, of which the last is new.
	NewestEvents
	// Rows is what is kept, to be looked up: the input is one for all keys and never triggers.
	Rows
)

// Timing is what the events' own time is to a kind of accumulator.
type Timing uint8

const (
	// Untimed is of kinds that do not look at it.
	Untimed Timing = iota
	// MayBeTimed is of kinds that go by it where the declaration says what it is, and by the
	// clock where it does not.
	MayBeTimed
	// Timed is of kinds that cannot do without: the declaration has to say what it is.
	Timed
)

// Own is an input that a kind of accumulator declares: one without a source, whose every event
// counts.
type Own struct {
	// Name is the input's, and Field the field of the kind's mapping that says it.
	Name, Field string
	// One and Several are what comes to it, in words: "a late event" and "late events".
	One, Several string
}

// Sides are two other inputs of the graph that a kind takes: what these hand over goes there and nowhere else.
type Sides struct {
	Names [2]string
	At    [2]decode.Pos
	// On makes what one of either side has in common with one of the other, over the fields of what it hands over.
	On [2][]decode.Expr
}

// Any reports whether there are such inputs.
func (s *Sides) Any() bool { return s.Names != [2]string{} }
