package eval

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// The operators in full, on any two values. The closures in arith.go and
// compare.go handle the frequent cases themselves and come here for the rest,
// so that what an operator means stands in one place.

// Op is an arithmetic operator.
type Op uint8

// The arithmetic operators.
const (
	Add Op = iota
	Sub
	Mul
	Div
	Mod
	Pow
)

// String is the operator's sign.
func (o Op) String() string { return [...]string{"+", "-", "*", "/", "%", "**"}[o] }

// Arith is a o b.
func (e *Env) Arith(at Site, o Op, a, b boundary.Value) boundary.Value {
	i, aInt := a.AsInt()
	j, bInt := b.AsInt()
	if aInt && bInt && o != Div && o != Pow {
		return e.arithInt(at, o, i, j)
	}
	f, aNum := a.AsFloat()
	g, bNum := b.AsFloat()
	switch {
	case aNum && bNum && o != Mod:
		return e.arithFloat(at, o, f, g)
	case o == Add && a.Kind() == boundary.KindString && b.Kind() == boundary.KindString:
		return e.concat(at, a, b)
	case isTemporal(a) || isTemporal(b):
		if v, ok := e.arithTime(at, o, a, b); ok {
			return v
		}
	}
	return e.mismatch(at, o.String(), a, b)
}

func (e *Env) arithInt(at Site, o Op, a, b int64) boundary.Value {
	var r int64
	ok := true
	switch o {
	case Add:
		r, ok = addInt(a, b)
	case Sub:
		r, ok = subInt(a, b)
	case Mul:
		r, ok = mulInt(a, b)
	case Mod:
		if ok = b != 0; ok && b != -1 {
			r = a % b
		}
	}
	if !ok {
		return e.notFinite(at, o.String(), boundary.Int(a), boundary.Int(b))
	}
	return boundary.Int(r)
}

func (e *Env) arithFloat(at Site, o Op, a, b float64) boundary.Value {
	var r float64
	switch o {
	case Add:
		r = a + b
	case Sub:
		r = a - b
	case Mul:
		r = a * b
	case Div:
		r = a / b
	case Pow:
		r = math.Pow(a, b)
	}
	if !Finite(r) {
		return e.notFinite(at, o.String(), boundary.Float(a), boundary.Float(b))
	}
	return boundary.Float(r)
}

// arithTime is arithmetic with times and durations; ok is false when there is
// no such operation.
func (e *Env) arithTime(at Site, o Op, a, b boundary.Value) (v boundary.Value, ok bool) {
	t, aTime := nanos(a, boundary.KindTime)
	u, bTime := nanos(b, boundary.KindTime)
	d, aSpan := nanos(a, boundary.KindDuration)
	s, bSpan := nanos(b, boundary.KindDuration)
	var r int64
	fits := true
	kind := boundary.KindDuration
	switch {
	case o == Sub && aTime && bTime:
		r, fits = subInt(t, u)
	case o == Add && aTime && bSpan:
		r, fits = addInt(t, s)
		kind = boundary.KindTime
	case o == Add && aSpan && bTime:
		r, fits = addInt(d, u)
		kind = boundary.KindTime
	case o == Sub && aTime && bSpan:
		r, fits = subInt(t, s)
		kind = boundary.KindTime
	case o == Add && aSpan && bSpan:
		r, fits = addInt(d, s)
	case o == Sub && aSpan && bSpan:
		r, fits = subInt(d, s)
	case o == Mul && aSpan && isNumber(b):
		r, fits = scale(d, b)
	case o == Mul && isNumber(a) && bSpan:
		r, fits = scale(s, a)
	default:
		return boundary.Value{}, false
	}
	if !fits {
		return e.notFinite(at, o.String(), a, b), true
	}
	if kind == boundary.KindTime {
		return boundary.Time(time.Unix(0, r)), true
	}
	return boundary.Duration(time.Duration(r)), true
}

// scale is a duration times a number, rounded towards zero.
func scale(d int64, by boundary.Value) (int64, bool) {
	if i, ok := by.AsInt(); ok {
		return mulInt(d, i)
	}
	f, _ := by.AsFloat()
	return Truncate(float64(d) * f)
}

// negate is -v.
func (e *Env) negate(at Site, v boundary.Value) boundary.Value {
	switch v.Kind() {
	case boundary.KindInt:
		return e.Arith(at, Sub, boundary.Int(0), v)
	case boundary.KindFloat:
		f, _ := v.AsFloat()
		return boundary.Float(-f)
	case boundary.KindAbsent:
		return v
	}
	hint := ""
	if v.Kind() == boundary.KindDuration {
		hint = "; write d * -1" // which the checker knows too
	}
	return e.Fail(at, CodeTypeError, "cannot compute -%s%s", v.Kind(), hint)
}

// concat joins two strings.
func (e *Env) concat(at Site, a, b boundary.Value) boundary.Value {
	s, _ := a.AsString()
	t, _ := b.AsString()
	if !e.Fits(at, len(s)+len(t)) {
		return boundary.Value{}
	}
	return boundary.String(s + t)
}

// Order compares two values of kinds that have an order; what names the operation.
func (e *Env) Order(at Site, what string, a, b boundary.Value) (c int, ok bool) {
	switch ak, bk := a.Kind(), b.Kind(); {
	case isNumber(a) && isNumber(b):
		return orderNumbers(a, b), true
	case ak != bk:
	case ak == boundary.KindString:
		s, _ := a.AsString()
		t, _ := b.AsString()
		return strings.Compare(s, t), true
	case ak == boundary.KindTime, ak == boundary.KindDuration:
		i, _ := nanos(a, ak)
		j, _ := nanos(b, bk)
		return cmp.Compare(i, j), true
	}
	e.mismatch(at, what, a, b)
	return 0, false
}

// orderNumbers compares exactly, also an int with a float.
func orderNumbers(a, b boundary.Value) int {
	i, aInt := a.AsInt()
	j, bInt := b.AsInt()
	f, _ := a.AsFloat()
	g, _ := b.AsFloat()
	switch {
	case aInt && bInt:
		return cmp.Compare(i, j)
	case aInt:
		return orderIntFloat(i, g)
	case bInt:
		return -orderIntFloat(j, f)
	}
	return cmp.Compare(f, g)
}

// orderIntFloat compares without rounding i, which a float may not hold.
func orderIntFloat(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := int64(f) // towards zero
	if c := cmp.Compare(i, whole); c != 0 {
		return c
	}
	return cmp.Compare(0, f-float64(whole))
}

// isIn is the operator in: an element of a list, a field of an object. Nothing
// is in null.
func (e *Env) isIn(at Site, a, b boundary.Value) verdict {
	switch b.Kind() {
	case boundary.KindNull:
		return no
	case boundary.KindList:
		for item := range b.Items() {
			if boundary.Equal(a, item) {
				return yes
			}
		}
		return no
	case boundary.KindObject:
		if name, ok := a.AsString(); ok {
			return verdictOf(!b.Field(name).IsAbsent())
		}
	}
	e.mismatch(at, "in", a, b)
	return stopped
}

// index is v[key]: an element of a list, counted from the end when negative,
// or a field of an object.
func (e *Env) index(at Site, v, key boundary.Value) boundary.Value {
	switch v.Kind() {
	case boundary.KindList:
		i, ok := key.AsInt()
		if !ok {
			break
		}
		n := int64(v.Len())
		if i < -n || i >= n {
			return e.Fail(at, CodeOutOfRange, "index %d is out of range: the list has %d elements", i, n)
		}
		if i < 0 {
			i += n
		}
		return Present(v.Index(int(i)))
	case boundary.KindObject:
		if name, ok := key.AsString(); ok {
			return Present(v.Field(name))
		}
	case boundary.KindNull:
		return e.Fail(at, CodeTypeError, "cannot read an element of null; use ?.[ ] to read it as null")
	}
	return e.Fail(at, CodeTypeError, "cannot read element %s of %s", key.Kind(), v.Kind())
}

// field is v.name.
func (e *Env) field(at Site, v boundary.Value, name string) boundary.Value {
	switch v.Kind() {
	case boundary.KindObject:
		return Present(v.Field(name))
	case boundary.KindNull:
		e.Fail(at, CodeTypeError, "cannot read %s of null; use ?.%s to read it as null", name, name)
	default:
		e.Fail(at, CodeTypeError, "cannot read %s of %s", name, v.Kind())
	}
	return boundary.Value{}
}

// Present reads what is missing in something that is there as null.
func Present(v boundary.Value) boundary.Value {
	if v.IsAbsent() {
		return boundary.Null()
	}
	return v
}

func (e *Env) mismatch(at Site, what string, a, b boundary.Value) boundary.Value {
	hint := ""
	if a.IsNull() || b.IsNull() {
		hint = "; use ?? to give null a default"
	}
	return e.Fail(at, CodeTypeError, "cannot compute %s %s %s%s", a.Kind(), what, b.Kind(), hint)
}

func (e *Env) notFinite(at Site, what string, a, b boundary.Value) boundary.Value {
	reason := "the result is too large"
	if f, _ := b.AsFloat(); f == 0 && (what == "/" || what == "%") {
		reason = "division by zero"
	}
	return e.Fail(at, CodeNotFinite, "%s: %s %s %s", reason, a, what, b)
}

func isNumber(v boundary.Value) bool {
	k := v.Kind()
	return k == boundary.KindInt || k == boundary.KindFloat
}

func isTemporal(v boundary.Value) bool {
	k := v.Kind()
	return k == boundary.KindTime || k == boundary.KindDuration
}

// nanos is a time or duration in nanoseconds.
func nanos(v boundary.Value, kind boundary.Kind) (int64, bool) {
	if kind == boundary.KindTime {
		t, ok := v.AsTime()
		return t.UnixNano(), ok
	}
	d, ok := v.AsDuration()
	return int64(d), ok
}

// Finite reports whether f is a number: neither infinite nor NaN.
func Finite(f float64) bool { return f-f == 0 }

// Truncate is f towards zero, false when that is no int64.
func Truncate(f float64) (int64, bool) {
	if f >= 1<<63 || f < -1<<63 || f != f {
		return 0, false
	}
	return int64(f), true
}

func addInt(a, b int64) (int64, bool) {
	s := a + b
	return s, (a^s)&(b^s) >= 0
}

func subInt(a, b int64) (int64, bool) {
	s := a - b
	return s, (a^b)&(a^s) >= 0
}

func mulInt(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The high half of the signed product, from that of the unsigned one.
	high := int64(hi) - a>>63&b - b>>63&a
	return int64(lo), high == int64(lo)>>63
}
