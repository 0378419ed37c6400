package fold

import (
	"errors"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// The names in scope of where, emit and time, by their index in the scope.
const (
	NameEvent = iota
	NameMeta
	NameVars
	NameOwn // the first of a fold's own names, where it has any
)

// CompileExpr compiles e, when it was given, and adds its mistake to ds.
func CompileExpr(e spec.Expr, scope expression.Scope,
	compile func(string, expression.Scope) (*expression.Program, error), ds spec.Diagnostics,
) (*expression.Program, spec.Diagnostics) {
	if e.IsZero() {
		return nil, ds
	}
	x, err := compile(e.Text, scope)
	if err != nil {
		return nil, append(ds, Diagnose(e, err))
	}
	return x, ds
}

// Diagnose tells a mistake in an expression at its place in the declaration.
func Diagnose(e spec.Expr, err error) spec.Diagnostic {
	var mistake *expression.Error
	if !errors.As(err, &mistake) {
		return Diagnostic(e.Pos, "expression_syntax", err.Error())
	}
	d := Diagnostic(e.Pos, mistake.Code, mistake.Text)
	d.Line, d.Column = e.At(mistake.Offset)
	d.Suggest = mistake.Suggest
	return d
}

// Diagnostic is a mistake at its place in the declaration.
func Diagnostic(at spec.Pos, code, text string) spec.Diagnostic {
	return spec.Diagnostic{Line: at.Line, Column: at.Column, Path: at.Path, Code: code, Text: text}
}
