package aggregate

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/expression/rules"
)

// Cell is what one call has taken in. The zero Cell is empty. Which fields it uses depends
// on the function.
type Cell struct {
	n int64 // values taken in; of count, events
	// i is the low half of the sum of the ints, or the time of the event that v is of;
	// hi is the high half.
	i, hi int64
	// f is the sum of the floats and c what rounding took from it; or the mean and the sum
	// of the squared distances from it.
	f, c   float64
	floats bool           // there was a float in the sum
	v      boundary.Value // the least, greatest, first or last so far; of stddev, the first
	ext    extra          // what does not fit; nil for most functions
}

// extra is the part of a cell that is changed in place.
type extra interface {
	clone() extra
	append(dst []byte) []byte
	// weight is about how many bytes it takes; own says with the values that it keeps, which others may have, too.
	weight(own bool) int64
}

// mark is the value that min_by and max_by go by. It is never changed in place.
type mark struct{ by boundary.Value }

func (m mark) clone() extra             { return m }
func (m mark) append(dst []byte) []byte { return m.by.AppendBinary(dst) }
func (m mark) weight(own bool) int64    { return int64(unsafe.Sizeof(m)) + heldBy(own, m.by) }

// Check says what is wrong with an event's arguments, "" when nothing is. What has been
// checked can be added.
func (c *Calls) Check(args []boundary.Value) string {
	for k := range c.calls {
		f := &c.calls[k]
		if f.fn == fnCount {
			continue
		}
		if _, float := args[f.x].FloatBits(); float && f.fn != fnMinBy && f.fn != fnMaxBy && f.fn != fnTop {
			continue // every other function takes one
		}
		switch f.fn {
		case fnSum, fnMean, fnStddev, fnQuantile:
			switch v := args[f.x]; v.Kind() {
			case boundary.KindInt, boundary.KindFloat, boundary.KindNull:
			default:
				return fmt.Sprintf("%s needs numbers, got %s", c.names[k], v.Kind())
			}
		case fnMin, fnMax:
			if kind := args[f.x].Kind(); rank(kind) < 0 && kind != boundary.KindNull {
				return fmt.Sprintf("%s needs %s, got %s", c.names[k], needs(ordered), kind)
			}
		case fnMinBy, fnMaxBy, fnTop:
			if kind := args[f.by].Kind(); rank(kind) < 0 && kind != boundary.KindNull {
				return fmt.Sprintf("%s needs %s to go by, got %s", c.names[k], needs(ordered), kind)
			}
		}
	}
	return ""
}

// Add takes an event of the time at, in nanoseconds, with its arguments into a group's cells.
func (c *Calls) Add(cells []Cell, at int64, args []boundary.Value) {
	for k := range c.calls {
		f, s := &c.calls[k], &cells[k]
		if f.fn == fnCount {
			s.n++
			continue
		}
		v := &args[f.x]
		if x, float := v.FloatBits(); !float || !s.addFloat(f.fn, math.Float64frombits(x), v) {
			s.addAny(f, at, args)
		}
	}
}

// addAny takes an event into a cell, whatever the function and its arguments.
func (s *Cell) addAny(f *call, at int64, args []boundary.Value) {
	v := args[f.x]
	switch f.fn {
	case fnFirst:
		if s.n == 0 || at < s.i {
			s.hold(v, at)
		}
		s.n++
	case fnLast:
		if s.n == 0 || at >= s.i {
			s.hold(v, at)
		}
		s.n++
	case fnCollect:
		s.collect(v, at, f.limit)
	case fnMinBy, fnMaxBy:
		s.addBy(f.fn, v, args[f.by], at)
	case fnTop:
		s.addTop(v, args[f.by], at, f.limit)
	default:
		if !v.IsNull() {
			s.add(f, v)
		}
	}
}

// addFloat is add for what most events bring to most functions: x, which is *v. It is false, and has done nothing, for
// every other.
func (s *Cell) addFloat(fn function, x float64, v *boundary.Value) bool {
	switch fn {
	case fnSum, fnMean:
		s.sumFloat(x)
	case fnMin, fnMax:
		bits, float := s.v.FloatBits()
		if !float {
			return false
		}
		if y := math.Float64frombits(bits); fn == fnMin && x < y || fn == fnMax && x > y {
			s.v = *v
		}
	default:
		return false
	}
	s.n++
	return true
}

// add takes in a value that is not null and whose time does not matter.
func (s *Cell) add(f *call, v boundary.Value) {
	switch f.fn {
	case fnSum, fnMean:
		s.sum(v)
	case fnMin:
		if s.n == 0 || order(v, s.v) < 0 {
			s.v = v.Compact()
		}
	case fnMax:
		if s.n == 0 || order(v, s.v) > 0 {
			s.v = v.Compact()
		}
	case fnStddev: // Welford's way, which does not lose what two large sums have in common,
		// of the distances from the first value: large ones that lie close together keep what
		// they differ by. Cells of older releases have no first value, and go from 0.
		if s.n == 0 {
			s.v = v
		}
		x := rules.Distance(v, s.v)
		d := x - s.f
		s.f += d / float64(s.n+1)
		s.c += d * (x - s.f)
	case fnQuantile:
		s.digest().add(v)
	case fnDistinct:
		s.distinct().add(v, f.limit)
	case fnCountDistinct:
		s.different().add(fingerprintOf(v), f.limit)
	}
	s.n++
}

// hold keeps v, of the time at, in memory of its own.
func (s *Cell) hold(v boundary.Value, at int64) { s.v, s.i = v.Compact(), at }

func (s *Cell) addBy(fn function, v, by boundary.Value, at int64) {
	if by.IsNull() {
		return
	}
	better := s.n == 0
	if !better {
		c := order(by, s.ext.(mark).by)
		if fn == fnMinBy {
			c = -c
		}
		better = c > 0 || c == 0 && at < s.i
	}
	if better {
		s.hold(v, at)
		s.ext = mark{by.Compact()}
	}
	s.n++
}

// sum adds exactly for ints, and with Neumaier's compensation for floats.
func (s *Cell) sum(v boundary.Value) {
	if i, ok := v.AsInt(); ok {
		lo, carry := bits.Add64(uint64(s.i), uint64(i), 0)
		hi, _ := bits.Add64(uint64(s.hi), uint64(i>>63), carry)
		s.i, s.hi = int64(lo), int64(hi)
		return
	}
	x, _ := v.AsFloat()
	s.sumFloat(x)
}

func (s *Cell) sumFloat(x float64) {
	t := s.f + x
	if math.Abs(s.f) >= math.Abs(x) {
		s.c += (s.f - t) + x
	} else {
		s.c += (x - t) + s.f
	}
	s.f, s.floats = t, true
}

// ints is the sum of the ints as a float.
func (s *Cell) ints() float64 {
	if s.hi == s.i>>63 {
		return float64(s.i)
	}
	return float64(s.hi)*(1<<64) + float64(uint64(s.i))
}

// rank orders kinds among each other, for values of mixed kinds; negative for what has no order.
func rank(k boundary.Kind) int {
	switch k {
	case boundary.KindInt, boundary.KindFloat:
		return 0
	case boundary.KindDuration:
		return 1
	case boundary.KindTime:
		return 2
	case boundary.KindString:
		return 3
	}
	return -1
}

// order compares two values that have an order.
func order(a, b boundary.Value) int {
	ak, bk := a.Kind(), b.Kind()
	if ak == bk {
		switch ak {
		case boundary.KindFloat:
			x, _ := a.AsFloat()
			y, _ := b.AsFloat()
			return cmp.Compare(x, y)
		case boundary.KindInt:
			x, _ := a.AsInt()
			y, _ := b.AsInt()
			return cmp.Compare(x, y)
		}
	}
	if c, fault := rules.Order("", a, b); fault == nil {
		return c
	}
	return cmp.Compare(rank(ak), rank(bk))
}

// Clone copies a group's cells: neither copy sees what is added to the other.
func Clone(cells []Cell) []Cell {
	out := make([]Cell, len(cells))
	copy(out, cells)
	for i := range out {
		if out[i].ext != nil {
			out[i].ext = out[i].ext.clone()
		}
	}
	return out
}

// Weight is about how many bytes a group's cells take.
func Weight(cells []Cell) int64 { return weigh(cells, true) }

// JoinedWeight is that of cells that others were joined to, which are there, too, and have the values.
func JoinedWeight(cells []Cell) int64 { return weigh(cells, false) }

func weigh(cells []Cell, own bool) int64 {
	n := boundary.OnHeap(len(cells) * int(unsafe.Sizeof(Cell{})))
	for i := range cells {
		if n += heldBy(own, cells[i].v); cells[i].ext != nil {
			n += cells[i].ext.weight(own)
		}
	}
	return n
}

// heldBy is about what values take beside themselves, where they are own.
func heldBy(own bool, values ...boundary.Value) (n int64) {
	if own {
		for _, v := range values {
			n += v.Held(nil, nil)
		}
	}
	return n
}

// value is what the call k has come to.
func (c *Calls) value(k int, s *Cell) (boundary.Value, error) {
	f := &c.calls[k]
	switch f.fn {
	case fnCount:
		return boundary.Int(s.n), nil
	case fnDistinct:
		if s.n == 0 {
			return boundary.Int(0), nil
		}
		return boundary.Int(s.distinct().estimate()), nil
	case fnCountDistinct:
		if s.n == 0 {
			return boundary.Int(0), nil
		}
		return s.different().counted(f.limit)
	case fnCollect:
		return s.collected(), nil
	case fnTop:
		return s.topmost(), nil
	case fnSum:
		return s.total(c.names[k])
	}
	if s.n == 0 {
		return boundary.Null(), nil
	}
	switch f.fn {
	case fnMean:
		return finite(c.names[k], (s.ints()+s.f+s.c)/float64(s.n))
	case fnStddev:
		if s.n < 2 {
			return boundary.Null(), nil
		}
		return finite(c.names[k], math.Sqrt(s.c/float64(s.n-1)))
	case fnQuantile:
		return finite(c.names[k], s.digest().quantile(f.q))
	}
	return s.v, nil
}

// total is the sum: an int when all were.
func (s *Cell) total(name string) (boundary.Value, error) {
	if s.floats {
		return finite(name, s.ints()+s.f+s.c)
	}
	if s.hi != s.i>>63 {
		return boundary.Value{}, &expression.EvalError{
			Code: expression.CodeNotFinite, Text: name + ": the sum does not fit an int",
		}
	}
	return boundary.Int(s.i), nil
}

func finite(name string, f float64) (boundary.Value, error) {
	if f-f != 0 {
		return boundary.Value{}, &expression.EvalError{
			Code: expression.CodeNotFinite, Text: name + ": the result is not a finite number",
		}
	}
	return boundary.Float(f), nil
}

// Eval computes a field of the aggregate from a group's cells. env's values after those of
// the calls are the outer scope's; scratch is the caller's, and used again.
func (c *Calls) Eval(r *Result, cells []Cell, env *expression.Env, outer []boundary.Value) (boundary.Value, error) {
	env.Values = env.Values[:0]
	for _, k := range r.uses {
		v, err := c.value(k, &cells[k])
		if err != nil {
			return boundary.Value{}, err
		}
		env.Values = append(env.Values, v)
	}
	env.Values = append(env.Values, outer...)
	return r.Program.Eval(env)
}
