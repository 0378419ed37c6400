package reactor

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// The binary form of the cells. Every cell is written whole, so there is no framing
// between cells; within one, variable parts are length-prefixed. metaFormat versions it.

var errShort = errors.New("it is cut short")

func appendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func cutString(b []byte) (s string, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return "", nil, errShort
	}
	return string(b[k : k+int(n)]), b[k+int(n):], nil
}

// reader reads a cell; the first failure sticks, so callers check once.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = errShort
	}
	r.b = nil
}

func (r *reader) uint() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *reader) int() int64 {
	n, k := binary.Varint(r.b)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *reader) string() string {
	s, rest, err := cutString(r.b)
	if err != nil {
		r.fail()
		return ""
	}
	r.b = rest
	return s
}

func (r *reader) value() boundary.Value {
	if r.err != nil {
		return boundary.Value{}
	}
	v, rest, err := boundary.DecodeBinary(r.b)
	if err != nil {
		r.err, r.b = err, nil
		return boundary.Value{}
	}
	r.b = rest
	return v
}

func (r *reader) position() boundary.Position {
	return boundary.Position{Stream: r.string(), Offset: r.int()}
}

// time reads what appendTime wrote.
func (r *reader) time() time.Time {
	return nanoTime(stored(r.int()))
}

// done is the sticky error, or one for left-over bytes.
func (r *reader) done() error {
	if r.err == nil && len(r.b) > 0 {
		return errors.New("bytes are left over")
	}
	return r.err
}

func appendPosition(dst []byte, p boundary.Position) []byte {
	return binary.AppendVarint(appendString(dst, p.Stream), p.Offset)
}

// appendTime writes nanoseconds since 1970; see stored for the zero time.
func appendTime(dst []byte, t time.Time) []byte {
	return binary.AppendVarint(dst, stored(nano(t)))
}

func encodeBoundary(dst []byte, b *boundary.Boundary) []byte {
	dst = appendString(dst, string(b.Key))
	dst = appendPosition(appendPosition(dst, b.First), b.Last)
	dst = appendTime(dst, b.At)
	dst = binary.AppendVarint(dst, b.Events)
	dst = binary.AppendVarint(dst, int64(b.Size))
	dst = appendString(dst, b.Origin)
	dst = appendString(dst, b.Raw)
	return b.Value.AppendBinary(dst)
}

func (r *reader) boundary() *boundary.Boundary {
	b := &boundary.Boundary{Key: boundary.Key(r.string()), First: r.position(), Last: r.position(), At: r.time(),
		Events: r.int(), Size: int(r.int()), Origin: r.string()}
	if raw := r.string(); raw != "" {
		b.Raw = []byte(raw)
	}
	b.Value = r.value()
	return b
}

func encodeSlot(s *sealedSlot) []byte {
	dst := binary.AppendUvarint(nil, s.version)
	dst = appendPosition(dst, s.at)
	dst = s.cur.AppendBinary(dst)
	if s.pend == nil {
		return append(dst, 0)
	}
	return encodeBoundary(append(dst, 1), s.pend)
}

func decodeSlot(data []byte) (sealedSlot, error) {
	r := reader{b: data}
	s := sealedSlot{version: r.uint(), at: r.position(), cur: r.value()}
	if r.uint() == 1 {
		s.pend = r.boundary()
	}
	return s, r.done()
}

// encodeAccount writes an accumulator's account; whole says that a state in parts is
// written in one piece, for where there are no cells for them.
func encodeAccount(identity string, a *sealedAccount, whole bool) []byte {
	m := &a.mark
	dst := appendString(nil, identity)
	c := &m.Counters
	for _, n := range [...]int64{c.Received, c.Filtered, c.Rejected, c.DeadLettered, c.Open} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = appendTime(dst, m.LastEventAt)
	dst = binary.AppendUvarint(dst, uint64(len(m.Positions)))
	for _, p := range m.Positions {
		dst = appendPosition(dst, p)
	}
	if parted, ok := m.State.(accumulator.PartedState); ok && !whole {
		return parted.AppendHead(dst)
	}
	if m.State != nil {
		return m.State.AppendBinary(dst)
	}
	return append(dst, a.restored...)
}

func decodeAccount(data []byte) (identity string, a sealedAccount, err error) {
	r := reader{b: data}
	identity = r.string()
	c := accumulator.Counters{Received: r.int(), Filtered: r.int(), Rejected: r.int(), DeadLettered: r.int(),
		Open: r.int()}
	a.mark = accumulator.Mark{Counters: c, LastEventAt: r.time()}
	// A position takes two bytes at least: what cannot fit is not allocated for.
	if n := r.uint(); n <= uint64(len(r.b)/2) {
		for range n {
			a.mark.Positions = append(a.mark.Positions, r.position())
		}
	} else {
		r.fail()
	}
	if len(r.b) > 0 {
		a.restored = r.b
	}
	return identity, a, r.err
}
