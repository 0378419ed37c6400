package eval

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// ErrAbsent is returned when evaluation reached a plain read of a value that
// is absent: it never arrived, or lies on a route not taken. It is no fault of
// the expression: whoever evaluates waits or skips.
var ErrAbsent = errors.New("a value that is read has not arrived")

// Codes of evaluation errors.
const (
	CodeTypeError       = "type_error"         // an operation met a kind it has no meaning for
	CodeNotFinite       = "not_finite"         // overflow, division by zero, a time out of range
	CodeOutOfRange      = "index_out_of_range" // an element that a list does not have
	CodeInvalidArgument = "invalid_argument"   // a text that is no number, a count below zero
	CodeLimitExceeded   = "limit_exceeded"     // more work, or a larger value, than one evaluation may make
)

// Error is a failure of an evaluation: the same expression works on other values.
type Error struct {
	Code   string // stable, snake_case
	Text   string // one line: the operation and what it met
	Offset int    // byte offset in the expression of the operation that failed
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
			if e.zones == nil {
				e.zones = make(map[string]*time.Location)
			}
			e.zones[name] = loc // there are a few hundred, so that this does not grow
			return loc, true
		}
	}
	e.Fail(at, CodeInvalidArgument, `%.40q is no time zone; write it like "Europe/Paris"`, name)
	return nil, false
}
