package boundary

import (
	"time"

	"github.com/graphd/graphd/internal/boundary/traced"
)

// Key is the canonical JSON of a boundary's key: "" when the graph is unkeyed,
// `"AAPL"` for a string key, `["AAPL",3]` for a composite one.
type Key string

// Position is the resume point of one stream of a source. Only the source that
// made it reads it; for everyone else it is opaque, comparable and printable.
type Position struct {
	// Stream names the part of the source: a file's fingerprint, "topic/partition"; "" when there is one.
	Stream string
	// Offset is where to go on: everything before it has been handed over.
	Offset int64
}

// Event is one raw input with its position and time.
type Event struct {
	// Raw is the event as it came. The receiver owns it; it is never written again.
	Raw []byte
	// Value is the decoded event where the source already has one (CSV, generator);
	// Absent otherwise, and then Raw is JSON.
	Value Value
	// Pos is the position just after this event; zero for pushed events.
	Pos Position
	// At is the time of arrival.
	At time.Time
	// Meta is what the source knows beside the payload; nil when nothing.
	Meta *Meta
	// Origin is the id of the dead letter this event was replayed from; "" otherwise.
	Origin string
	// Links is the span that it comes from, nil where nothing is traced.
	Links *traced.Links
}

// Meta is what a source knows of an event beside its payload; expressions read it as `meta`.
type Meta struct {
	Key       string
	Headers   map[string]string
	Topic     string
	Partition int32
	Offset    int64
	Timestamp time.Time
}

// Boundary is a typed snapshot that an accumulator hands to the reactor. It is
// immutable once handed over.
type Boundary struct {
	Value Value
	Key   Key
	// First and Last are the positions just after the first and the last event folded in;
	// equal for a boundary of one event, zero for pushed ones.
	First, Last Position
	// At is the arrival time of the last event folded in; in a graph that looks rows up as of its events, the
	// time of the newest.
	At time.Time
	// Events is the number of events this boundary accounts for (M42); may be 0.
	Events int64
	// Size is about how many bytes it holds; queues are bounded by it.
	Size int
	// Origin is the event's when the boundary is one event unfolded.
	Origin string
	// Raw is the original bytes when the boundary is one event unfolded; nil otherwise. Dead letters keep it.
	Raw []byte
	// Links are the spans that its events come from. They are in no store.
	Links *traced.Links
}
