package window

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// Program is the declaration of a window, checked and ready to run.
type Program struct {
	spec.Window
	timed    bool // event time is declared; otherwise windows run on the arrival clock
	zone     *time.Location
	keys     []*expression.Program
	givesKey bool // see Options
	calls    aggregate.Calls
	results  []*aggregate.Result
	outer    []boundary.Value // what results read beside the calls: vars

	// A group's row has the key, under "key" and under the names of its plain fields, and
	// the aggregates; names are the indexes of the parts of the key for the latter.
	plain []int
	row   *boundary.Shape
	// shape is that of a boundary: a row with the window's times, or the times and the rows.
	shape *boundary.Shape
	typ   expression.Type
}

// Options are what a window needs to know of its accumulator.
type Options struct {
	// Scope is what expressions over an event as it came can read; Emitted is the type of
	// what emit makes of it, over which the aggregates are.
	Scope   expression.Scope
	Emitted expression.Type
	Vars    boundary.Value
	// Timed says that events have times of their own.
	Timed bool
	// GivesKey says that the window's key is that of its boundaries: the graph has keys, and
	// the reactor does not say how they are made.
	GivesKey bool
}

// Compile compiles a window.
func Compile(a *spec.Accumulator, o Options) (*Program, spec.Diagnostics) {
	w := &Program{
		Window: a.Window, timed: o.Timed, givesKey: o.GivesKey, zone: time.UTC, outer: []boundary.Value{o.Vars},
	}
	scope := o.Scope
	var ds spec.Diagnostics
	if a.Timezone != "" {
		zone, err := time.LoadLocation(a.Timezone)
		if err != nil {
			return nil, spec.Diagnostics{fold.Diagnostic(a.Pos, "invalid_value", fmt.Sprintf(
				"timezone %q is not known here; write an IANA name such as Europe/Berlin", a.Timezone))}
		}
		w.zone = zone
	}
	for _, k := range a.Window.Key {
		var x *expression.Program
		if x, ds = fold.CompileExpr(k, scope, expression.Compile, ds); x == nil {
			continue
		}
		switch x.Type().Kind() {
		case boundary.KindObject, boundary.KindDuration, boundary.KindNull:
			ds = append(ds, fold.Diagnostic(k.Pos, expression.CodeTypeMismatch, keyKinds+x.Type().String()))
		}
		w.keys = append(w.keys, x)
	}
	shaped := scope
	shaped.Names = slices.Clone(scope.Names)
	shaped.Names[fold.NameEvent].Type = o.Emitted
	outer := expression.Scope{Names: []expression.Name{scope.Names[fold.NameVars]}}
	env := &expression.Env{Values: []boundary.Value{fold.NameVars: o.Vars}}
	for _, f := range a.Window.Aggregate {
		r, err := w.calls.Compile(f.Expr.Text, shaped, outer, env, fold.NameVars)
		if err != nil {
			ds = append(ds, fold.Diagnose(f.Expr, err))
			continue
		}
		w.results = append(w.results, r)
	}
	if len(ds) > 0 {
		return nil, ds
	}
	return w, w.compileShape(a)
}

// compileShape names the fields of a boundary.
func (w *Program) compileShape(a *spec.Accumulator) spec.Diagnostics {
	var row []string
	fields := map[string]expression.Type{}
	add := func(names *[]string, name string, t expression.Type) {
		if _, twice := fields[name]; twice {
			return // the declaration has been refused for it, and is compiled for what else is wrong
		}
		*names = append(*names, name)
		fields[name] = t
	}
	if len(w.keys) > 0 {
		add(&row, "key", w.keyType())
		w.compilePlain(&row, fields)
	}
	aggregates := len(row)
	for i, f := range a.Window.Aggregate {
		if slices.Contains(row, f.Name) {
			return spec.Diagnostics{fold.Diagnostic(f.Expr.Pos, "duplicate_field", fmt.Sprintf(
				"the key stands under the name %s already; give the aggregate another name", f.Name))}
		}
		add(&row, f.Name, w.results[i].Type())
	}
	var all []string
	if w.Groups == "all" {
		add(&all, "start", expression.Of(boundary.KindTime))
		add(&all, "end", expression.Of(boundary.KindTime))
		rows := map[string]expression.Type{}
		for _, name := range row {
			rows[name] = fields[name]
			delete(fields, name)
		}
		add(&all, "groups", expression.ListOf(expression.ObjectOf(rows, false)))
		w.row = boundary.NewShape(row...)
	} else {
		all = append(all, row[:aggregates]...)
		add(&all, "start", expression.Of(boundary.KindTime))
		add(&all, "end", expression.Of(boundary.KindTime))
		all = append(all, row[aggregates:]...)
	}
	if w.Late == "update" {
		add(&all, "update", expression.Of(boundary.KindBool))
	}
	if w.Early > 0 {
		add(&all, "early", expression.Of(boundary.KindBool))
	}
	w.shape, w.typ = boundary.NewShape(all...), expression.ObjectOf(fields, false)
	return nil
}

// compilePlain finds the parts of the key that are plain fields, which also stand under their own names.
func (w *Program) compilePlain(row *[]string, fields map[string]expression.Type) {
	w.plain = make([]int, 0, len(w.keys))
	for i, x := range w.keys {
		reads := x.Reads()
		if len(reads) != 1 || reads[0].Name != fold.NameEvent || len(reads[0].Path) != 1 ||
			x.Text() != "event."+reads[0].Path[0] {
			continue
		}
		name := reads[0].Path[0]
		if slices.Contains(spec.WindowNames(), name) || slices.Contains(*row, name) {
			continue
		}
		w.plain = append(w.plain, i)
		*row, fields[name] = append(*row, name), x.Type()
	}
}

func (w *Program) keyType() expression.Type {
	if len(w.keys) == 1 {
		return w.keys[0].Type()
	}
	return expression.Of(boundary.KindList)
}

// Failure is a pane whose result cannot be computed.
type Failure struct {
	Value  boundary.Value // the key and the window's times
	Key    boundary.Key
	Bad    *fold.BadEvent
	Events int64 // that were in it and are accounted for by nothing else
	Last   boundary.Position
}

// resultFault says why a group has no result.
func resultFault(name string, err error) *fold.BadEvent {
	var fault *expression.EvalError
	if errors.As(err, &fault) {
		return &fold.BadEvent{Stage: "aggregate", Code: fault.Code, Text: name + ": " + fold.OneLine(fault.Text)}
	}
	return &fold.BadEvent{
		Stage: "aggregate", Code: expression.CodeTypeError, Text: name + ": " + fold.OneLine(err.Error()),
	}
}

// Type is the static type of a boundary's value.
func (w *Program) Type() expression.Type { return w.typ }

// Shape is the shape of a boundary's value.
func (w *Program) Shape() *boundary.Shape { return w.shape }

// Keys are the parts of the key, over an event as it came.
func (w *Program) Keys() []*expression.Program { return w.keys }

// Args are the distinct arguments of the aggregates, over an event as emit has shaped it.
func (w *Program) Args() []*expression.Program { return w.calls.Args() }

// Check says what is wrong with an event's arguments, "" when nothing is.
func (w *Program) Check(args []boundary.Value) string { return w.calls.Check(args) }

// KeyTimes says for each part of the boundaries' key whether it is a time; nil when the
// window does not give them their keys.
func (w *Program) KeyTimes() []bool {
	if !w.givesKey {
		return nil
	}
	times := make([]bool, len(w.keys))
	for i, x := range w.keys {
		times[i] = x.Type().Kind() == boundary.KindTime
	}
	return times
}
