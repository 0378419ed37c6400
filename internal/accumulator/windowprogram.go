package accumulator

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// windowProgram is the declaration of a window, checked and ready to run.
type windowProgram struct {
	spec.Window
	timed bool // event time is declared; otherwise windows run on the arrival clock
	zone  *time.Location
	keys  []*expression.Program
	// givesKey says that the window's key is that of its boundaries: the graph has keys, and
	// the reactor does not say how they are made.
	givesKey bool
	lateKey  *keyProgram // of late events that are an input of their own; nil: they have none
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

// compileWindow compiles a window over events that emit has shaped to p.emitted.
func (p *Program) compileWindow(a *spec.Accumulator, scope expression.Scope) (*windowProgram, spec.Diagnostics) {
	w := &windowProgram{Window: a.Window, timed: p.time != nil, zone: time.UTC, outer: []boundary.Value{p.vars}}
	var ds spec.Diagnostics
	if a.Timezone != "" {
		zone, err := time.LoadLocation(a.Timezone)
		if err != nil {
			return nil, spec.Diagnostics{diagnostic(a.Pos, "invalid_value", fmt.Sprintf("timezone %q is not known here; write an IANA name such as Europe/Berlin", a.Timezone))}
		}
		w.zone = zone
	}
	for _, k := range a.Window.Key {
		var x *expression.Program
		if x, ds = compileExpr(k, scope, expression.Compile, ds); x == nil {
			continue
		}
		switch x.Type().Kind() {
		case boundary.KindObject, boundary.KindDuration, boundary.KindNull:
			ds = append(ds, diagnostic(k.Pos, expression.CodeTypeMismatch, "a key is a text, a whole number, a boolean or a time, or a list of these, and this is "+x.Type().String()))
		}
		w.keys = append(w.keys, x)
	}
	shaped := scope
	shaped.Names = slices.Clone(scope.Names)
	shaped.Names[nameEvent].Type = p.emitted
	outer := expression.Scope{Names: []expression.Name{scope.Names[nameVars]}}
	env := &expression.Env{Values: []boundary.Value{nameVars: p.vars}}
	for _, f := range a.Window.Aggregate {
		r, err := w.calls.Compile(f.Expr.Text, shaped, outer, env, nameVars)
		if err != nil {
			ds = append(ds, diagnose(f.Expr, err))
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
func (w *windowProgram) compileShape(a *spec.Accumulator) spec.Diagnostics {
	var row []string
	fields := map[string]expression.Type{}
	add := func(names *[]string, name string, t expression.Type) {
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
			return spec.Diagnostics{diagnostic(f.Expr.Pos, "duplicate_field", fmt.Sprintf("the key stands under the name %s already; give the aggregate another name", f.Name))}
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
func (w *windowProgram) compilePlain(row *[]string, fields map[string]expression.Type) {
	w.plain = make([]int, 0, len(w.keys))
	for i, x := range w.keys {
		reads := x.Reads()
		if len(reads) != 1 || reads[0].Name != nameEvent || len(reads[0].Path) != 1 || x.Text() != "event."+reads[0].Path[0] {
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

func (w *windowProgram) keyType() expression.Type {
	if len(w.keys) == 1 {
		return w.keys[0].Type()
	}
	return expression.Of(boundary.KindList)
}

// facts are what a window needs to know of one event. They are used again for the next.
type facts struct {
	at   int64 // event time, in nanoseconds since 1970
	key  boundary.Value
	args []boundary.Value // by the window's distinct arguments
}

// Event times are kept within these years: with any window added they are still times.
var (
	earliest = time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2240, 1, 1, 0, 0, 0, 0, time.UTC)
)

// place finds the time and the key of the event in the environment, as it came.
func (in *intake) place() *BadEvent {
	w := in.p.window
	if t := in.p.time; t != nil {
		v, err := t.expr.Eval(&in.env)
		if err != nil {
			return evalFault("time", err)
		}
		at, bad := t.parse(v)
		if bad != nil {
			return bad
		}
		if at.Before(earliest) || at.After(latest) {
			return invalidTime("the time %s is out of range", at.Format(time.RFC3339))
		}
		in.facts.at = at.UnixNano()
	}
	switch len(w.keys) {
	case 0:
		return nil
	case 1:
		v, bad := in.keyPart(w.keys[0])
		in.facts.key = v
		return bad
	}
	parts := make([]boundary.Value, len(w.keys))
	for i, x := range w.keys {
		v, bad := in.keyPart(x)
		if bad != nil {
			return bad
		}
		if v.Kind() == boundary.KindList {
			return &BadEvent{Stage: "key", Code: "bad_key", Text: "a key cannot have a list within a list"}
		}
		parts[i] = v
	}
	in.facts.key = boundary.List(parts)
	return nil
}

func (in *intake) keyPart(x *expression.Program) (boundary.Value, *BadEvent) {
	v, err := x.Eval(&in.env)
	if err != nil {
		return v, evalFault("key", err)
	}
	if f, ok := v.AsFloat(); ok && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		v = boundary.Int(int64(f)) // 1.0 and 1 are one key
	}
	return v, badKey(v, x.Text())
}

// measure evaluates the arguments of the aggregates over the shaped event v.
func (in *intake) measure(v boundary.Value) *BadEvent {
	w := in.p.window
	in.env.Values[nameEvent] = v
	for i, x := range w.calls.Args() {
		var err error
		if in.facts.args[i], err = x.Eval(&in.env); err != nil {
			return evalFault("aggregate", err)
		}
	}
	if text := w.calls.Check(in.facts.args); text != "" {
		return &BadEvent{Stage: "aggregate", Code: expression.CodeTypeError, Text: text}
	}
	return nil
}

// failure is a group whose result cannot be computed.
type failure struct {
	value boundary.Value // the key and the window's times
	key   boundary.Key
	bad   *BadEvent
	group group
}

// resultFault says why a group has no result.
func resultFault(name string, err error) *BadEvent {
	var fault *expression.EvalError
	if errors.As(err, &fault) {
		return &BadEvent{Stage: "aggregate", Code: fault.Code, Text: name + ": " + oneLine(fault.Text)}
	}
	return &BadEvent{Stage: "aggregate", Code: expression.CodeTypeError, Text: name + ": " + oneLine(err.Error())}
}

// keyTimes is [Program.KeyTimes] for a window that gives its boundaries their keys.
func (w *windowProgram) keyTimes() []bool {
	if w == nil || !w.givesKey {
		return nil
	}
	times := make([]bool, len(w.keys))
	for i, x := range w.keys {
		times[i] = x.Type().Kind() == boundary.KindTime
	}
	return times
}

// LateEvent is the static type of a window's late events: events as emit has shaped them.
func (p *Program) LateEvent() expression.Type { return p.emitted }

// SendLate makes late the input of the window's late events. It is called before the first
// Core is made.
func (p *Program) SendLate(late *Program) { p.window.lateKey = late.key }
