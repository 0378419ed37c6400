package folding

import (
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// program is the declaration of a fold, checked and ready to run.
type program struct {
	code     *Code // what steps; nil: the expressions
	init     boundary.Value
	step     *form
	emitWhen *expression.Program // nil: with every event
	result   *form               // nil: the state
	keys     int                 // parts of the key; 0: one state
	givesKey bool                // see [fold.Site]

	maxKeys   int
	maxBytes  int64 // of all states
	stateMost int64 // of one

	// What is handed over has the fields of the key and those that the result has by name, or the
	// result as value. Without a key it is the result.
	keyFields fold.KeyFields
	shape     *boundary.Shape // nil: it is the result, and not known before it is there
	typ       expression.Type
}

// Compile implements [fold.Declared].
func (c Declared) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	p := &program{
		keys: len(c.Key), givesKey: at.GivesKey, maxKeys: max(c.MaxKeys, 1), maxBytes: max(c.MaxBytes, 1),
		stateMost: min(max(c.MaxBytes, 1), at.MaxBytes),
	}
	parts, ds := fold.CompileKeys(c.Key, at.Scope, nil)
	ds = append(ds, p.compileInit(c, at)...)
	step, state, more := compileStep(c, at, p.init)
	p.step = step
	ds = append(ds, more...)
	shaped := at.Shaped(expression.Name{Name: "state", Type: state})
	p.emitWhen, ds = fold.CompileExpr(c.EmitWhen, shaped, expression.CompileBool, ds)
	p.result, more = compileForm(&c.Result, shaped)
	if ds = append(ds, more...); len(ds) > 0 || step == nil {
		return nil, ds
	}
	if ds = p.compileShape(&c, parts); len(ds) > 0 {
		return nil, ds
	}
	terms := slices.Concat(p.step.programs(), p.result.programs())
	if p.emitWhen != nil {
		terms = append(terms, p.emitWhen)
	}
	if s := p.step.shape; s != nil {
		for _, x := range terms {
			x.Bind(fold.NameOwn, s)
		}
	}
	return &fold.Program{
		New: func() fold.Fold { return newFolding(p) }, Type: p.typ, Shape: p.shape,
		Keys: parts, Groups: p.keyFields, Terms: terms, LooksOnly: true,
	}, nil
}

// compileInit finds the state before the first event.
func (p *program) compileInit(c Declared, at *fold.Site) spec.Diagnostics {
	p.init = boundary.Null()
	scope := expression.Scope{Names: at.Scope.Names[fold.NameVars : fold.NameVars+1], For: at.Scope.For}
	made, ds := compileForm(&c.Init, scope)
	if made == nil {
		return ds
	}
	v, bad := made.eval(&expression.Env{Values: []boundary.Value{at.Vars}})
	if bad == nil {
		bad = p.tooLarge(int64(len(v.AppendBinary(nil))))
	}
	if bad != nil {
		e := c.Init.exprs()
		return append(ds, fold.Diagnostic(e[len(e)-1].Pos, bad.Code, "init"+bad.Text))
	}
	p.init = v.Compact()
	return ds
}

// compileStep finds the type of a state too: what a step makes of any state at all, or the first one. A step
// that is right for all states is checked with those that there can be. Without a step a state is anything.
func compileStep(c Declared, at *fold.Site, first boundary.Value) (*form, expression.Type, spec.Diagnostics) {
	state := expression.Any()
	for {
		step, ds := compileForm(&c.Step, at.Shaped(expression.Name{Name: "state", Type: state}))
		if step == nil {
			return nil, expression.Any(), ds
		}
		if !state.IsAny() {
			return step, state, ds
		}
		if state = expression.Either(expression.OfValue(first), step.typ); state.IsAny() {
			return step, state, ds
		}
	}
}

// compileShape names the fields of what is handed over.
func (p *program) compileShape(c *Declared, parts []*expression.Program) spec.Diagnostics {
	made, declared := p.result, &c.Result
	if made == nil {
		made, declared = p.step, &c.Step
	}
	if made == nil { // the program's code alone knows
		made = &form{typ: expression.Any()}
	}
	if len(parts) == 0 {
		p.shape, p.typ = made.shape, made.typ
		return nil
	}
	names, types := []string{valueField}, []expression.Type{made.typ}
	if made.shape != nil {
		names, types = nil, nil
		for _, f := range declared.Fields {
			t, _ := made.typ.Field(f.Name)
			names, types = append(names, f.Name), append(types, t)
		}
		p.keyFields = fold.NewKeyFields(parts)
	} else {
		p.keyFields = fold.NewKeyFields(parts, valueField)
	}
	fields := map[string]expression.Type{}
	for i, name := range p.keyFields.Names {
		fields[name] = p.keyFields.Types[i]
	}
	for i, name := range names {
		if _, twice := fields[name]; twice {
			return spec.Diagnostics{fold.Diagnostic(declared.Fields[i].Expr.Pos, "duplicate_field", fmt.Sprintf(
				"the key stands under the name %s already; remove this field, or give it another name", name))}
		}
		fields[name] = types[i]
	}
	p.shape = boundary.NewShape(slices.Concat(p.keyFields.Names, names)...)
	p.typ = expression.ObjectOf(fields, false)
	return nil
}

// valueField is where what has no fields of its own stands beside the key.
const valueField = "value"

// tooLarge says why a state of so many bytes cannot be kept; nil when it can.
func (p *program) tooLarge(bytes int64) *fold.BadEvent {
	if bytes <= p.stateMost {
		return nil
	}
	return &fold.BadEvent{Stage: stage, Code: expression.CodeLimitExceeded, Text: fmt.Sprintf(
		": the state would have %d bytes, at most %d fit; keep less of each event", bytes, p.stateMost)}
}
