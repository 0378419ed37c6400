package rules

import (
	"math"
	"math/bits"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

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

// Arith is a o b: of two ints an int, but for / and **; of numbers otherwise a
// float; of strings their concatenation; of times and durations as in life.
func Arith(o Op, a, b boundary.Value) (boundary.Value, *Fault) {
	i, aInt := a.AsInt()
	j, bInt := b.AsInt()
	if aInt && bInt && o != Div && o != Pow {
		return arithInt(o, i, j)
	}
	f, aNum := a.AsFloat()
	g, bNum := b.AsFloat()
	if aNum && bNum && o != Mod {
		return arithFloat(o, f, g)
	}
	if o == Add {
		s, aText := a.AsString()
		t, bText := b.AsString()
		if aText && bText {
			return concat(s, t)
		}
	}
	return arithTime(o, a, b)
}

func arithInt(o Op, a, b int64) (boundary.Value, *Fault) {
	var r int64
	ok := true
	switch o {
	case Add:
		r, ok = AddInt(a, b)
	case Sub:
		r, ok = SubInt(a, b)
	case Mul:
		r, ok = MulInt(a, b)
	case Mod:
		if ok = b != 0; ok {
			r = a % b
		}
	}
	if !ok {
		return boundary.Value{}, notFinite(o, boundary.Int(a), boundary.Int(b))
	}
	return boundary.Int(r), nil
}

func arithFloat(o Op, a, b float64) (boundary.Value, *Fault) {
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
		return boundary.Value{}, notFinite(o, boundary.Float(a), boundary.Float(b))
	}
	return boundary.Float(r), nil
}

func concat(s, t string) (boundary.Value, *Fault) {
	if len(s)+len(t) > MaxString {
		return boundary.Value{}, fault(CodeLimitExceeded, "the string would be longer than 8 MiB")
	}
	return boundary.String(s + t), nil
}

// arithTime is arithmetic with times and durations, and the fault of everything else.
func arithTime(o Op, a, b boundary.Value) (boundary.Value, *Fault) {
	t, aTime := nanos(a, boundary.KindTime)
	u, bTime := nanos(b, boundary.KindTime)
	d, aSpan := nanos(a, boundary.KindDuration)
	s, bSpan := nanos(b, boundary.KindDuration)
	var r int64
	var fits, isTime bool
	switch {
	case o == Sub && aTime && bTime:
		r, fits = SubInt(t, u)
	case o == Add && aTime && bSpan:
		r, fits = AddInt(t, s)
		isTime = true
	case o == Add && aSpan && bTime:
		r, fits = AddInt(d, u)
		isTime = true
	case o == Sub && aTime && bSpan:
		r, fits = SubInt(t, s)
		isTime = true
	case o == Add && aSpan && bSpan:
		r, fits = AddInt(d, s)
	case o == Sub && aSpan && bSpan:
		r, fits = SubInt(d, s)
	case o == Mul && aSpan && isNumber(b):
		r, fits = scale(d, b)
	case o == Mul && isNumber(a) && bSpan:
		r, fits = scale(s, a)
	default:
		return boundary.Value{}, Mismatch(o.String(), a, b)
	}
	switch {
	case !fits:
		return boundary.Value{}, notFinite(o, a, b)
	case isTime:
		return boundary.Time(time.Unix(0, r)), nil
	}
	return boundary.Duration(time.Duration(r)), nil
}

// scale is a duration times a number, rounded towards zero.
func scale(d int64, by boundary.Value) (int64, bool) {
	if i, ok := by.AsInt(); ok {
		return MulInt(d, i)
	}
	f, _ := by.AsFloat()
	return Truncate(float64(d) * f)
}

// Negate is -v, of a number.
func Negate(v boundary.Value) (boundary.Value, *Fault) {
	if i, ok := v.AsInt(); ok {
		return arithInt(Sub, 0, i)
	}
	if f, ok := v.AsFloat(); ok {
		return boundary.Float(-f), nil
	}
	hint := ""
	if v.Kind() == boundary.KindDuration {
		hint = "; write d * -1" // which the checker of types knows too
	}
	return boundary.Value{}, fault(CodeTypeError, "cannot compute -%s%s", v.Kind(), hint)
}

func notFinite(o Op, a, b boundary.Value) *Fault {
	reason := "the result is too large"
	if f, _ := b.AsFloat(); f == 0 && (o == Div || o == Mod) {
		reason = "division by zero"
	}
	return fault(CodeNotFinite, "%s: %s %s %s", reason, a, o, b)
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

// AddInt is a + b, false when it does not fit.
func AddInt(a, b int64) (int64, bool) {
	s := a + b
	return s, (a^s)&(b^s) >= 0
}

// SubInt is a - b, false when it does not fit.
func SubInt(a, b int64) (int64, bool) {
	s := a - b
	return s, (a^b)&(a^s) >= 0
}

// MulInt is a * b, false when it does not fit.
func MulInt(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The high half of the signed product, from that of the unsigned one.
	high := int64(hi) - a>>63&b - b>>63&a
	return int64(lo), high == int64(lo)>>63
}

// Distance is a - b of two numbers as a float: exact for ints before it is rounded, also
// where they are so large that floats do not tell them apart.
func Distance(a, b boundary.Value) float64 {
	i, aInt := a.AsInt()
	j, bInt := b.AsInt()
	if aInt && bInt {
		if d, ok := SubInt(i, j); ok {
			return float64(d)
		}
	}
	f, _ := a.AsFloat()
	g, _ := b.AsFloat()
	return f - g
}
