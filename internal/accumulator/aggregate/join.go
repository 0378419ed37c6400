package aggregate

import (
	"math"
	"math/bits"
	"slices"

	"github.com/graphd/graphd/internal/expression/rules"
)

// Join takes what later cells have taken in into a group's cells. Every event of theirs happened after all of the
// group's own. The later cells stay as they are.
func (c *Calls) Join(cells, later []Cell) {
	for k := range c.calls {
		if s, o := &cells[k], &later[k]; o.n > 0 {
			s.join(&c.calls[k], o)
		}
	}
}

func (s *Cell) join(f *call, o *Cell) {
	if s.n == 0 {
		if *s = *o; o.ext != nil {
			s.ext = o.ext.clone()
		}
		return
	}
	switch f.fn {
	case fnSum, fnMean:
		s.joinSum(o)
	case fnMin, fnMax:
		if less := order(o.v, s.v) < 0; less == (f.fn == fnMin) && order(o.v, s.v) != 0 {
			s.v = o.v
		}
	case fnMinBy, fnMaxBy:
		c := order(o.ext.(mark).by, s.ext.(mark).by)
		if f.fn == fnMinBy && c < 0 || f.fn == fnMaxBy && c > 0 {
			s.v, s.i, s.ext = o.v, o.i, o.ext
		}
	case fnLast:
		s.v, s.i = o.v, o.i
	case fnStddev:
		s.joinDistances(o)
	case fnQuantile:
		s.digest().join(o.digest())
	case fnDistinct:
		s.distinct().join(o.distinct(), f.limit)
	case fnCountDistinct:
		s.different().join(o.different(), f.limit)
	case fnCollect:
		s.joinList(o.ext.(*list), f.limit)
	case fnTop:
		t := o.ext.(*top)
		for i := range t.items {
			into := s.ext.(*top)
			if at := into.place(t.marks[i], t.times[i]); at < f.limit {
				into.insert(at, t.items[i], t.marks[i], t.times[i], f.limit)
			}
		}
	}
	s.n += o.n
}

func (s *Cell) joinSum(o *Cell) {
	lo, carry := bits.Add64(uint64(s.i), uint64(o.i), 0)
	hi, _ := bits.Add64(uint64(s.hi), uint64(o.hi), carry)
	s.i, s.hi = int64(lo), int64(hi)
	if o.floats {
		s.sumFloat(o.f)
		s.c += o.c
	}
}

// joinDistances is Chan's way to put two variances together; both means are distances from the first value of each.
func (s *Cell) joinDistances(o *Cell) {
	a, b := float64(s.n), float64(o.n)
	apart := o.f - s.f
	if !o.v.IsAbsent() && !s.v.IsAbsent() {
		apart += rules.Distance(o.v, s.v)
	}
	s.f += apart * b / (a + b)
	s.c += o.c + apart*apart*a*b/(a+b)
}

func (d *digest) join(o *digest) {
	d.low, d.high = math.Min(d.low, o.low), math.Max(d.high, o.high)
	_ = d.sketch.MergeWith(o.sketch) // it fails for sketches of another mapping alone
}

func (d *distinct) join(o *distinct, exact int) {
	switch {
	case o.sketch == nil:
		for _, h := range o.hashes {
			d.addHash(h, exact)
		}
	case d.sketch == nil:
		few := d.hashes
		d.hashes, d.sketch = nil, o.sketch.Clone()
		for _, h := range few {
			d.sketch.InsertHash(h)
		}
	default:
		_ = d.sketch.Merge(o.sketch) // it fails for sketches of another precision alone
	}
}

func (s *Cell) joinList(o *list, limit int) {
	l := s.ext.(*list)
	n := min(limit-len(l.items), len(o.items))
	l.items, l.times = slices.Concat(l.items, o.items[:n]), slices.Concat(l.times, o.times[:n])
}
