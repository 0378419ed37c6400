package aggregate

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
	"github.com/axiomhq/hyperloglog"

	"github.com/graphd/graphd/internal/boundary"
)

// Accuracy is how far a quantile may be off, in proportion to its value.
const Accuracy = 0.01

// maxBins bounds a digest: 2,048 bins of 1 % span more than seventeen orders of magnitude.
// Beyond, the values nearest to zero are told apart no more.
const maxBins = 2048

// digest is what quantile keeps: a DDSketch, and the extremes exactly.
type digest struct {
	sketch    *ddsketch.DDSketch
	low, high float64
}

func newMapping() mapping.IndexMapping {
	m, err := mapping.NewLogarithmicMapping(Accuracy)
	if err != nil {
		panic(err) // the accuracy is a constant
	}
	return m
}

func newStore() store.Store { return store.NewCollapsingLowestDenseStore(maxBins) }

func (s *Cell) digest() *digest {
	if s.ext == nil {
		s.ext = &digest{sketch: ddsketch.NewDDSketch(newMapping(), newStore(), newStore()), low: math.Inf(1),
			high: math.Inf(-1)}
	}
	return s.ext.(*digest)
}

func (d *digest) add(v boundary.Value) {
	x, _ := v.AsFloat()
	d.low, d.high = min(d.low, x), max(d.high, x)
	// What is beyond the sketch's range, some 1e308, counts as its end.
	end := d.sketch.MaxIndexableValue()
	_ = d.sketch.Add(min(max(x, -end), end))
}

// quantile is the value of the nearest rank: the least value that at least q of all values do
// not exceed. The sketch's own answer takes the lower neighbour of a rank between two
// positive values and the upper one of negative values.
func (d *digest) quantile(q float64) float64 {
	negative, positive := d.sketch.GetNegativeValueStore(), d.sketch.GetPositiveValueStore()
	below := negative.TotalCount()
	n := d.sketch.GetCount()
	// What q*n is too large by comes from the rounding of q: 0.07*100 is more than 7.
	rank := min(max(math.Ceil(q*n*(1-1e-12)), 1), n) - 1
	x := 0.0
	switch {
	case rank == 0:
		return d.low
	case rank == n-1:
		return d.high
	case rank < below:
		x = -d.sketch.Value(negative.KeyAtRank(below - 1 - rank))
	case rank >= n-positive.TotalCount():
		x = d.sketch.Value(positive.KeyAtRank(rank - (n - positive.TotalCount())))
	}
	return min(max(x, d.low), d.high)
}

func (d *digest) clone() extra {
	return &digest{sketch: d.sketch.Copy(), low: d.low, high: d.high}
}

// sketchBytes is about what a sketch takes without its bins.
const sketchBytes = 320

// weight: a store has its bins in one piece, and room for some more.
func (d *digest) weight(bool) int64 {
	n := int64(sketchBytes)
	for _, half := range []store.Store{d.sketch.GetPositiveValueStore(), d.sketch.GetNegativeValueStore()} {
		low, err := half.MinIndex()
		if err != nil { // it is empty
			continue
		}
		if high, err := half.MaxIndex(); err == nil {
			n += boundary.OnHeap((high - low + binsApart) / binsApart * binsApart * 8)
		}
	}
	return n
}

// binsApart is in what steps a store's bins grow.
const binsApart = 64

// append writes the bins in their order. The library's own encoding would do, but reading
// it back from damaged bytes need not end.
func (d *digest) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(d.low))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(d.high))
	dst = binary.AppendUvarint(dst, uint64(d.sketch.GetZeroCount()))
	for _, half := range []store.Store{d.sketch.GetPositiveValueStore(), d.sketch.GetNegativeValueStore()} {
		bins := []byte(nil)
		n := uint64(0)
		half.ForEach(func(index int, count float64) (stop bool) {
			bins = binary.AppendVarint(bins, int64(index))
			bins = binary.AppendUvarint(bins, uint64(count))
			n++
			return false
		})
		dst = append(binary.AppendUvarint(dst, n), bins...)
	}
	return dst
}

// maxIndex is beyond the bin of any float at this accuracy.
const maxIndex = 40_000

func decodeDigest(b []byte) (*digest, error) {
	if len(b) < 16 {
		return nil, errDamaged
	}
	d := &digest{
		low:  math.Float64frombits(binary.LittleEndian.Uint64(b)),
		high: math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
	}
	ok := true
	cut := func() uint64 {
		n, k := binary.Uvarint(b)
		if ok = ok && k > 0; !ok {
			return 0
		}
		b = b[k:]
		return n
	}
	b = b[16:]
	zeros, halves := cut(), [2]store.Store{newStore(), newStore()}
	for _, half := range halves {
		n := cut()
		if n > maxBins {
			return nil, errDamaged
		}
		for range n {
			index, k := binary.Varint(b)
			if k <= 0 || index > maxIndex || index < -maxIndex {
				return nil, errDamaged
			}
			b = b[k:]
			half.AddWithCount(int(index), float64(cut()))
		}
	}
	if !ok || len(b) > 0 {
		return nil, errDamaged
	}
	d.sketch = ddsketch.NewDDSketch(newMapping(), halves[0], halves[1])
	if zeros > 0 {
		return d, d.sketch.AddWithCount(0, float64(zeros))
	}
	return d, nil
}

const (
	// fewExact is up to how many distinct values are counted exactly where nothing is said.
	fewExact = 512
	// MaxExact bounds what can be asked for: 80 kB for each group.
	MaxExact = 10_000
)

// distinct is what distinct keeps: the hashes of the values, sorted, while they are few,
// and then a HyperLogLog of 16 KiB, whose error is about 0.8 %.
type distinct struct {
	hashes []uint64
	sketch *hyperloglog.Sketch
}

func (s *Cell) distinct() *distinct {
	if s.ext == nil {
		s.ext = &distinct{}
	}
	return s.ext.(*distinct)
}

func (d *distinct) add(v boundary.Value, exact int) { d.addHash(hash(v), exact) }

func (d *distinct) addHash(h uint64, exact int) {
	if d.sketch != nil {
		d.sketch.InsertHash(h)
		return
	}
	i, found := slices.BinarySearch(d.hashes, h)
	if found {
		return
	}
	if d.hashes = slices.Insert(d.hashes, i, h); len(d.hashes) <= exact {
		return
	}
	d.sketch = hyperloglog.NewNoSparse()
	for _, h := range d.hashes {
		d.sketch.InsertHash(h)
	}
	d.hashes = nil
}

func (d *distinct) estimate() int64 {
	if d.sketch != nil {
		return int64(d.sketch.Estimate())
	}
	return int64(len(d.hashes))
}

// hash is the same on every machine, since it is kept, and the same for equal values.
func hash(v boundary.Value) uint64 {
	var room [64]byte
	text := appendText(room[:0], v)
	// FNV-1a, and then a finalizer, since the sketch goes by the highest bits.
	h := uint64(14695981039346656037)
	for _, b := range text {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// appendText appends what is the same for equal values, and for no others.
func appendText(dst []byte, v boundary.Value) []byte {
	if s, ok := v.AsString(); ok {
		return append(append(dst, '"'), s...)
	}
	return append(dst, boundary.KeyOf(v)...)
}

func (d *distinct) clone() extra {
	if d.sketch != nil {
		return &distinct{sketch: d.sketch.Clone()}
	}
	return &distinct{hashes: slices.Clone(d.hashes)}
}

func (d *distinct) weight(bool) int64 {
	if d.sketch != nil {
		return 1<<14 + 64
	}
	return 64 + boundary.OnHeap(cap(d.hashes)*8)
}

func (d *distinct) append(dst []byte) []byte {
	if d.sketch != nil {
		dst, _ = d.sketch.AppendBinary(append(dst, 1)) // it fails for sparse sketches alone
		return dst
	}
	dst = append(dst, 0)
	for _, h := range d.hashes {
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	return dst
}

func decodeDistinct(b []byte) (*distinct, error) {
	if len(b) == 0 {
		return nil, errDamaged
	}
	if b[0] == 1 {
		d := &distinct{sketch: hyperloglog.NewNoSparse()}
		return d, d.sketch.UnmarshalBinary(b[1:])
	}
	if (len(b)-1)%8 != 0 || len(b)-1 > 8*MaxExact {
		return nil, errDamaged
	}
	d := &distinct{}
	for b = b[1:]; len(b) > 0; b = b[8:] {
		d.hashes = append(d.hashes, binary.LittleEndian.Uint64(b))
	}
	return d, nil
}

// list is what collect keeps: the earliest values, in the order of their times.
type list struct {
	items []boundary.Value
	times []int64
}

func (s *Cell) collect(v boundary.Value, at int64, limit int) {
	s.n++
	l, _ := s.ext.(*list)
	if l == nil {
		l = &list{}
		s.ext = l
	}
	i, _ := slices.BinarySearch(l.times, at+1) // after those of the same time
	if i >= limit {
		return
	}
	if len(l.items) == limit {
		l.items, l.times = l.items[:limit-1], l.times[:limit-1]
	}
	l.items, l.times = slices.Insert(l.items, i, v.Compact()), slices.Insert(l.times, i, at)
}

func (s *Cell) collected() boundary.Value {
	l, _ := s.ext.(*list)
	if l == nil {
		return boundary.List(nil)
	}
	return boundary.List(slices.Clone(l.items))
}

func (l *list) clone() extra {
	return &list{items: slices.Clone(l.items), times: slices.Clone(l.times)}
}

func (l *list) weight(own bool) int64 {
	return 64 + boundary.OnHeap(cap(l.items)*24) + boundary.OnHeap(cap(l.times)*8) + heldBy(own, l.items...)
}

func (l *list) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(l.items)))
	for i, v := range l.items {
		dst = binary.AppendVarint(dst, l.times[i])
		dst = v.AppendBinary(dst)
	}
	return dst
}

func decodeList(b []byte) (*list, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > MaxCollected {
		return nil, errDamaged
	}
	b = b[k:]
	l := &list{}
	for range n {
		at, k := binary.Varint(b)
		if k <= 0 {
			return nil, errDamaged
		}
		v, rest, err := boundary.DecodeBinary(b[k:])
		if err != nil {
			return nil, err
		}
		l.items, l.times, b = append(l.items, v), append(l.times, at), rest
	}
	if len(b) > 0 {
		return nil, errDamaged
	}
	return l, nil
}
