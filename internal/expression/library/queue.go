package library

import (
	"encoding/binary"
	"math"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
)

// sample is one remembered value, and when it was: a time in nanoseconds, or the number of
// its step where the newest so many are looked at.
type sample struct {
	v  value
	at int64
}

// queue remembers samples, oldest first. An evaluation adds at most one. Taking it back is
// cheap because what has been kept stays where it is until it is concluded: samples are added
// behind the end and leave by moving the head, so that the kept queue is a part of the same
// array. The one slot that an added sample may have overwritten is put back from over.
type queue struct {
	now, kept window
	over      sample
	overAt    int // the place of over, -1 for none
}

// window is a part of an array of samples, with what is known of it.
type window struct {
	items []sample
	head  int
	steps int64 // samples ever added
	mode  mode
	sums  sums
	// newest is the latest time that was seen, also by an evaluation that left nothing here.
	newest int64
	timed  bool // there is one
}

// mode is what the times of a window's samples are; the first decides it.
type mode uint8

const (
	modeNone mode = iota
	modeCount
	modeTime
)

func newQueue() eval.Memory { return &queue{overAt: -1} }

func queueOf(m eval.Memory) *queue { return m.(*queue) }

func (q *queue) len() int         { return len(q.now.items) - q.now.head }
func (q *queue) at(i int) *sample { return &q.now.items[q.now.head+i] }

func (q *queue) push(s sample) {
	n := &q.now
	if i := len(n.items); i < len(q.kept.items) {
		q.over, q.overAt = q.kept.items[i], i
	}
	n.items = append(n.items, s)
	n.steps++
}

// dropLast forgets the newest.
func (q *queue) dropLast() { q.now.items = q.now.items[:len(q.now.items)-1] }

// drop forgets the oldest.
func (q *queue) drop() { q.now.head++ }

// dropTo forgets the oldest down to n.
func (q *queue) dropTo(n int) {
	for q.len() > n {
		q.drop()
	}
}

// clock is the time of an evaluation: the one that is given, else the epoch's. It never goes
// back: an older one counts as the newest that was seen.
func (q *queue) clock(e *env, given []value) int64 {
	now := e.Now
	if len(given) > 0 {
		now, _ = given[0].AsTime()
	}
	n := now.UnixNano()
	if q.now.timed {
		n = max(n, q.now.newest)
	}
	q.now.newest, q.now.timed = n, true
	return n
}

// extended is set in the first byte of a memory that says, behind the sums, how far they are
// to be trusted and what time was seen last.
const extended = 0x80

// Conclude implements eval.Memory.
func (q *queue) Conclude(keep bool) {
	n := &q.now
	switch {
	case keep:
		clear(n.items[:n.head]) // what has left is not held on to
		if n.head > 16 && n.head*2 > len(n.items) {
			rest := copy(n.items, n.items[n.head:])
			clear(n.items[rest:])
			n.items, n.head = n.items[:rest], 0
		}
		q.kept = q.now
	default:
		if q.overAt >= 0 {
			q.kept.items[q.overAt] = q.over
		}
		q.now = q.kept
	}
	q.over, q.overAt = sample{}, -1
}

// AppendBinary implements eval.Memory.
func (q *queue) AppendBinary(dst []byte) []byte {
	k := &q.kept
	dst = append(dst, byte(k.mode)|extended)
	dst = binary.AppendVarint(dst, k.steps)
	dst = k.sums.append(dst)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(k.sums.weight))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(k.sums.moved))
	timed := byte(0)
	if k.timed {
		timed = 1
	}
	dst = binary.AppendVarint(append(dst, timed), k.newest)
	for _, s := range k.items[k.head:] {
		dst = s.v.AppendBinary(binary.AppendVarint(dst, s.at))
	}
	return dst
}

// Restore implements eval.Memory.
func (q *queue) Restore(data []byte) error {
	if len(data) == 0 || mode(data[0]&^extended) > modeTime {
		return errMemory
	}
	w := window{mode: mode(data[0] &^ extended)}
	more := data[0]&extended != 0
	steps, n := binary.Varint(data[1:])
	if n <= 0 {
		return errMemory
	}
	w.steps = steps
	data, err := w.sums.read(data[1+n:])
	if more && err == nil {
		data, err = w.readMore(data)
	}
	for err == nil && len(data) > 0 {
		at, n := binary.Varint(data)
		if n <= 0 || len(w.items) > maxRemembered {
			return errMemory
		}
		var v value
		if v, data, err = boundary.DecodeBinary(data[n:]); err == nil {
			w.items = append(w.items, sample{v, at})
		}
	}
	if err != nil {
		return err
	}
	if !more { // of a release that did not say
		w.sums.moved = math.MaxFloat64 // so that they are made anew
		if n := len(w.items); n > 0 {
			w.newest, w.timed = w.items[n-1].at, true
		}
	}
	q.now, q.kept = w, w
	return nil
}

// readMore reads what extended announces.
func (w *window) readMore(data []byte) ([]byte, error) {
	if len(data) < 18 {
		return nil, errMemory
	}
	w.sums.weight = math.Float64frombits(binary.BigEndian.Uint64(data))
	w.sums.moved = math.Float64frombits(binary.BigEndian.Uint64(data[8:]))
	w.timed = data[16] == 1
	at, n := binary.Varint(data[17:])
	if n <= 0 || data[16] > 1 {
		return nil, errMemory
	}
	w.newest = at
	return data[17+n:], nil
}

// Size implements eval.Memory.
func (q *queue) Size() int {
	n := 256
	for _, s := range q.kept.items[q.kept.head:] {
		n += 8 + s.v.Size()
	}
	return n
}

// sums are what a window's numbers add up to: the ints exactly, the floats with the error of
// rounding carried along.
type sums struct {
	high, low uint64 // of the ints, two's complement
	floats    int64  // how many of the numbers are floats
	sum, lost float64
	// weight is the sum of the floats' sizes, moved that of all that were put in and taken
	// out since the sums were made. What rounding has cost is a small part of moved.
	weight, moved float64
}

// worn says that so much has gone through that rounding may show in what is left: after a
// value of 1e100 has left, nothing of the others' sum may be there any more.
func (s *sums) worn() bool { return s.moved*0x1p-48 > s.weight && s.moved > 0 }

func (s *sums) add(v value, sign int) {
	if i, ok := v.AsInt(); ok {
		s.addInt(i, sign)
		return
	}
	f, _ := v.AsFloat()
	s.floats += int64(sign)
	f *= float64(sign)
	s.weight += math.Abs(f) * float64(sign)
	s.moved += math.Abs(f)
	t := s.sum + f
	if math.Abs(s.sum) >= math.Abs(f) {
		s.lost += (s.sum - t) + f
	} else {
		s.lost += (f - t) + s.sum
	}
	s.sum = t
}

func (s *sums) addInt(i int64, sign int) {
	low, high := uint64(i), uint64(i>>63)
	if sign < 0 {
		low, high = ^low, ^high
		if low++; low == 0 {
			high++
		}
	}
	s.low += low
	if s.low < low {
		s.high++
	}
	s.high += high
}

// ints is the sum of the ints, if it fits.
func (s *sums) ints() (int64, bool) {
	i := int64(s.low)
	return i, s.high == uint64(i>>63)
}

// total is everything together.
func (s *sums) total() float64 {
	ints := float64(int64(s.high))*(1<<64) + float64(s.low)
	if i, ok := s.ints(); ok {
		ints = float64(i) // exact where the two halves would be rounded
	}
	return ints + (s.sum + s.lost)
}

func (s *sums) append(dst []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, s.high), s.low)
	dst = binary.AppendVarint(dst, s.floats)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(s.sum))
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(s.lost))
}

func (s *sums) read(data []byte) ([]byte, error) {
	for _, to := range []*uint64{&s.high, &s.low} {
		n, k := binary.Uvarint(data)
		if k <= 0 {
			return nil, errMemory
		}
		*to, data = n, data[k:]
	}
	n, k := binary.Varint(data)
	if k <= 0 || len(data) < k+16 {
		return nil, errMemory
	}
	s.floats, data = n, data[k:]
	s.sum = math.Float64frombits(binary.BigEndian.Uint64(data))
	s.lost = math.Float64frombits(binary.BigEndian.Uint64(data[8:]))
	return data[16:], nil
}
