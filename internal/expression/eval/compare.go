package eval

import (
	"math"

	"github.com/graphd/graphd/internal/boundary"
)

// relation is an order comparison, as the results of a three-way comparison that satisfy it.
type relation struct {
	name        string
	less, equal bool
	greater     bool
}

func (r *relation) holds(c int) bool {
	return c < 0 && r.less || c == 0 && r.equal || c > 0 && r.greater
}

// relations are the comparisons by operator.
func relationOf(operator string) (*relation, bool) {
	switch operator {
	case "<":
		return &relation{name: "<", less: true}, true
	case "<=":
		return &relation{name: "<=", less: true, equal: true}, true
	case ">":
		return &relation{name: ">", greater: true}, true
	case ">=":
		return &relation{name: ">=", greater: true, equal: true}, true
	}
	return nil, false
}

// compareNumbers compares numbers in registers, and everything else by Env.order.
func compareNumbers(at Site, rel *relation, l, r number) truth {
	return func(e *Env) verdict {
		a, ak := l(e)
		if ak < numInt {
			return e.compareLeft(at, rel, ak, r)
		}
		b, bk := r(e)
		if ak == numFloat && bk == numFloat {
			f, g := math.Float64frombits(a), math.Float64frombits(b)
			return verdictOf(f < g && rel.less || f > g && rel.greater || f == g && rel.equal)
		}
		if ak == numInt && bk == numInt {
			i, j := int64(a), int64(b)
			return verdictOf(i < j && rel.less || i > j && rel.greater || i == j && rel.equal)
		}
		if bk == numFailed {
			return stopped
		}
		right := e.join(b, bk)
		return e.compareValues(at, rel, e.join(a, ak), right)
	}
}

func (e *Env) compareLeft(at Site, rel *relation, ak numKind, r number) verdict {
	if ak == numFailed {
		return stopped
	}
	a := e.spill // before the right operand uses it
	b, bk := r(e)
	if bk == numFailed {
		return stopped
	}
	return e.compareValues(at, rel, a, e.join(b, bk))
}

func (e *Env) compareValues(at Site, rel *relation, a, b boundary.Value) verdict {
	c, ok := e.Order(at, rel.name, a, b)
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
	e.mismatch(at, name, a, b)
	return stopped
}
