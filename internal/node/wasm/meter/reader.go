package meter

import (
	"errors"
	"fmt"
	"math"
)

// ErrModule is in every error about a module that is not one, or that this package does not know.
var ErrModule = errors.New("not a WebAssembly module that can be used")

// reader reads the parts of a module. After the first mistake it reads nothing but zeros.
type reader struct {
	b    []byte
	at   int
	err  error
	what string // is being read
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s, in the %s", ErrModule, fmt.Sprintf(format, args...), r.what)
	}
}

func (r *reader) done() bool { return r.err != nil || r.at >= len(r.b) }

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.fail("it ends too early")
	}
	if r.err != nil {
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// unsigned is a number of at most so many bits.
func (r *reader) unsigned(bits int) uint64 {
	var x uint64
	for shift := 0; ; shift += 7 {
		c := r.byte()
		if shift >= bits {
			r.fail("a number is too long")
		}
		if r.err != nil {
			return 0
		}
		if x |= uint64(c&0x7F) << shift; c < 0x80 {
			break
		}
	}
	if bits < 64 && x>>bits != 0 {
		r.fail("a number is too large")
		return 0
	}
	return x
}

func (r *reader) u32() uint32 { return uint32(r.unsigned(32)) }

// signed passes over a number with a sign, which is copied as it stands.
func (r *reader) signed(bits int) {
	for shift := 0; ; shift += 7 {
		if shift >= bits {
			r.fail("a number is too long")
		}
		if c := r.byte(); c < 0x80 || r.err != nil {
			return
		}
	}
}

func (r *reader) skip(n int) {
	if n < 0 || n > len(r.b)-r.at {
		r.fail("it ends too early")
		return
	}
	r.at += n
}

// bytes are those behind their number.
func (r *reader) bytes() []byte {
	n := int(r.u32())
	from := r.at
	if r.skip(n); r.err != nil {
		return nil
	}
	return r.b[from:r.at]
}

// count is a number of things of at least a byte each.
func (r *reader) count() int {
	n := r.u32()
	if int64(n) > int64(len(r.b)-r.at) {
		r.fail("it ends too early")
		return 0
	}
	return int(n)
}

func (r *reader) valueType() Type {
	t := Type(r.byte())
	if r.err == nil && !t.known() {
		r.fail("there is no type %#x", byte(t))
	}
	return t
}

func (r *reader) types() []Type {
	list := make([]Type, r.count())
	for i := range list {
		list[i] = r.valueType()
	}
	return list
}

// limits are those of a table or memory.
func (r *reader) limits() (least, most uint64) {
	flags := r.byte()
	if flags > 1 {
		r.fail("memories that are shared or larger than 4 GiB are not supported")
	}
	least, most = r.unsigned(32), math.MaxUint32
	if flags == 1 {
		most = r.unsigned(32)
	}
	return least, most
}

// index is one of so many.
func (r *reader) index(of string, n int) int {
	i := r.u32()
	if r.err == nil && int64(i) >= int64(n) {
		r.fail("there is no %s %d", of, i)
		return 0
	}
	return int(i)
}

func appendUnsigned(b []byte, x uint64) []byte {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

func appendSigned(b []byte, x int64) []byte {
	for {
		c := byte(x) & 0x7F
		x >>= 7
		if x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendText(b []byte, s string) []byte {
	return append(appendUnsigned(b, uint64(len(s))), s...)
}
