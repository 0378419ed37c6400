// Package rules says what the operators of expressions mean on any two values:
// arithmetic that keeps integers and refuses to overflow, exact comparison,
// reading fields, elements and slices.
//
// It is the reference. Package eval handles the frequent cases in registers
// and comes here for all others, every failure among them.
//
// # Concurrency
//
// The package holds no state; its functions may be called concurrently.
package rules

import (
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
)

// Codes of what can go wrong with values.
const (
	CodeTypeError       = "type_error"         // an operation met a kind it has no meaning for
	CodeNotFinite       = "not_finite"         // overflow, division by zero, a time out of range
	CodeOutOfRange      = "index_out_of_range" // an element that a list does not have
	CodeInvalidArgument = "invalid_argument"   // a text that is no number, a count below zero
	CodeForgotten       = "rows_forgotten"     // a table as of a time of which nothing is known any more
	CodeLimitExceeded   = "limit_exceeded"     // more work, or a larger value, than one evaluation may make
)

// MaxString is how long a string an expression may make, in bytes: what an event may have.
const MaxString = 8 << 20

// Fault is why an operation has no result.
type Fault struct {
	Code string
	Text string // one line: the operation and what it met
}

func fault(code, format string, args ...any) *Fault {
	return &Fault{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Mismatch is the fault of an operation on two kinds that it has no meaning for.
func Mismatch(what string, a, b boundary.Value) *Fault {
	hint := ""
	if a.IsNull() || b.IsNull() {
		hint = "; use ?? to give null a default"
	}
	return fault(CodeTypeError, "cannot compute %s %s %s%s", a.Kind(), what, b.Kind(), hint)
}

// Present reads what is missing in something that is there as null.
func Present(v boundary.Value) boundary.Value {
	if v.IsAbsent() {
		return boundary.Null()
	}
	return v
}

func isNumber(v boundary.Value) bool {
	k := v.Kind()
	return k == boundary.KindInt || k == boundary.KindFloat
}
