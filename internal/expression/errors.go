package expression

import (
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

// ErrAbsent is returned by [Program.Eval] when evaluation reached a plain read
// of a value that is absent: it never arrived, or lies on a route not taken.
// It is no fault of the expression: whoever evaluates waits or skips.
var ErrAbsent = eval.ErrAbsent

// Codes of mistakes in the text of an expression.
const (
	CodeSyntax          = "expression_syntax"
	CodeTooLarge        = "expression_too_large"
	CodeUnknownName     = "unknown_name"
	CodeUnknownField    = "unknown_field"
	CodeDuplicateField  = "duplicate_field"
	CodeUnknownFunction = "unknown_function"
	CodeTypeMismatch    = "type_mismatch"
	CodeWrongArguments  = "wrong_arguments"
	CodeNotAllowed      = "not_allowed"
	CodeNotYetSupported = "not_yet_supported"
)

// Codes of evaluation errors. A constant expression that cannot be evaluated
// has them when it is compiled.
const (
	CodeTypeError       = rules.CodeTypeError
	CodeNotFinite       = rules.CodeNotFinite
	CodeOutOfRange      = rules.CodeOutOfRange
	CodeInvalidArgument = rules.CodeInvalidArgument
	CodeLimitExceeded   = rules.CodeLimitExceeded
)

// EvalError is a failure of an evaluation: the same expression works on other
// values.
type EvalError = eval.Error

// Error is a mistake in the text of an expression.
type Error struct {
	Offset  int    // byte offset in the text
	Code    string // stable, snake_case
	Text    string // one line: what is wrong and what to do
	Suggest string // a name that was probably meant; "" when none is near
}

// Error is the text, with the suggestion when there is one.
func (e *Error) Error() string {
	if e.Suggest == "" {
		return e.Text
	}
	return e.Text + " (did you mean " + e.Suggest + "?)"
}
