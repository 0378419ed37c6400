package eval

import (
	"cmp"
	"math"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// relation is an order comparison.
type relation uint8

const (
	less relation = iota
	lessOrEqual
	greater
	greaterOrEqual
)

// relations are the order comparisons by their operators.
var relations = []string{"<", "<=", ">", ">="}

// holds tells from the result of a three-way comparison whether the relation holds.
func (r relation) holds(c int) bool {
	switch r {
	case less:
		return c < 0
	case lessOrEqual:
		return c <= 0
	case greater:
		return c > 0
	}
	return c >= 0
}

// compareNumbers compares numbers in registers, and everything else by Env.Order.
func compareNumbers(at Site, rel relation, l, r operand) truth {
	return func(e *Env) verdict {
		a, ak := l.get(e)
		if ak < numInt {
			return e.compareLeft(at, rel, ak, &r)
		}
		b, bk := r.get(e)
		if ak == numFloat && bk == numFloat {
			return compareFloats(rel, math.Float64frombits(a), math.Float64frombits(b))
		}
		if ak == numInt && bk == numInt {
			return verdictOf(rel.holds(cmp.Compare(int64(a), int64(b))))
		}
		if bk == numFailed {
			return stopped
		}
		if bk != numOther && exact(a, ak) && exact(b, bk) {
			return compareFloats(rel, toFloat(a, ak), toFloat(b, bk))
		}
		right := e.join(b, bk)
		return e.compareValues(at, rel, e.join(a, ak), right)
	}
}

// exact reports whether a number is the same as a float.
func exact(n uint64, kind numKind) bool {
	i := int64(n)
	return kind == numFloat || -1<<53 <= i && i <= 1<<53
}

func compareFloats(rel relation, f, g float64) verdict {
	switch rel {
	case less:
		return verdictOf(f < g)
	case lessOrEqual:
		return verdictOf(f <= g)
	case greater:
		return verdictOf(f > g)
	}
	return verdictOf(f >= g)
}

func (e *Env) compareLeft(at Site, rel relation, ak numKind, r *operand) verdict {
	if ak == numFailed {
		return stopped
	}
	a := e.spill // before the right operand uses it
	b, bk := r.get(e)
	if bk == numFailed {
		return stopped
	}
	return e.compareValues(at, rel, a, e.join(b, bk))
}

func (e *Env) compareValues(at Site, rel relation, a, b boundary.Value) verdict {
	c, ok := e.Order(at, relations[rel], a, b)
	if !ok {
		return stopped
	}
	return verdictOf(rel.holds(c))
}

// equal is == when want is yes, != when want is no.
func equal(want verdict, l, r value) truth {
	return func(e *Env) verdict {
		a := l(e)
		if a.IsAbsent() {
			return stopped
		}
		b := r(e)
		if b.IsAbsent() {
			return stopped
		}
		if boundary.Equal(a, b) {
			return want
		}
		return 1 - want
	}
}

// equalString compares with a constant string.
func equalString(want verdict, l value, s string) truth {
	return func(e *Env) verdict {
		a := l(e)
		if t, ok := a.AsString(); ok && s == t {
			return want
		}
		if a.IsAbsent() {
			return stopped
		}
		return 1 - want
	}
}

// and and or look at the right side only when the left does not decide.
func and(l, r truth) truth {
	return func(e *Env) verdict {
		if v := l(e); v != yes {
			return v
		}
		return r(e)
	}
}

func or(l, r truth) truth {
	return func(e *Env) verdict {
		if v := l(e); v != no {
			return v
		}
		return r(e)
	}
}

func not(t truth) truth {
	return func(e *Env) verdict {
		if v := t(e); v != stopped {
			return 1 - v
		}
		return stopped
	}
}

// textTest is an operator on two strings. Nothing is found in null.
type textTest func(s, t string) bool

func testText(at Site, name string, f textTest, l, r value) truth {
	return func(e *Env) verdict {
		a := l(e)
		if a.IsAbsent() {
			return stopped
		}
		b := r(e)
		if b.IsAbsent() {
			return stopped
		}
		return e.testStrings(at, name, f, a, b)
	}
}

func (e *Env) testStrings(at Site, name string, f textTest, a, b boundary.Value) verdict {
	s, aText := a.AsString()
	t, bText := b.AsString()
	if aText && bText {
		return verdictOf(f(s, t))
	}
	if (aText || a.IsNull()) && (bText || b.IsNull()) {
		return no
	}
	e.fault(at, rules.Mismatch(name, a, b))
	return stopped
}
