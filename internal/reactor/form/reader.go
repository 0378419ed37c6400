package form

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// ErrShort says that bytes are missing.
var ErrShort = errors.New("it is cut short")

// AppendText appends a text and how long it is.
func AppendText[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func cutString(b []byte) (s string, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return "", nil, ErrShort
	}
	return string(b[k : k+int(n)]), b[k+int(n):], nil
}

// Reader reads what was appended; the first failure sticks, so callers check once.
type Reader struct {
	Rest []byte
	Err  error
}

// Fail notes that bytes are missing.
func (r *Reader) Fail() {
	if r.Err == nil {
		r.Err = ErrShort
	}
	r.Rest = nil
}

// Uint reads an unsigned number.
func (r *Reader) Uint() uint64 {
	n, k := binary.Uvarint(r.Rest)
	if k <= 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[k:]
	return n
}

// Int reads a signed number.
func (r *Reader) Int() int64 {
	n, k := binary.Varint(r.Rest)
	if k <= 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[k:]
	return n
}

// Text reads what AppendText wrote.
func (r *Reader) Text() string {
	s, rest, err := cutString(r.Rest)
	if err != nil {
		r.Fail()
		return ""
	}
	r.Rest = rest
	return s
}

// Value reads a value.
func (r *Reader) Value() boundary.Value {
	if r.Err != nil {
		return boundary.Value{}
	}
	v, rest, err := boundary.DecodeBinary(r.Rest)
	if err != nil {
		r.Err, r.Rest = err, nil
		return boundary.Value{}
	}
	r.Rest = rest
	return v
}

// Position reads what AppendPosition wrote.
func (r *Reader) Position() boundary.Position {
	return boundary.Position{Stream: r.Text(), Offset: r.Int()}
}

// Time reads what AppendTime wrote.
func (r *Reader) Time() time.Time {
	return NanoTime(Stored(r.Int()))
}

// Done is the sticky error, or one for left-over bytes.
func (r *Reader) Done() error {
	if r.Err == nil && len(r.Rest) > 0 {
		return errors.New("bytes are left over")
	}
	return r.Err
}

// AppendPosition appends a position.
func AppendPosition(dst []byte, p boundary.Position) []byte {
	return binary.AppendVarint(AppendText(dst, p.Stream), p.Offset)
}

// AppendTime writes nanoseconds since 1970; see [Stored] for the zero time.
func AppendTime(dst []byte, t time.Time) []byte {
	return binary.AppendVarint(dst, Stored(Nano(t)))
}

// AppendBoundary appends a boundary.
func AppendBoundary(dst []byte, b *boundary.Boundary) []byte {
	dst = AppendText(dst, string(b.Key))
	dst = AppendPosition(AppendPosition(dst, b.First), b.Last)
	dst = AppendTime(dst, b.At)
	dst = binary.AppendVarint(dst, b.Events)
	dst = binary.AppendVarint(dst, int64(b.Size))
	dst = AppendText(dst, b.Origin)
	dst = AppendText(dst, b.Raw)
	return b.Value.AppendBinary(dst)
}

// Boundary reads what AppendBoundary wrote.
func (r *Reader) Boundary() *boundary.Boundary {
	b := &boundary.Boundary{Key: boundary.Key(r.Text()), First: r.Position(), Last: r.Position(), At: r.Time(),
		Events: r.Int(), Size: int(r.Int()), Origin: r.Text()}
	if raw := r.Text(); raw != "" {
		b.Raw = []byte(raw)
	}
	b.Value = r.Value()
	return b
}

// AppendNames appends a list of texts.
func AppendNames(dst []byte, names []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, n := range names {
		dst = AppendText(dst, n)
	}
	return dst
}

// Names reads what AppendNames wrote.
func (r *Reader) Names() (names []string) {
	n := r.Uint()
	if n > uint64(len(r.Rest)) { // a name takes a byte at least
		r.Fail()
		return nil
	}
	for range n {
		names = append(names, r.Text())
	}
	return names
}

// AppendHeard writes how far the events of other shards had come; see [Reader.Heard].
func AppendHeard(dst []byte, heard []fold.Heard) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(heard)))
	for _, h := range heard {
		dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(h.Before)), h.At)
	}
	return dst
}

// Heard reads what AppendHeard wrote.
func (r *Reader) Heard() (heard []fold.Heard) {
	n := r.Uint()
	if n > uint64(len(r.Rest)) { // each takes two bytes at least
		r.Fail()
		return nil
	}
	for range n {
		heard = append(heard, fold.Heard{Before: int(r.Uint()), At: r.Int()})
	}
	return heard
}
