package fold

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// ErrForeign says that a checkpoint's state is not of the declared kind.
var ErrForeign = errors.New("the kept state is of another kind of accumulator or damaged")

// AppendTime appends a time; the zero time is one too.
func AppendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	dst = binary.AppendVarint(dst, t.Unix())
	return binary.AppendUvarint(dst, uint64(t.Nanosecond()))
}

// AppendValues appends values and their number.
func AppendValues(dst []byte, items []boundary.Value) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for _, v := range items {
		dst = v.AppendBinary(dst)
	}
	return dst
}

// Reader reads states back. After a mistake everything reads as zero, and Done says so.
type Reader struct {
	rest   []byte
	err    error
	shapes boundary.Shapes
}

// NewReader reads data, the whole of a state without a head.
func NewReader(data []byte) *Reader { return &Reader{rest: data} }

// Read reads data behind head, the first bytes that say what follows.
func Read(data []byte, head string) *Reader {
	r := &Reader{rest: data}
	if len(data) < len(head) || string(data[:len(head)]) != head {
		r.Fail(ErrForeign)
		return r
	}
	r.rest = data[len(head):]
	return r
}

// Next goes on with data, another part of the same state.
func (r *Reader) Next(data []byte) { r.rest, r.err = data, nil }

// Left is how many bytes are left to read.
func (r *Reader) Left() int { return len(r.rest) }

// Fail notes a mistake; the first one counts.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

// Uvarint reads what binary.AppendUvarint wrote.
func (r *Reader) Uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.Fail(ErrForeign)
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Varint reads what binary.AppendVarint wrote.
func (r *Reader) Varint() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.Fail(ErrForeign)
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Time reads what AppendTime wrote.
func (r *Reader) Time() time.Time {
	if r.Uvarint() == 0 {
		return time.Time{}
	}
	sec := r.Varint()
	return time.Unix(sec, int64(r.Uvarint())).UTC()
}

// Position reads a position.
func (r *Reader) Position() boundary.Position {
	p, rest, err := boundary.DecodePosition(r.rest)
	if err != nil {
		r.Fail(fmt.Errorf("%w: %w", ErrForeign, err))
		return boundary.Position{}
	}
	r.rest = rest
	return p
}

// Values reads what AppendValues wrote.
func (r *Reader) Values() []boundary.Value {
	n := r.Uvarint()
	if n > uint64(len(r.rest)) { // a value takes at least a byte
		r.Fail(ErrForeign)
		return nil
	}
	items := make([]boundary.Value, 0, min(n, 1024)) // a damaged length must not allocate the world
	for range n {
		v, rest, err := r.shapes.DecodeBinary(r.rest)
		if err != nil {
			r.Fail(fmt.Errorf("%w: %w", ErrForeign, err))
			return nil
		}
		items, r.rest = append(items, v), rest
	}
	return items
}

// Done is the first mistake, or that something is left over.
func (r *Reader) Done() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = ErrForeign
	}
	return r.err
}

// Count reads how many things of at least a byte follow.
func (r *Reader) Count() uint64 {
	n := r.Uvarint()
	if n > uint64(len(r.rest)) {
		r.Fail(ErrForeign)
		return 0
	}
	return n
}

// Text reads a length and so many bytes.
func (r *Reader) Text() string {
	n := r.Count()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// Value reads a value.
func (r *Reader) Value() boundary.Value {
	v, rest, err := r.shapes.DecodeBinary(r.rest)
	if err != nil {
		r.Fail(fmt.Errorf("%w: %w", ErrForeign, err))
		return boundary.Value{}
	}
	r.rest = rest
	return v
}

// More reports whether something is left to read.
func (r *Reader) More() bool { return r.err == nil && len(r.rest) > 0 }

// Err is the first mistake so far.
func (r *Reader) Err() error { return r.err }

// Nested has read read something from the front of what is left, and goes on with what that
// leaves.
func (r *Reader) Nested(read func(data []byte) (rest []byte, err error)) {
	if r.err != nil {
		return
	}
	rest, err := read(r.rest)
	if err != nil {
		r.Fail(fmt.Errorf("%w: %w", ErrForeign, err))
		return
	}
	r.rest = rest
}

// BoolByte is b as a byte.
func BoolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
