package fold

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Parted is a State that may be large, and of which little changes between two
// checkpoints: it is kept as a head, which is written every time, and parts, which are
// written when they have changed.
type Parted interface {
	State
	// AppendHead appends what is in no part.
	AppendHead(dst []byte) []byte
	// Parts are the others, each with a name of its own. Names that are no longer there are
	// to be deleted.
	Parts() func(yield func(Part) bool)
}

// Tracked is a Parted state that knows what has changed in it, without looking at what has not: one
// that may be very large.
type Tracked interface {
	Parted
	// Changed are the parts that are others than in an earlier state of the same kind, nil for the
	// empty one, and those that are no longer there: they have no Append.
	Changed(since State) func(yield func(Part) bool)
}

// Rows is what the reactor does with the states of a table, whose boundaries refer to them: see
// [Program.Table].
type Rows interface {
	// Value is what a boundary has for a value whose state this is; nil is the empty one.
	Value(s State) boundary.Value
	// State is the state that a value refers to; nil when there is none.
	State(v boundary.Value) State
	// Decode reads a state of its head and its parts.
	Decode(head []byte, parts map[string][]byte) (State, error)
	// AppendChanges appends what makes the state after of the state before, and Redo makes it.
	AppendChanges(dst []byte, before, after State) []byte
	Redo(before State, changes []byte) (State, error)
	// AsOf is the value as of a time, in nanoseconds since 1970: the same for a state that has none but its own.
	// Looking up a row is a fault where it is not known any more.
	AsOf(v boundary.Value, at int64) boundary.Value
	// Made is a table of an object whose names are keys.
	Made(object boundary.Value) (boundary.Value, error)
}

// Part is a piece of a state that is written by itself, and only when it has changed.
type Part struct {
	Name string
	// Same is comparable: the same for the same content, as long as the process lives.
	Same any
	// Append appends the content.
	Append func(dst []byte) []byte
}

// Keyed is a State with a state for each key, of which there may be so many.
type Keyed interface {
	State
	// Keys is how many there are and may be, and how many were evicted in all.
	Keys() (count, most int, evicted int64)
}

// Weighed is a State that can say about how many bytes of memory it holds, having looked at a small part of it.
type Weighed interface {
	State
	Weight() int64
}

// Looks is how many pieces of a state are looked at to know what one of them takes.
const Looks = 256

// Weigh is what n pieces take of which each has so much, by every so many of them.
func Weigh(n int, each func(i int) int64) (bytes int64) {
	if n == 0 {
		return 0
	}
	looks := min(n, Looks)
	for i := range looks {
		bytes += each(int(int64(i) * int64(n) / int64(looks)))
	}
	return int64(float64(bytes) / float64(looks) * float64(n))
}

// Historied is a State that keeps what it was.
type Historied interface {
	State
	// History is how much it keeps; ok is false when it keeps nothing.
	History() (h History, ok bool)
}

// History is what is kept of earlier states.
type History struct {
	Versions, Max int
	Bytes         int64
	Since         time.Time // what was before is not known any more; zero while all is
}

// joinedState begins a state whose parts have been joined again.
const joinedState = "J\x01"

// IsJoined reports whether data is what Join made.
func IsJoined(data []byte) bool { return bytes.HasPrefix(data, []byte(joinedState)) }

// Join makes of a head and parts, as a checkpoint kept them, one state for
// [Keeper.Decode].
func Join(head []byte, parts map[string][]byte) []byte {
	dst := append([]byte(nil), joinedState...)
	dst = append(binary.AppendUvarint(dst, uint64(len(head))), head...)
	dst = binary.AppendUvarint(dst, uint64(len(parts)))
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
		dst = append(binary.AppendUvarint(dst, uint64(len(parts[name]))), parts[name]...)
	}
	return dst
}

// Split is the inverse of Join. What it returns shares data's memory.
func Split(data []byte) (head []byte, parts map[string][]byte, err error) {
	r := Read(data, joinedState)
	cut := func() []byte {
		n := r.Count()
		b := r.rest[:n]
		r.rest = r.rest[n:]
		return b
	}
	head, parts = cut(), map[string][]byte{}
	for range r.Count() {
		name := string(cut())
		parts[name] = cut()
	}
	return head, parts, r.Done()
}
