package eval

import (
	"math"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// Arithmetic on two registers. Each closure knows numbers; whatever else comes,
// including every failure, goes to the rules.

// operand is a side of an operation: a closure, or what is cheaper to look at than to call: a
// constant, or a field of a name in scope.
type operand struct {
	f        number
	read     *read // nil: no path of one field
	bits     uint64
	kind     numKind
	constant bool
}

// operand is the node as a side of an operation.
func (c code) operand() operand {
	if k := c.literal.Kind(); k == boundary.KindInt || k == boundary.KindFloat {
		bits, kind := (*Env)(nil).split(c.literal)
		return operand{bits: bits, kind: kind, constant: true}
	}
	return operand{f: c.number(), read: c.read}
}

func (o *operand) get(e *Env) (uint64, numKind) {
	if r := o.read; r != nil && r.shape != nil {
		if at := e.Values[r.name].SlotAt(r.shape, r.slot); at != nil {
			if bits, ok := at.FloatBits(); ok {
				return bits, numFloat
			}
		}
	}
	if o.constant {
		return o.bits, o.kind
	}
	return o.f(e)
}

// addNumbers is l + r.
func addNumbers(at Site, l, r operand) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l.get(e)
		if ak < numInt {
			return e.arithLeft(at, rules.Add, ak, &r)
		}
		b, bk := r.get(e)
		if ak == numFloat && bk == numFloat {
			if f := math.Float64frombits(a) + math.Float64frombits(b); rules.Finite(f) {
				return math.Float64bits(f), numFloat
			}
		} else if ak == numInt && bk == numInt {
			if i, ok := rules.AddInt(int64(a), int64(b)); ok {
				return uint64(i), numInt
			}
		} else if bk >= numInt {
			if f := toFloat(a, ak) + toFloat(b, bk); rules.Finite(f) {
				return math.Float64bits(f), numFloat
			}
		}
		return e.arithRest(at, rules.Add, a, ak, b, bk)
	}
}

// subNumbers is l - r.
func subNumbers(at Site, l, r operand) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l.get(e)
		if ak < numInt {
			return e.arithLeft(at, rules.Sub, ak, &r)
		}
		b, bk := r.get(e)
		if ak == numFloat && bk == numFloat {
			if f := math.Float64frombits(a) - math.Float64frombits(b); rules.Finite(f) {
				return math.Float64bits(f), numFloat
			}
		} else if ak == numInt && bk == numInt {
			if i, ok := rules.SubInt(int64(a), int64(b)); ok {
				return uint64(i), numInt
			}
		} else if bk >= numInt {
			if f := toFloat(a, ak) - toFloat(b, bk); rules.Finite(f) {
				return math.Float64bits(f), numFloat
			}
		}
		return e.arithRest(at, rules.Sub, a, ak, b, bk)
	}
}

// mulNumbers is l * r.
func mulNumbers(at Site, l, r operand) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l.get(e)
		if ak < numInt {
			return e.arithLeft(at, rules.Mul, ak, &r)
		}
		b, bk := r.get(e)
		if ak == numFloat && bk == numFloat {
			if f := math.Float64frombits(a) * math.Float64frombits(b); rules.Finite(f) {
				return math.Float64bits(f), numFloat
			}
		} else if ak == numInt && bk == numInt {
			if i, ok := rules.MulInt(int64(a), int64(b)); ok {
				return uint64(i), numInt
			}
		} else if bk >= numInt {
			if f := toFloat(a, ak) * toFloat(b, bk); rules.Finite(f) {
				return math.Float64bits(f), numFloat
			}
		}
		return e.arithRest(at, rules.Mul, a, ak, b, bk)
	}
}

// divNumbers is l / r, a float also when both are ints.
func divNumbers(at Site, l, r operand) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l.get(e)
		if ak < numInt {
			return e.arithLeft(at, rules.Div, ak, &r)
		}
		b, bk := r.get(e)
		if bk >= numInt {
			if f := toFloat(a, ak) / toFloat(b, bk); rules.Finite(f) {
				return math.Float64bits(f), numFloat
			}
		}
		return e.arithRest(at, rules.Div, a, ak, b, bk)
	}
}

// restNumbers is for the operators that are too rare to have their own closure.
func restNumbers(at Site, o rules.Op, l, r operand) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := l.get(e)
		if ak < numInt {
			return e.arithLeft(at, o, ak, &r)
		}
		b, bk := r.get(e)
		return e.arithRest(at, o, a, ak, b, bk)
	}
}

func negateNumber(at Site, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := r(e)
		if ak == numFloat {
			return a ^ 1<<63, numFloat
		}
		if ak == numFailed {
			return 0, numFailed
		}
		v, f := rules.Negate(e.join(a, ak))
		return e.split(e.done(at, v, f))
	}
}

// keepNumber is the unary plus: nothing but a check.
func keepNumber(at Site, r number) number {
	return func(e *Env) (uint64, numKind) {
		a, ak := r(e)
		if ak == numOther {
			e.Fail(at, rules.CodeTypeError, "cannot compute +%s", e.spill.Kind())
			return 0, numFailed
		}
		return a, ak
	}
}

// arithLeft goes on after a left operand that is no number or has failed.
func (e *Env) arithLeft(at Site, o rules.Op, ak numKind, r *operand) (uint64, numKind) {
	if ak == numFailed {
		return 0, numFailed
	}
	a := e.spill // before the right operand uses it
	b, bk := r.get(e)
	if bk == numFailed {
		return 0, numFailed
	}
	return e.split(e.Arith(at, o, a, e.join(b, bk)))
}

// arithRest handles every pair of operands with a number on the left.
func (e *Env) arithRest(at Site, o rules.Op, a uint64, ak numKind, b uint64, bk numKind) (uint64, numKind) {
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
			if r := f.OnFloat(toFloat(a, ak)); rules.Finite(r) {
				return math.Float64bits(r), numFloat
			}
		}
		return e.split(rest(e, e.join(a, ak)))
	}
}
