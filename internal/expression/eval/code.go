package eval

import (
	"math"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// A node of the syntax tree becomes one to three closures with the same
// meaning and different results. The operations around it take the one that
// spares them packing and unpacking.
type (
	// value yields a value, or an absent one when the evaluation has stopped.
	value func(e *Env) boundary.Value
	// number yields a number in two registers: its bits and what they are.
	number func(e *Env) (bits uint64, kind numKind)
	// truth yields a bool.
	truth func(e *Env) verdict
)

// numKind says what the bits of a number are.
type numKind uint8

const (
	numFailed numKind = iota // the evaluation has stopped
	numOther                 // no number at all: the value is in Env.spill until the next evaluation
	numInt                   // an int64
	numFloat                 // a float64
)

// verdict is a bool, or that the evaluation has stopped.
type verdict int8

const (
	stopped verdict = iota - 1
	no
	yes
)

func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// code is a compiled node. val is always there; num and test are there when
// they are the node's natural result.
type code struct {
	val  value
	num  number
	test truth
	// literal is the value itself, when known at compile time; absent otherwise.
	literal boundary.Value
	read    *read // the node is this path of one field; nil for any other
}

func valueCode(f value) code { return code{val: f} }

func numberCode(f number) code {
	return code{num: f, val: func(e *Env) boundary.Value { return e.join(f(e)) }}
}

func truthCode(f truth) code {
	return code{test: f, val: func(e *Env) boundary.Value {
		switch f(e) {
		case yes:
			return boundary.Bool(true)
		case no:
			return boundary.Bool(false)
		}
		return boundary.Value{}
	}}
}

func literalCode(v boundary.Value) code {
	c := code{literal: v, val: func(*Env) boundary.Value { return v }}
	switch v.Kind() {
	case boundary.KindInt, boundary.KindFloat:
		bits, kind := (*Env)(nil).split(v)
		c.num = func(*Env) (uint64, numKind) { return bits, kind }
	case boundary.KindBool:
		b, _ := v.AsBool()
		t := verdictOf(b)
		c.test = func(*Env) verdict { return t }
	}
	return c
}

// number is the node as an operand of arithmetic.
func (c code) number() number {
	if c.num != nil {
		return c.num
	}
	f := c.val
	return func(e *Env) (uint64, numKind) { return e.split(f(e)) }
}

// truth is the node as a condition; what names it in the error.
func (c code) truth(at Site, what string) truth {
	if c.test != nil {
		return c.test
	}
	f := c.val
	return func(e *Env) verdict {
		v := f(e)
		if b, ok := v.AsBool(); ok {
			return verdictOf(b)
		}
		if !v.IsAbsent() {
			e.Fail(at, rules.CodeTypeError, "%s must be bool, got %s", what, v.Kind())
		}
		return stopped
	}
}

// join makes a value of a number.
func (e *Env) join(bits uint64, kind numKind) boundary.Value {
	switch kind {
	case numFloat:
		return boundary.Float(math.Float64frombits(bits))
	case numInt:
		return boundary.Int(int64(bits))
	case numOther:
		return e.spill
	}
	return boundary.Value{}
}

// split makes a number of a value; what is no number goes to e.spill.
func (e *Env) split(v boundary.Value) (uint64, numKind) {
	switch v.Kind() {
	case boundary.KindFloat:
		f, _ := v.AsFloat()
		return math.Float64bits(f), numFloat
	case boundary.KindInt:
		i, _ := v.AsInt()
		return uint64(i), numInt
	case boundary.KindAbsent:
		return 0, numFailed
	}
	e.spill = v
	return 0, numOther
}
