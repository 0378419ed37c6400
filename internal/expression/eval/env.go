package eval

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// ErrAbsent is returned when evaluation reached a plain read of a value that
// is absent: it never arrived, or lies on a route not taken. It is no fault of
// the expression: whoever evaluates waits or skips.
var ErrAbsent = errors.New("a value that is read has not arrived")

// Error is a failure of an evaluation: the same expression works on other values.
type Error struct {
	Code   string // one of the codes of package rules
	Text   string // one line: the operation and what it met
	Offset int    // byte offset in the expression of the operation that failed
	Timed  bool   // the clock alone has made it: on the same values there may be a result another time
}

// Error is the text.
func (e *Error) Error() string { return e.Text }

// Site is a place in the text of an expression, as a byte offset. Operations
// that can fail carry theirs.
type Site int

// Env is what an evaluation works on. Each goroutine has its own and uses it
// again and again; the zero Env is ready. The exported fields may be changed
// between evaluations.
type Env struct {
	Values []boundary.Value // by the index in the scope; an absent one never arrived
	Now    time.Time        // what now() is
	Epoch  int64            // what epoch() is
	Rand   func() float64   // what rand() is, in [0, 1); nil where it is not allowed
	Cause  string           // what cause() is
	// Iteration is what iteration() is.
	Iteration int64
	// Fresh is what fresh() is, by the index in the scope; what is beyond it is not.
	Fresh []bool
	// Memories are those of the program's functions with memory, as NewMemories made them.
	Memories []Memory
	// Looks notes the rows that are looked up in tables; nil where nobody wants to know.
	Looks *Looks
	// Most bounds the work of an evaluation below what one may do; 0 for that.
	Most int
	// Unbounded says that what is computed has ended in time before, and is to come to the same however long it takes.
	Unbounded bool

	err   error                     // why the closure that returned nothing stopped
	spill boundary.Value            // see numOther
	vars  []boundary.Value          // variables, elements of loops, arguments of functions
	work  int                       // done so far; see maxWork
	zones map[string]*time.Location // looked up so far
}

// Fail stops the evaluation with an error. It returns an absent value, which
// its caller returns at once.
func (e *Env) Fail(at Site, code, format string, args ...any) boundary.Value {
	e.err = &Error{Code: code, Text: fmt.Sprintf(format, args...), Offset: int(at)}
	return boundary.Value{}
}

// fault stops the evaluation for a reason that the rules give.
func (e *Env) fault(at Site, f *rules.Fault) boundary.Value {
	e.err = &Error{Code: f.Code, Text: f.Text, Offset: int(at)}
	return boundary.Value{}
}

// Arith is a o b.
func (e *Env) Arith(at Site, o rules.Op, a, b boundary.Value) boundary.Value {
	v, f := rules.Arith(o, a, b)
	if f != nil {
		return e.fault(at, f)
	}
	if s, ok := v.AsString(); ok && !e.Charge(at, len(s)/64) {
		return boundary.Value{}
	}
	return v
}

// Order compares two values of kinds that have an order; what names the operation.
func (e *Env) Order(at Site, what string, a, b boundary.Value) (c int, ok bool) {
	c, f := rules.Order(what, a, b)
	if f != nil {
		e.fault(at, f)
	}
	return c, f == nil
}

// done is the result of a rule: v, or absent when there is a fault.
func (e *Env) done(at Site, v boundary.Value, f *rules.Fault) boundary.Value {
	if f != nil {
		return e.fault(at, f)
	}
	return v
}

// Slice is v[from:to], or v[from:] when there is no to.
func (e *Env) Slice(at Site, v boundary.Value, from, to int64, hasTo bool) boundary.Value {
	out, f := rules.Slice(v, from, to, hasTo)
	return e.done(at, out, f)
}

func (e *Env) field(at Site, v boundary.Value, name string) boundary.Value {
	out, f := rules.Field(v, name)
	return e.done(at, out, f)
}

// Stop takes the reason why the evaluation stopped, and leaves e ready for the next.
func (e *Env) Stop() error {
	err := e.err
	e.err, e.spill = nil, boundary.Value{}
	return err
}

// Zone looks up a time zone by its name in the zone database. Names that stand
// for the machine's own zone are refused: results must not depend on it.
func (e *Env) Zone(at Site, name string) (*time.Location, bool) {
	if loc, ok := e.zones[name]; ok {
		return loc, true
	}
	if name != "" && name != "Local" {
		if loc, err := time.LoadLocation(name); err == nil {
			if len(e.zones) >= maxZones {
				e.zones = nil // names come from values, and one zone can be spelled in many ways
			}
			if e.zones == nil {
				e.zones = make(map[string]*time.Location)
			}
			e.zones[name] = loc
			return loc, true
		}
	}
	e.Fail(at, rules.CodeInvalidArgument, `%.40q is no time zone; write it like "Europe/Paris"`, name)
	return nil, false
}
