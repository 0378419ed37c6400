// Package compile turns a declaration into everything one graph needs to run: its
// accumulators' programs, its plan, and the reactor's configuration. It does no I/O and
// starts nothing; what it answers is immutable and may be shared by several runs of the
// graph.
package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/stage"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Unit is a compiled declaration.
type Unit struct {
	Spec *spec.Graph
	// Programs are the accumulators' intake and fold, in declaration order.
	Programs []*accumulator.Program
	Plan     *graph.Plan
	// Vars is the object that expressions read as `vars`, with its type.
	Vars     boundary.Value
	VarsType expression.Type

	inputs []reactor.Input
	stages []stage.Declared
	nodes  []kind.Node
	plain  bool
	// dealtOn is DealtOn.
	dealtOn string
	like    *Unit // whose parts it shares, which is there for others as long; nil: its own
}

// Of is the unit of a graph that differs from u's in its name, its file and its tenant alone; all else is shared.
func (u *Unit) Of(g *spec.Graph) *Unit {
	of := *u
	of.Spec, of.like = g, u
	return &of
}

// PlanJSON is the plan as it is shown.
func (u *Unit) PlanJSON() ([]byte, error) { return u.Plan.JSON(u.Spec.Name, u.Spec.Hash) }

// Options is how to compile. The zero Options are what a daemon wants.
type Options struct {
	// MaxEventBytes bounds one event; 0 means the accumulators' default.
	MaxEventBytes int
	// Plain leaves out what only makes a graph faster: no projection of the fields that are
	// read, every node computed in every epoch. The results are the same; benchmarks compare
	// with it.
	Plain bool
	// Spoil overwrites memory as soon as it may be used again, so that whoever has kept it
	// shows. It is for tests.
	Spoil bool
	// Events are the types of the events of accumulators, by name, where they are known without a schema.
	Events map[string]expression.Type
	// Nodes are the kinds that nodes can be of.
	Nodes []kind.Node
	// For is who has it compiled. Of one who has gone the diagnostics mean nothing; who asks is told whatever else is
	// wrong.
	For *expression.Caller
}

// Graph compiles a parsed declaration. The diagnostics are all there are, in the order of
// the document; the unit is nil when there are any.
func Graph(g *spec.Graph, o Options) (*Unit, spec.Diagnostics) {
	u, diags := staged(g, o)
	if len(diags) > 0 {
		return nil, Merge(diags)
	}
	if o.Plain {
		return u, u.describe()
	}
	for i, p := range u.Programs {
		fields, whole := u.Plan.Reads(i)
		if shape := p.Project(fields, whole); shape != nil {
			u.Plan.Bind(i, shape)
		}
	}
	return u, u.describe()
}

// pass compiles accumulators and plan. nodes are the types of the nodes that feed accumulators, as
// far as they are known.
func pass(g *spec.Graph, o Options, nodes map[string]expression.Type) (*Unit, spec.Diagnostics) {
	u := &Unit{Spec: g, plain: o.Plain, nodes: o.Nodes}
	vars, diags := variables(g)
	u.Vars, u.VarsType = vars, expression.OfValue(vars)
	if g.VarsUnread {
		u.VarsType = expression.Any()
	}
	inputs := make([]graph.Input, len(g.Accumulators))
	u.Programs = make([]*accumulator.Program, len(g.Accumulators))
	for _, i := range joinsLast(g) {
		a := &g.Accumulators[i]
		options := accumulator.CompileOptions{Vars: u.Vars, VarsType: u.VarsType, MaxEventBytes: o.MaxEventBytes,
			Keys: g.Reactor.Keys, Keyed: g.Keyed(), Spoil: o.Spoil, Event: nodes[a.From],
			Follows: a.From != "" && g.EventClock(), Dates: g.AsOf(), For: o.For,
			DealtBy: u.DealtBy()}
		if t, known := o.Events[a.Name]; known {
			options.Event = t
		}
		u.joinOptions(a, &options)
		if g.Unsure[a.Name] {
			options.Keys, options.Keyed = nil, false // what they read of it may be there
		}
		owner := u.program(a.Owner) // declared before its own input
		if owner != nil {
			options.Event = owner.Emitted()
		}
		p, ds := accumulator.Compile(a, options)
		if owner != nil && p != nil {
			owner.SendAside(p)
		}
		for k := range ds {
			ds[k].File = g.File
		}
		diags = append(diags, ds...)
		u.Programs[i] = p
		inputs[i] = graph.Input{Name: a.Name, From: a.From, Joins: joinNames(a), JoinedBy: a.JoinedBy,
			Type: expression.Any(), Event: a.Strategy != "latest", Unsaid: a.Unsaid(g.Reactor),
			AsOf: a.Folding().AsOf}
		if p != nil && !g.Unsure[a.Name] {
			inputs[i].Type = u.InputType(i)
		}
	}
	plan, ds := graph.CompileFor(o.For, g, inputs, o.Nodes)
	u.Plan = plan
	return u, append(diags, ds...)
}

// InputType is the type of input i's values as nodes see them: a boundary's, or under burst
// a list of them.
func (u *Unit) InputType(i int) expression.Type {
	t := u.Programs[i].Type()
	if u.Spec.Accumulators[i].Strategy == "burst" {
		return expression.ListOf(t)
	}
	return t
}

// program is the program of an accumulator that has been compiled; nil when there is none.
func (u *Unit) program(name string) *accumulator.Program {
	for _, p := range u.Programs {
		if p != nil && p.Name() == name {
			return p
		}
	}
	return nil
}

// Merge joins diagnostics of several passes in the order of the document, each once.
func Merge(passes ...spec.Diagnostics) spec.Diagnostics {
	diags := slices.Concat(passes...)
	slices.SortStableFunc(diags, func(a, b spec.Diagnostic) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	// A later pass over what an earlier one faulted may find the same again.
	return slices.CompactFunc(diags, func(a, b spec.Diagnostic) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Code == b.Code && a.File == b.File && a.Path == b.Path
	})
}

// describe prepares what the reactor needs to know of the inputs and nodes.
func (u *Unit) describe() spec.Diagnostics {
	var diags spec.Diagnostics
	g := u.Spec
	groups := map[string]int{"": 0}
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		if _, known := groups[a.SyncGroup]; !known {
			groups[a.SyncGroup] = len(groups)
		}
		in := reactor.Input{
			Name: a.Name, LateTo: a.Folding().Own.Name, Lateness: a.Folding().Lateness,
			Capacity: a.Capacity, CapacityBytes: a.CapacityBytes,
			Triggers:   a.Triggers(g.Reactor),
			Alone:      a.From != "" && g.Reactor.When == "all" && a.Triggers(g.Reactor),
			Sequential: a.Strategy == "sequential",
			Burst:      a.Strategy == "burst", Group: groups[a.SyncGroup],
			Global: (a.Global || a.JoinedBy != "") && g.Keyed(),
			AsOf:   a.Folding().AsOf, Identity: digest(u.identity(a)),
		}
		if a.JoinedBy == "" {
			in.Key = u.keyOf(a)
		}
		if in.Table = u.Programs[i].Table(); in.Table != nil {
			in.Default = in.Table.Value(nil)
		}
		if a.HasDefault {
			v, err := boundary.FromAny(a.Default)
			if err != nil {
				diags = append(diags, spec.Diagnostic{File: g.File, Line: a.Pos.Line, Column: a.Pos.Column,
					Path: a.Pos.Path + ".default", Code: "bad_default", Text: "default cannot be used as a value: " +
						err.Error()})
			}
			in.Default = v
		}
		u.inputs = append(u.inputs, in)
	}
	u.stages, u.dealtOn = u.declareStages(), u.findDealtOn()
	return append(diags, u.checkShards()...)
}

// Inputs are the reactor's inputs, in declaration order.
func (u *Unit) Inputs() []reactor.Input { return u.inputs }

// Reactor is the configuration of the graph's reactor, but for what the store decides
// (ID, Instance, Incarnation, Fence) and the clock (Mono).
func (u *Unit) Reactor() reactor.Config {
	g, r := u.Spec, u.Spec.Reactor
	outputs := make([]string, len(g.Outputs))
	for i := range g.Outputs {
		outputs[i] = g.Outputs[i].Name
	}
	return reactor.Config{
		Plan: u.Plan, Inputs: u.inputs, Outputs: outputs, Stages: u.stages,
		All: r.When == "all", Guard: !r.Guard.IsZero(),
		RateLimit: r.RateLimit, Debounce: r.Debounce, Every: r.Every, MaxWait: r.MaxWait,
		WarmTimeout: r.WarmTimeout, FailCold: r.OnWarmTimeout == "fail", EpochTimeout: r.MostOfEpoch(),
		HaltOnFailure: g.Durability.OnFailure == "halt", Forgetful: g.Durability.Mode == "none",
		Journal: g.Durability.Mode == "journal", EventClock: g.EventClock(),
		Beside:  u.beside(),
		DealtBy: g.DealtBy(), DealtOn: u.DealtOn(), PlanHash: g.Hash, KeepFirings: g.History.Keep,
		FullRecompute: u.plain, Keys: u.keys(),
	}
}

// beside says how many bytes nodes hold beside their values; nil when none does.
func (u *Unit) beside() func() int64 {
	var holding []kind.Holding
	for i := range u.Spec.Nodes {
		if c, ok := u.Spec.Nodes[i].Config.(kind.Holding); ok {
			holding = append(holding, c)
		}
	}
	if holding == nil {
		return nil
	}
	return func() (bytes int64) {
		for _, c := range holding {
			bytes += c.Bytes()
		}
		return bytes
	}
}

// Lanes bounds the handoff of each input.
func (u *Unit) Lanes() []reactor.Lane {
	lanes := make([]reactor.Lane, len(u.Spec.Accumulators))
	for i := range u.Spec.Accumulators {
		a := &u.Spec.Accumulators[i]
		lanes[i] = reactor.Lane{
			Name: a.Name, LateTo: a.Folding().Own.Name,
			Sequential: a.Strategy != "latest", Keyed: u.Spec.Keyed() && !u.inputs[i].Global,
			Grouped: a.SyncGroup != "",
			Table:   a.Folding().Hands == trait.Rows, Capacity: a.Capacity, MaxBytes: a.CapacityBytes,
		}
	}
	return lanes
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// Variables is the `vars` object of a declaration, with its type.
func Variables(g *spec.Graph) (boundary.Value, expression.Type) {
	v, _ := variables(g)
	return v, expression.OfValue(v)
}

// variables is the `vars` object, with what is wrong in it.
func variables(g *spec.Graph) (boundary.Value, spec.Diagnostics) {
	var diags spec.Diagnostics
	names := make([]string, len(g.Vars))
	values := make([]boundary.Value, len(g.Vars))
	for i, v := range g.Vars {
		names[i] = v.Name
		val, err := boundary.FromAny(v.Value)
		if err != nil {
			diags = append(diags, spec.Diagnostic{File: g.File, Line: v.Pos.Line, Column: v.Pos.Column,
				Path: v.Pos.Path,
				Code: "bad_value", Text: "this cannot be used as a value: " + err.Error()})
		}
		values[i] = val
	}
	return boundary.Object(boundary.NewShape(names...), values), diags
}
