package sink

import (
	"errors"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
)

// The names that an option can read, by their index.
const (
	nameValue = iota
	nameKey
	nameEpoch
	nameOutput
	nameAt
	nameVars
)

// Scope is what the options of sinks can read that are expressions. at is the epoch's engine time.
func Scope(vars expression.Type) expression.Scope {
	return expression.Scope{Names: []expression.Name{
		nameValue:  {Name: "value", Type: expression.Any()},
		nameKey:    {Name: "key", Type: expression.Any()},
		nameEpoch:  {Name: "epoch", Type: expression.Of(boundary.KindInt)},
		nameOutput: {Name: "output", Type: expression.Of(boundary.KindString)},
		nameAt:     {Name: "at", Type: expression.Of(boundary.KindTime)},
		nameVars:   {Name: "vars", Type: vars},
	}}
}

// Option is an option of a sink that every message has its own value of: an expression over
// [Scope]. It is used by one goroutine at a time.
type Option struct {
	program *expression.Program
	env     expression.Env
}

// CompileOption makes the option that an expression says, nil for none.
func CompileOption(e spec.Expr, vars boundary.Value) (*Option, error) {
	if e.IsZero() {
		return nil, nil
	}
	p, err := expression.Compile(e.Text, Scope(expression.OfValue(vars)))
	if err != nil {
		return nil, err
	}
	return &Option{p, expression.Env{Values: []boundary.Value{nameVars: vars}}}, nil
}

// Of is the option's value for a message.
func (o *Option) Of(m *Message) (boundary.Value, error) {
	v := o.env.Values
	v[nameValue], v[nameKey], v[nameEpoch] = m.Value, boundary.Null(), boundary.Int(m.Epoch)
	v[nameOutput], v[nameAt] = boundary.String(m.Output), boundary.Time(m.At)
	if m.Key != "" {
		v[nameKey] = m.Key.Value()
	}
	return o.program.Eval(&o.env)
}

// CheckOption says what is wrong with an option's expression.
func CheckOption(e spec.Expr, out kind.Output) spec.Diagnostics {
	if e.IsZero() {
		return nil
	}
	scope := Scope(expression.OfValue(out.Vars))
	scope.For = out.For
	_, err := expression.Compile(e.Text, scope)
	if err == nil {
		return nil
	}
	at := e.Pos
	d := spec.Diagnostic{
		File: out.File, Line: at.Line, Column: at.Column, Path: at.Path, Code: expression.CodeSyntax, Text: err.Error(),
	}
	if mistake := new(expression.Error); errors.As(err, &mistake) {
		d.Line, d.Column = e.At(mistake.Offset)
		d.Code, d.Text, d.Suggest = mistake.Code, mistake.Text, mistake.Suggest
	}
	return spec.Diagnostics{d}
}
