package accumulator

import (
	"encoding/binary"
	"maps"
	"slices"
)

// PartedState is a FoldState that may be large, and of which little changes between two
// checkpoints: it is kept as a head, which is written every time, and parts, which are
// written when they have changed.
type PartedState interface {
	FoldState
	// AppendHead appends what is in no part.
	AppendHead(dst []byte) []byte
	// Parts are the others, each with a name of its own. Names that are no longer there are
	// to be deleted.
	Parts() func(yield func(Part) bool)
}

// joinedState begins a state whose parts have been joined again.
const joinedState = "J\x01"

// JoinParts makes of a head and parts, as a checkpoint kept them, one state for
// [Core.Restore].
func JoinParts(head []byte, parts map[string][]byte) []byte {
	dst := append([]byte(nil), joinedState...)
	dst = append(binary.AppendUvarint(dst, uint64(len(head))), head...)
	dst = binary.AppendUvarint(dst, uint64(len(parts)))
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
		dst = append(binary.AppendUvarint(dst, uint64(len(parts[name]))), parts[name]...)
	}
	return dst
}

// splitParts is the inverse of JoinParts. What it returns shares data's memory.
func splitParts(data []byte) (head []byte, parts map[string][]byte, err error) {
	r := readState(data, joinedState)
	cut := func() []byte {
		n := r.count()
		b := r.data[:n]
		r.data = r.data[n:]
		return b
	}
	head, parts = cut(), map[string][]byte{}
	for range r.count() {
		name := string(cut())
		parts[name] = cut()
	}
	return head, parts, r.done()
}
