package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Program is the declaration of a window, checked and ready to run.
type Program struct {
	Declared
	timed    bool // event time is declared; otherwise windows run on the arrival clock
	follows  bool // see [fold.Site]
	zone     *time.Location
	keys     []*expression.Program
	givesKey bool // see [fold.Site]
	calls    aggregate.Calls
	results  []*aggregate.Result
	outer    []boundary.Value // what results read beside the calls: vars

	// A group's row has the key and the aggregates.
	keyFields fold.KeyFields
	row       *boundary.Shape
	// shape is that of a boundary: a row with the window's times, or the times and the rows.
	shape *boundary.Shape
	typ   expression.Type
}

// Compile implements [fold.Declared].
func (c Declared) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	a := at.Accumulator
	w := &Program{
		Declared: c, timed: at.Timed, follows: at.Follows, givesKey: at.GivesKey,
		zone: time.UTC, outer: []boundary.Value{at.Vars},
	}
	if a.Timezone != "" {
		zone, err := time.LoadLocation(a.Timezone)
		if err != nil {
			return nil, spec.Diagnostics{fold.Diagnostic(a.Pos, "invalid_value", fmt.Sprintf(
				"timezone %q is not known here; write an IANA name such as Europe/Berlin", a.Timezone))}
		}
		w.zone = zone
	}
	var ds spec.Diagnostics
	w.keys, ds = fold.CompileKeys(c.Key, at.Scope, ds)
	shaped := at.Shaped()
	outer := expression.Scope{Names: shaped.Names[fold.NameVars : fold.NameVars+1], For: at.Scope.For}
	env := &expression.Env{Values: []boundary.Value{fold.NameVars: at.Vars}}
	for _, f := range c.Aggregate {
		text := cmp.Or(f.Expr.Text, "nil") // an empty one could not be read, which has been said
		r, err := w.calls.Compile(text, shaped, outer, env, fold.NameVars)
		if err != nil {
			ds = append(ds, fold.Diagnose(f.Expr, err))
			continue
		}
		w.results = append(w.results, r)
	}
	if ds = append(ds, w.checkSums()...); len(ds) > 0 {
		return nil, ds
	}
	if ds = w.compileShape(); len(ds) > 0 {
		return nil, ds
	}
	return &fold.Program{
		New: w.fold, Type: w.typ, Shape: w.shape,
		Keys: w.keys, Groups: w.keyFields, Args: w.calls.Args(), Stage: stage, LooksOnly: true,
		FactsOnly: true,
		Ticks:     c.Count == 0 && (!w.timed || c.Idle > 0 || c.Early > 0), Together: c.Early > 0,
		Lasts: c.Count == 0,
	}, nil
}

// mostSummed bounds what the sums of the parts of one window list of values: some megabytes for each key.
const mostSummed = 100_000

// checkSums refuses windows of so many events whose parts add up to more than is to be kept for each key.
func (w *Program) checkSums() spec.Diagnostics {
	if w.Count == 0 {
		return nil
	}
	parts := w.Count / w.partOf()
	all, name, most := w.calls.Lists(w.Count)
	if parts <= 2 || (parts-2)*all <= mostSummed { // the ends are no sums
		return nil
	}
	keeps, fewer := name+" keeps", name
	if all > most {
		keeps, fewer = "what lists values keeps", "all together"
	}
	at := max(0, slices.IndexFunc(w.Aggregate, func(f spec.Field) bool {
		return strings.Contains(f.Expr.Text, name+"(")
	}))
	return spec.Diagnostics{fold.Diagnostic(w.Aggregate[at].Expr.Pos, decode.CodeTooMany, fmt.Sprintf(
		"%s up to %d values, and a window is of %d parts, from each of which on they are kept: for each key "+
			"that may be more than %d; let %s keep at most %d, or every be a larger one of what divides size", keeps,
		all, parts, mostSummed, fewer, mostSummed/(parts-2)))}
}

func (w *Program) fold() fold.Fold {
	switch {
	case w.Count > 0:
		return NewCounts(w)
	case w.Gap > 0:
		return NewSessions(w)
	}
	return New(w)
}

// stage is where aggregates fail.
const stage = "aggregate"

// compileShape names the fields of a boundary.
func (w *Program) compileShape() spec.Diagnostics {
	var row []string
	fields := map[string]expression.Type{}
	add := func(names *[]string, name string, t expression.Type) {
		if _, twice := fields[name]; twice {
			return // the declaration has been refused for it, and is compiled for what else is wrong
		}
		*names = append(*names, name)
		fields[name] = t
	}
	w.keyFields = fold.NewKeyFields(w.keys, resultNames...)
	for i, name := range w.keyFields.Names {
		add(&row, name, w.keyFields.Types[i])
	}
	aggregates := len(row)
	for i, f := range w.Aggregate {
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
		if w.Count == 0 {
			add(&all, "start", expression.Of(boundary.KindTime))
			add(&all, "end", expression.Of(boundary.KindTime))
		}
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

// resultFault says why a group has no result.
func resultFault(name string, err error) *fold.BadEvent {
	var fault *expression.EvalError
	if errors.As(err, &fault) {
		return &fold.BadEvent{Stage: stage, Code: fault.Code, Text: name + ": " + decode.OneLine(fault.Text)}
	}
	return &fold.BadEvent{
		Stage: stage, Code: expression.CodeTypeError, Text: name + ": " + decode.OneLine(err.Error()),
	}
}
