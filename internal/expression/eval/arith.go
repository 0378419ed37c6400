package eval

import (
	"math"

	"github.com/graphd/graphd/internal/boundary"
)

// Arithmetic on two registers. Each closure knows two floats and two ints;
// whatever else comes, including every failure, goes to Env.arith.

func addNumbers(at Site, l, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l(e)
		if ak < numInt {
			return e.arithLeft(at, Add, ak, r)
		}
		b, bk := r(e)
		if ak == numFloat && bk == numFloat {
			if f := math.Float64frombits(a) + math.Float64frombits(b); Finite(f) {
				return math.Float64bits(f), numFloat
			}
		} else if ak == numInt && bk == numInt {
			if i, ok := addInt(int64(a), int64(b)); ok {
				return uint64(i), numInt
			}
		}
		return e.arithRest(at, Add, a, ak, b, bk)
	}
}

func subNumbers(at Site, l, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l(e)
		if ak < numInt {
			return e.arithLeft(at, Sub, ak, r)
		}
		b, bk := r(e)
		if ak == numFloat && bk == numFloat {
			if f := math.Float64frombits(a) - math.Float64frombits(b); Finite(f) {
				return math.Float64bits(f), numFloat
			}
		} else if ak == numInt && bk == numInt {
			if i, ok := subInt(int64(a), int64(b)); ok {
				return uint64(i), numInt
			}
		}
		return e.arithRest(at, Sub, a, ak, b, bk)
	}
}

func mulNumbers(at Site, l, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l(e)
		if ak < numInt {
			return e.arithLeft(at, Mul, ak, r)
		}
		b, bk := r(e)
		if ak == numFloat && bk == numFloat {
			if f := math.Float64frombits(a) * math.Float64frombits(b); Finite(f) {
				return math.Float64bits(f), numFloat
			}
		} else if ak == numInt && bk == numInt {
			if i, ok := mulInt(int64(a), int64(b)); ok {
				return uint64(i), numInt
			}
		}
		return e.arithRest(at, Mul, a, ak, b, bk)
	}
}

func divNumbers(at Site, l, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l(e)
		if ak < numInt {
			return e.arithLeft(at, Div, ak, r)
		}
		b, bk := r(e)
		if bk >= numInt {
			if f := toFloat(a, ak) / toFloat(b, bk); Finite(f) {
				return math.Float64bits(f), numFloat
			}
		}
		return e.arithRest(at, Div, a, ak, b, bk)
	}
}

// restNumbers is for the operators that are too rare to have their own closure.
func restNumbers(at Site, o Op, l, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l(e)
		if ak < numInt {
			return e.arithLeft(at, o, ak, r)
		}
		b, bk := r(e)
		return e.arithRest(at, o, a, ak, b, bk)
	}
}

func negateNumber(at Site, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := r(e)
		if ak == numFloat {
			return a ^ 1<<63, numFloat
		}
		return e.split(e.negate(at, e.join(a, ak)))
	}
}

// keepNumber is the unary plus: nothing but a check.
func keepNumber(at Site, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := r(e)
		if ak == numOther {
			e.Fail(at, CodeTypeError, "cannot compute +%s", e.spill.Kind())
			return 0, numFailed
		}
		return a, ak
	}
}

// arithLeft goes on after a left operand that is no number or has failed.
func (e *Env) arithLeft(at Site, o Op, ak numKind, r number) (uint64, numKind) {
	if ak == numFailed {
		return 0, numFailed
	}
	a := e.spill // before the right operand uses it
	b, bk := r(e)
	if bk == numFailed {
		return 0, numFailed
	}
	return e.split(e.Arith(at, o, a, e.join(b, bk)))
}

// arithRest handles every pair of operands with a number on the left.
func (e *Env) arithRest(at Site, o Op, a uint64, ak numKind, b uint64, bk numKind) (uint64, numKind) {
	if bk == numFailed {
		return 0, numFailed
	}
	right := e.join(b, bk) // before join could meet another spilled value
	return e.split(e.Arith(at, o, e.join(a, ak), right))
}

func toFloat(n uint64, kind numKind) float64 {
	if kind == numInt {
		return float64(int64(n))
	}
	return math.Float64frombits(n)
}

// applyNumber applies a function's short way to a number, and rest to everything else.
func applyNumber(f *Function, arg number, rest func(e *Env, v boundary.Value) boundary.Value) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := arg(e)
		switch {
		case ak == numFailed:
			return 0, numFailed
		case ak == numInt && f.OnInt != nil:
			if i, ok := f.OnInt(int64(a)); ok {
				return uint64(i), numInt
			}
		case ak >= numInt:
			if r := f.OnFloat(toFloat(a, ak)); Finite(r) {
				return math.Float64bits(r), numFloat
			}
		}
		return e.split(rest(e, e.join(a, ak)))
	}
}
