package accumulator

import (
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/eventtime"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/partitioner"
	"github.com/graphd/graphd/internal/eventschema"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/trait"
)

// DefaultMaxEventBytes bounds one event where nothing else is said: the size a request may have.
const DefaultMaxEventBytes = 8 << 20

// CompileOptions is what a declaration's accumulators share.
type CompileOptions struct {
	// Vars are the graph's constants, an object; the zero Value means none. VarsType is
	// their static type.
	Vars     boundary.Value
	VarsType expression.Type
	// MaxEventBytes bounds one event; 0 means DefaultMaxEventBytes.
	MaxEventBytes int
	// Keys are the reactor's key, for accumulators that have none of their own.
	Keys []spec.Expr
	// Event is the type of the events where it is known without a schema: of an input that another
	// accumulator has of its own.
	Event expression.Type
	// Follows: see [fold.Site].
	Follows bool
	// Keyed says that the graph has keys.
	Keyed bool
	// Dates says that rows are looked up as of the graph's events: boundaries say when they happened.
	Dates bool
	// DealtBy is the function that keys are dealt to shards by.
	DealtBy partitioner.Function
	// Spoil overwrites memory as soon as it may be used again; see [boundary.Limits]. It is
	// for tests.
	Spoil bool
	// For is who has it compiled.
	For *expression.Caller
	// Sides are the inputs that the accumulator takes, if it is a join.
	Sides [2]fold.Side
}

// Program is one accumulator's declaration, checked and ready to run. It is
// immutable after [Program.Project] and may be shared by any number of Cores.
type Program struct {
	name          string
	capacity      int
	capacityBytes int64
	maxEventBytes int
	vars          boundary.Value

	schema *eventschema.Schema // nil: none
	where  *expression.Program // nil: everything passes
	time   *eventtime.Program  // nil: no event time
	key    *keyProgram         // nil: the graph has no keys, or one value for all of them

	emit      []*expression.Program // by slot of emitShape
	emitShape *boundary.Shape       // nil: no emit mapping
	emitWhole *expression.Program   // emit as one expression; nil: none

	folds  *fold.Program // what the kind makes of events; nil: they pass through
	ownKey *keyProgram   // of what goes to the input that the kind has of its own; nil: it has none
	asides bool          // there is such an input
	// What the kind asks for: that facts are found of each event, the time among them, and that the
	// event is only lent; and whether its groups' key is that of the boundaries.
	places, timed, looksOnly, givesKey bool

	eventShape *boundary.Shape // fields decoded into slots; nil: none
	emitted    expression.Type // what one event becomes
	// lends says that a decoded event is looked at by where and emit and then let go, so
	// that one object serves all events. Set by Project.
	lends     bool
	readsMeta bool
	spoils    bool // see CompileOptions.Spoil
	dates     bool // see CompileOptions.Dates
	side      bool // of a join
	joins     bool // it is a join
	dealtBy   partitioner.Function
}

// Compile checks one accumulator and makes it runnable. Its schema must be resolved
// into a.Schema. All mistakes are reported at once; their File is the caller's to fill in.
func Compile(a *spec.Accumulator, o CompileOptions) (*Program, spec.Diagnostics) {
	p := &Program{
		name:     a.Name,
		capacity: a.Capacity, capacityBytes: a.CapacityBytes,
		maxEventBytes: o.MaxEventBytes, vars: o.Vars, spoils: o.Spoil, dates: o.Dates,
		side: a.JoinedBy != "", joins: a.Joins(), dealtBy: o.DealtBy,
	}
	if p.maxEventBytes <= 0 {
		p.maxEventBytes = DefaultMaxEventBytes
	}
	if p.vars.IsAbsent() {
		p.vars = boundary.Object(boundary.NewShape(), nil)
		o.VarsType = expression.OfValue(p.vars)
	}
	event := o.Event
	var ds spec.Diagnostics
	if a.Schema != nil {
		s, err := eventschema.Compile(a.Schema, "the event")
		if err != nil {
			ds = append(ds, fold.Diagnostic(a.SchemaPos, "schema_invalid", err.Error()))
		}
		p.schema = s
		event = expression.FromSchema(a.Schema)
	}
	scope := expression.Scope{For: o.For, Names: []expression.Name{
		fold.NameEvent: {Name: "event", Type: event},
		fold.NameMeta:  {Name: "meta", Type: metaType()},
		fold.NameVars:  {Name: "vars", Type: o.VarsType},
	}}
	p.where, ds = fold.CompileExpr(a.Where, scope, expression.CompileBool, ds)
	if !a.Time.IsZero() {
		var d spec.Diagnostics
		p.time, d = eventtime.Compile(a, scope)
		ds = append(ds, d...)
	}
	p.emitted = event
	ds = p.compileEmit(a, scope, ds)
	p.givesKey = o.Keyed && len(o.Keys) == 0 && !a.Global
	ds = append(ds, p.compileKind(a, &o, scope)...)
	if len(ds) > 0 {
		return nil, ds
	}
	ds = p.compileKey(a, o.Keys, scope, ds)
	if len(ds) > 0 {
		return nil, ds
	}
	p.readsMeta = slices.ContainsFunc(slices.Concat(p.expressions(), p.arguments()), func(x *expression.Program) bool {
		return slices.ContainsFunc(x.Reads(), func(r expression.Read) bool { return r.Name == fold.NameMeta })
	})
	return p, nil
}

// compileKind compiles what the kind makes of events.
func (p *Program) compileKind(a *spec.Accumulator, o *CompileOptions, scope expression.Scope) (ds spec.Diagnostics) {
	if a.Kind == kindPassthrough {
		return nil
	}
	declared, ok := a.Config.(fold.Declared)
	if !ok {
		return spec.Diagnostics{fold.Diagnostic(a.Pos, "not_yet_supported",
			fmt.Sprintf("accumulator %q: no fold of kind %q", p.name, a.Kind))}
	}
	site := fold.Site{
		Place: fold.Place{
			Place: kind.Place{Name: a.Name, Pos: a.KindPos, Vars: p.vars}, Accumulator: a,
		},
		Scope: scope, Emitted: p.emitted, Timed: p.time != nil, Follows: o.Follows, GivesKey: p.givesKey,
		MaxBytes: p.capacityBytes, Sides: o.Sides,
	}
	if site.MaxBytes <= 0 {
		site.MaxBytes = DefaultMaxEventBytes
	}
	if p.folds, ds = declared.Compile(&site); len(ds) > 0 || p.folds == nil {
		return ds
	}
	f := *p.folds
	f.Keys, f.Args, f.Terms = readable(f.Keys), readable(f.Args), readable(f.Terms)
	p.folds = &f
	p.timed = p.time != nil && declared.Folding().Time != trait.Untimed
	p.places = p.timed || len(f.Keys)+len(f.Args)+len(f.Terms) > 0
	p.looksOnly = f.LooksOnly
	return nil
}

// readable are the programs of the expressions that could be read. What could not has been told by
// whoever parsed the declaration, which never runs.
func readable(all []*expression.Program) []*expression.Program {
	return slices.DeleteFunc(slices.Clone(all), func(x *expression.Program) bool { return x == nil })
}

// compileEmit compiles the mapping, or the one expression, that shapes an event.
func (p *Program) compileEmit(a *spec.Accumulator, scope expression.Scope, ds spec.Diagnostics) spec.Diagnostics {
	if !a.EmitExpr.IsZero() {
		p.emitWhole, ds = fold.CompileExpr(a.EmitExpr, scope, expression.Compile, ds)
		if p.emitWhole != nil {
			p.emitted = p.emitWhole.Type()
		}
		return ds
	}
	if a.Emit == nil {
		return ds
	}
	names := make([]string, len(a.Emit))
	types := make(map[string]expression.Type, len(a.Emit))
	p.emit = make([]*expression.Program, len(a.Emit))
	for i, f := range a.Emit {
		names[i] = f.Name
		types[f.Name] = expression.Any() // of one that is wrong nothing is known but its name
		p.emit[i], ds = fold.CompileExpr(f.Expr, scope, expression.Compile, ds)
		if p.emit[i] != nil {
			types[f.Name] = p.emit[i].Type()
		}
	}
	p.emitShape = boundary.NewShape(names...)
	p.emitted = expression.ObjectOf(types, false)
	return ds
}

// expressions are all that read an event as it came. A field of emit that could not be read has none:
// its mistake has been told by whoever parsed the declaration.
func (p *Program) expressions() (all []*expression.Program) {
	for _, x := range append(slices.Clone(p.emit), p.where, p.emitWhole) {
		if x != nil {
			all = append(all, x)
		}
	}
	if p.time != nil {
		all = append(all, p.time.Expr)
	}
	if p.key != nil && p.key.ofEvent {
		all = append(all, p.key.parts...)
	}
	if p.folds != nil {
		all = append(all, p.folds.Keys...)
		if p.folds.Deletes != nil {
			all = append(all, p.folds.Deletes)
		}
	}
	return all
}

// Emit are the expressions of emit along its fields, or the one that it is; nil for one that could not be read.
func (p *Program) Emit() []*expression.Program {
	if p.emitWhole != nil {
		return []*expression.Program{p.emitWhole}
	}
	return p.emit
}

// arguments are the expressions of the kind that read an event as emit has shaped it.
func (p *Program) arguments() []*expression.Program {
	if p.folds == nil {
		return nil
	}
	return slices.Concat(p.folds.Args, p.folds.Terms)
}

// Name is the accumulator's name.
func (p *Program) Name() string { return p.name }

// Type is the static type of a boundary's value: what an event becomes, or a list of it.
func (p *Program) Type() expression.Type {
	if p.folds == nil {
		return p.emitted
	}
	return p.folds.Type
}

// Table is what the reactor does with the states of a table; nil for all that is none.
func (p *Program) Table() fold.Rows {
	if p.folds == nil {
		return nil
	}
	return p.folds.Table
}

// Time is the expression of an event's own time; nil where none is declared.
func (p *Program) Time() *expression.Program {
	if p.time == nil {
		return nil
	}
	return p.time.Expr
}

// canLend says that nothing but the accumulator's own expressions look at a decoded event,
// and that those whose values are kept take fields out of it and never the event itself.
func (p *Program) canLend() bool {
	if p.where == nil && p.emit == nil && p.emitWhole == nil && !p.looksOnly {
		return false
	}
	for _, x := range readable(slices.Concat(p.Emit(), p.arguments())) {
		for _, r := range x.Reads() {
			if r.Name == fold.NameEvent && len(r.Path) == 0 {
				return false
			}
		}
	}
	return true
}

// Project says which fields of the boundary's value are read downstream, and whether the
// value is used as a whole. It is called once, after the graph is compiled and before the
// first Core is made; from then on only fields that something reads are decoded into slots.
// It returns the shape to bind readers of the boundary to, nil when there is none: the
// value is a list, or what emit makes is not known before it runs.
func (p *Program) Project(fields []string, whole bool) *boundary.Shape {
	shaped := p.emitShape != nil || p.emitWhole != nil
	var read []string
	add := func(field string) {
		if !slices.Contains(read, field) {
			read = append(read, field)
		}
	}
	onEvent := p.expressions()
	if !shaped {
		onEvent = append(onEvent, p.arguments()...)
	}
	for _, x := range onEvent {
		for _, r := range x.Reads() {
			if r.Name == fold.NameEvent && len(r.Path) > 0 {
				add(r.Path[0])
			}
		}
	}
	if p.schema != nil {
		for _, f := range p.schema.Fields() {
			add(f)
		}
	}
	if !shaped && p.folds == nil {
		for _, f := range fields {
			add(f)
		}
		if p.key != nil {
			for _, f := range p.key.fields {
				add(f)
			}
		}
	}
	if len(read) > 0 {
		p.eventShape = boundary.NewShape(read...)
		for _, x := range onEvent {
			x.Bind(fold.NameEvent, p.eventShape)
		}
	}
	for _, x := range p.arguments() {
		if p.emitShape != nil {
			x.Bind(fold.NameEvent, p.emitShape)
		}
	}
	for _, x := range slices.Concat(p.expressions(), p.arguments()) {
		x.Bind(fold.NameMeta, metaShape)
	}
	p.lends = p.canLend()
	shape := p.eventShape
	switch {
	case p.folds != nil:
		shape = p.folds.Shape
	case p.emitWhole != nil:
		shape = nil
	case p.emitShape != nil:
		shape = p.emitShape
	}
	if p.key != nil {
		p.key.bind(shape)
	}
	return shape
}

// Emitted is the static type of an event as emit has shaped it: of what goes to the input that the
// kind has of its own.
func (p *Program) Emitted() expression.Type { return p.emitted }

// SendAside makes own the input that the kind has of its own. It is called before the first Core
// is made.
func (p *Program) SendAside(own *Program) { p.ownKey, p.asides = own.key, true }
