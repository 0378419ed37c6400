package aggregate

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/graphd/graphd/internal/boundary"
)

// errDamaged says that bytes are not those of a cell of this function.
var errDamaged = errors.New("the kept aggregate is of another function or damaged")

// What of a cell is not zero, in the first byte of its encoding.
const (
	hasTime   = 1 << iota // i
	hasHigh               // hi
	hasFloats             // f and c
	hasFloat              // floats
	hasValue              // v
	hasExtra              // ext
)

// Append appends a group's cells as a checkpoint keeps them: equal cells are equal bytes.
func (c *Calls) Append(dst []byte, cells []Cell) []byte {
	for k := range cells {
		dst = cells[k].append(dst)
	}
	return dst
}

func (s *Cell) append(dst []byte) []byte {
	mask := byte(0)
	set := func(on bool, bit byte) {
		if on {
			mask |= bit
		}
	}
	set(s.i != 0, hasTime)
	set(s.hi != 0, hasHigh)
	set(s.f != 0 || s.c != 0, hasFloats)
	set(s.floats, hasFloat)
	set(!s.v.IsAbsent(), hasValue)
	set(s.ext != nil, hasExtra)
	dst = binary.AppendVarint(append(dst, mask), s.n)
	if mask&hasTime != 0 {
		dst = binary.AppendVarint(dst, s.i)
	}
	if mask&hasHigh != 0 {
		dst = binary.AppendVarint(dst, s.hi)
	}
	if mask&hasFloats != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.f))
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.c))
	}
	if mask&hasValue != 0 {
		dst = s.v.AppendBinary(dst)
	}
	if mask&hasExtra != 0 {
		body := s.ext.append(nil)
		dst = append(binary.AppendUvarint(dst, uint64(len(body))), body...)
	}
	return dst
}

// Decode reads what Append wrote into cells, one for each call, and returns what follows.
func (c *Calls) Decode(b []byte, cells []Cell) (rest []byte, err error) {
	for k := range c.calls {
		if b, err = cells[k].decode(b, c.calls[k].fn); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (s *Cell) decode(b []byte, fn function) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errDamaged
	}
	mask := b[0]
	b = b[1:]
	number := func() (n int64) {
		n, k := binary.Varint(b)
		if k <= 0 {
			err = errDamaged
			return 0
		}
		b = b[k:]
		return n
	}
	s.n = number()
	if mask&hasTime != 0 {
		s.i = number()
	}
	if mask&hasHigh != 0 {
		s.hi = number()
	}
	if err == nil && mask&hasFloats != 0 {
		if len(b) < 16 {
			return nil, errDamaged
		}
		s.f = math.Float64frombits(binary.LittleEndian.Uint64(b))
		s.c = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
		b = b[16:]
	}
	s.floats = mask&hasFloat != 0
	if err == nil && mask&hasValue != 0 {
		s.v, b, err = boundary.DecodeBinary(b)
	}
	if err == nil && mask&hasExtra != 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil, errDamaged
		}
		body := b[k : k+int(n)]
		b = b[k+int(n):]
		s.ext, err = decodeExtra(fn, body)
	}
	if s.n < 0 {
		return nil, errDamaged
	}
	if err == nil && s.n > 0 && s.ext == nil && (fn == fnMinBy || fn == fnMaxBy || fn == fnQuantile ||
		fn == fnDistinct || fn == fnCountDistinct || fn == fnTop) {
		err = errDamaged // what adds to it rests on it
	}
	return b, err
}

func decodeExtra(fn function, body []byte) (extra, error) {
	switch fn {
	case fnMinBy, fnMaxBy:
		v, rest, err := boundary.DecodeBinary(body)
		if err == nil && (len(rest) > 0 || rank(v.Kind()) < 0) {
			err = errDamaged
		}
		return mark{v}, err
	case fnQuantile:
		return decodeDigest(body)
	case fnDistinct:
		return decodeDistinct(body)
	case fnCountDistinct:
		return decodeDifferent(body)
	case fnCollect:
		return decodeList(body)
	case fnTop:
		return decodeTop(body)
	}
	return nil, errDamaged
}
