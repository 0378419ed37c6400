package folding

import (
	"errors"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Form is how a declaration says what a value is made of: an expression for each field, or one for
// the whole. The zero Form was not given.
type Form struct {
	Fields []spec.Field
	Expr   spec.Expr
}

// IsZero reports whether nothing was given.
func (f *Form) IsZero() bool { return f.Fields == nil && f.Expr.IsZero() }

// canonical writes what the form means.
func (f *Form) canonical(t *meaning.Tree, name string) {
	t.Expr(name, f.Expr.Text)
	if f.Fields != nil {
		spec.WriteFields(t.Branch(name), f.Fields)
	}
}

// readForm reads a mapping of expressions, or one.
func readForm(d *decode.Decoder, v decode.Value, f *Form) {
	if !d.ReadsMapping(v) {
		f.Expr = d.Expr(v)
		return
	}
	f.Fields = d.Expressions(v, "")
	if v.IsEmpty() {
		d.Report(v.Whole(), decode.CodeEmptyValue, "", "%s is empty; name at least one field, such as n: state.n + 1",
			v.Key())
	}
}

// form is a Form, compiled.
type form struct {
	whole  *expression.Program   // nil: it has fields
	fields []*expression.Program // by slot of shape
	shape  *boundary.Shape
	typ    expression.Type
}

// compileForm compiles what was given; nil when nothing was.
func compileForm(f *Form, scope expression.Scope) (*form, spec.Diagnostics) {
	switch {
	case !f.Expr.IsZero():
		x, ds := fold.CompileExpr(f.Expr, scope, expression.Compile, nil)
		if x == nil {
			return nil, ds
		}
		return &form{whole: x, typ: x.Type()}, ds
	case f.Fields == nil:
		return nil, nil
	}
	var ds spec.Diagnostics
	c := &form{fields: make([]*expression.Program, len(f.Fields))}
	names, types := make([]string, len(f.Fields)), make(map[string]expression.Type, len(f.Fields))
	for i, field := range f.Fields {
		names[i] = field.Name
		if c.fields[i], ds = fold.CompileExpr(field.Expr, scope, expression.Compile, ds); c.fields[i] != nil {
			types[field.Name] = c.fields[i].Type()
		}
	}
	if len(ds) > 0 || slices.Contains(c.fields, nil) {
		return nil, ds
	}
	c.shape, c.typ = boundary.NewShape(names...), expression.ObjectOf(types, false)
	return c, nil
}

// programs are the form's expressions; none of one that was not given.
func (f *form) programs() []*expression.Program {
	switch {
	case f == nil:
		return nil
	case f.whole != nil:
		return []*expression.Program{f.whole}
	}
	return f.fields
}

// eval makes the value.
func (f *form) eval(env *expression.Env) (boundary.Value, *fold.BadEvent) {
	if f.whole != nil {
		v, err := f.whole.Eval(env)
		return v, fault("", err)
	}
	slots := make([]boundary.Value, len(f.fields))
	for i, x := range f.fields {
		v, err := x.Eval(env)
		if err != nil {
			return v, fault("."+f.shape.Name(i), err)
		}
		if v.Depth() >= maxDepth {
			return v, tooDeep()
		}
		slots[i] = v
	}
	return boundary.Object(f.shape, slots), nil
}

// stage names what fails when an expression of a fold does.
const stage = "fold"

// maxDepth is how deep a state may be nested: as deep as an expression may make a value.
const maxDepth = 1000

func tooDeep() *fold.BadEvent {
	return &fold.BadEvent{
		Stage: stage, Code: expression.CodeLimitExceeded, Text: ": the state would be nested more than 1000 deep",
	}
}

// fault says why an event cannot be folded: where is what was being made of it. It is nil without an error.
func fault(where string, err error) *fold.BadEvent {
	if err == nil {
		return nil
	}
	code, text := expression.CodeTypeError, err.Error()
	var known *expression.EvalError
	if errors.As(err, &known) {
		code, text = known.Code, known.Text
	}
	return &fold.BadEvent{Stage: stage, Code: code, Text: where + ": " + decode.OneLine(text)}
}
