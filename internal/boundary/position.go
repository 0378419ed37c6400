package boundary

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// IsZero reports whether p is no position: that of a pushed event.
func (p Position) IsZero() bool { return p == Position{} }

// Partition is the part of a source that a stream's events have their order in: the stream
// itself, without what follows an "#", which says which generation of it this is. Streams of one
// partition, which keep their positions apart, are told apart by what follows an "~".
func Partition(stream string) string {
	stream, _, _ = strings.Cut(stream, "#")
	stream, _, _ = strings.Cut(stream, "~")
	return stream
}

// SameStream reports whether two positions' Stream names are of one stream. What
// follows an "#" says which generation of the stream it is (a file's fingerprint,
// which grows with a short file; a topic's id): a later generation takes the earlier
// one's place, and any that of a position from before there were generations.
func SameStream(a, b string) bool {
	if a == b {
		return true
	}
	an, _, _ := strings.Cut(a, "#")
	bn, _, _ := strings.Cut(b, "#")
	return an == bn
}

// String is "stream@offset" for people; "" for the zero position.
func (p Position) String() string {
	if p.IsZero() {
		return ""
	}
	return p.Stream + "@" + strconv.FormatInt(p.Offset, 10)
}

// AppendBinary appends p as a checkpoint keeps it.
func (p Position) AppendBinary(dst []byte) []byte {
	dst = appendBytes(dst, p.Stream)
	return binary.AppendVarint(dst, p.Offset)
}

// ErrCorrupt is in every error about binary data that this package did not write.
var ErrCorrupt = errors.New("corrupt binary data")

// DecodePosition reads what AppendBinary wrote and returns what follows it.
func DecodePosition(b []byte) (p Position, rest []byte, err error) {
	stream, b, ok := cutBytes(b)
	if !ok {
		return Position{}, nil, corrupt("a position's stream is cut short")
	}
	offset, n := binary.Varint(b)
	if n <= 0 {
		return Position{}, nil, corrupt("a position's offset is cut short")
	}
	return Position{Stream: string(stream), Offset: offset}, b[n:], nil
}
