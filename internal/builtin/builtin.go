// Package builtin is the list of the kinds of sources, sinks, accumulators and nodes there are, a line each, and
// makes what a declaration names.
//
// A new kind is a line in [Kinds.sources], [Kinds.sinks], [Kinds.accumulators] or [Kinds.nodes].
// What it needs of the daemon is an argument of its constructor there.
package builtin

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/folding"
	"github.com/graphd/graphd/internal/accumulator/gofold"
	"github.com/graphd/graphd/internal/accumulator/join"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/accumulator/table"
	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/builtin/turns"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/expr"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/node/route"
	"github.com/graphd/graphd/internal/node/wasm"
	"github.com/graphd/graphd/internal/node/webcall"
	"github.com/graphd/graphd/internal/sink"
	sinkdrop "github.com/graphd/graphd/internal/sink/drop"
	sinkfile "github.com/graphd/graphd/internal/sink/file"
	"github.com/graphd/graphd/internal/sink/followers"
	sinkgraph "github.com/graphd/graphd/internal/sink/graph"
	sinkkafka "github.com/graphd/graphd/internal/sink/kafka"
	"github.com/graphd/graphd/internal/sink/postgres"
	sinkgo "github.com/graphd/graphd/internal/sink/registered"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/sink/webhook"
	"github.com/graphd/graphd/internal/sink/websocket"
	sourceaudit "github.com/graphd/graphd/internal/source/audit"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/source/generator"
	sourcegraph "github.com/graphd/graphd/internal/source/graph"
	sourcekafka "github.com/graphd/graphd/internal/source/kafka"
	"github.com/graphd/graphd/internal/source/poll"
	sourcego "github.com/graphd/graphd/internal/source/registered"
	"github.com/graphd/graphd/internal/source/socket"
	"github.com/graphd/graphd/internal/source/wsclient"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

type (
	// Source describes a kind of source whose run time is a graph's.
	Source = kind.Source[accumulator.Source]
	// Sink describes a kind of sink whose run time is a graph's.
	Sink = kind.Sink[sink.Sink]
	// Node describes a kind of node.
	Node = kind.Node
	// Accumulator describes a kind that folds events into boundaries.
	Accumulator = decode.Kind[spec.AccumulatorConfig]

	// Tables looks at the tables of the store's own database.
	Tables = postgres.Tables
	// Modules are modules of WebAssembly that are compiled.
	Modules = wasm.Modules
)

// Kinds builds sources and sinks. Safe for concurrent use.
type Kinds struct {
	// Turns bounds what is compiled at one time by [Kinds.ParseFor]; nil is no bound.
	Turns  *turns.Turns
	caller expression.Caller
	// stored says that what is read was checked before.
	stored bool
	// Stdout is shared by all stdout sinks, so that lines of several graphs stay whole.
	Stdout *stdout.Output
	// MaxEventBytes bounds one event of a source.
	MaxEventBytes int
	// Reach is that of the default tenant, and of all where there is no Tenants.
	Reach
	// Tenants answers with what another tenant may reach.
	Tenants func(tenant string) *Reach
	// Store looks at tables of the store's own database; nil where the store has none.
	Store Tables
	// Audit is what the source audit reads; nil where there is none.
	Audit sourceaudit.Log
	// Functions, Folds, Sources and Sinks are what the program has registered for the kind go, by name.
	Functions map[string]gofunc.Function
	Folds     map[string]*gofold.Registered
	Sources   map[string]func() accumulator.Source
	Sinks     map[string]func() sink.Sink
	// Modules are those of WebAssembly that are compiled; nil keeps them for a declaration alone.
	Modules *Modules
	// Plain compiles without what only makes graphs faster; see [compile.Options].
	Plain bool
	// Traced has sources take from events which spans they come from.
	Traced traced.Taking
	// Spoil overwrites memory as soon as it may be used again, for tests.
	Spoil bool
	// MoreSources, MoreSinks and MoreNodes are kinds beside those that are built in.
	MoreSources []Source
	MoreSinks   []Sink
	MoreNodes   []Node
	// MoreAccumulators are made by [fold.NewKind].
	MoreAccumulators []Accumulator

	kept *lists
}

// lists are the kinds, made.
type lists struct {
	once     sync.Once
	sources  []Source
	sinks    []Sink
	nodes    []Node
	declared spec.Kinds
	alike    alike
}

// Keep has k make its lists of kinds once, and not for every declaration. Nothing of k changes from then on.
func (k *Kinds) Keep() { k.kept = &lists{} }

// lists are the kinds of k, which nobody changes.
func (k *Kinds) lists() *lists {
	l := k.kept
	if l == nil {
		l = &lists{}
	}
	l.once.Do(func() {
		l.sources, l.sinks, l.nodes = k.sources(), k.sinks(), k.nodes()
		l.declared = declared(l.sources, l.sinks, l.nodes, k.accumulators())
	})
	return l
}

// sources are the kinds of source. A declaration that names none has the first.
func (k *Kinds) sources() []Source {
	return append([]Source{
		socket.WebSocket(),
		socket.HTTP(),
		file.Kind(k.MaxEventBytes),
		generator.Kind(),
		sourcekafka.Kind(k.kafka(), k.MaxEventBytes),
		poll.Kind(k.Guard, k.Connections, k.MaxEventBytes),
		wsclient.Kind(k.Guard, k.MaxEventBytes),
		sourcegraph.Kind(),
		sourcegraph.Following(),
		sourceaudit.Kind(k.Audit),
		sourcego.Kind(k.Sources),
	}, k.MoreSources...)
}

// sinks are the kinds of sink.
func (k *Kinds) sinks() []Sink {
	return append([]Sink{
		stdout.Kind(k.Stdout),
		sinkfile.Kind(),
		websocket.Kind(),
		sinkdrop.Kind(),
		sinkkafka.Kind(k.kafka()),
		postgres.Kind(k.Store, k.Guard, k.Connections),
		webhook.Kind(k.Guard),
		sinkgraph.Kind(),
		followers.Kind(),
		sinkgo.Kind(k.Sinks),
	}, k.MoreSinks...)
}

// accumulators are the kinds of accumulator. With none of them events pass through.
func (k *Kinds) accumulators() []Accumulator {
	return append([]Accumulator{
		batch.Kind(),
		state.Kind(),
		window.Kind(),
		join.Kind(),
		folding.Kind(),
		table.Kind(),
		gofold.Kind(k.Folds),
	}, k.MoreAccumulators...)
}

// nodes are the kinds of node.
func (k *Kinds) nodes() []Node {
	return append([]Node{
		expr.Kind(),
		route.Kind(),
		wasm.Kind(k.Modules),
		webcall.Kind(k.Guard, k.Access != nil),
		gofunc.Kind(k.Functions),
	}, k.MoreNodes...)
}

// kafka is what the daemon has for all Kafka's kinds.
func (k *Kinds) kafka() kafkanet.Daemon {
	d := kafkanet.Daemon{Brokers: k.KafkaBrokers, Named: k.Connections, Traced: k.Traced}
	if k.Guard != nil {
		d.Dial, d.DialListed = k.Guard.DialContext, k.Guard.For(true).DialContext
		d.DialNamed = func(name string) (kafkanet.Dial, func(error) error) {
			guard := k.Guard.As(name)
			return guard.DialContext, guard.Hide
		}
	}
	return d
}

// Declared are the kinds as declarations name them.
func (k *Kinds) Declared() spec.Kinds { return k.lists().declared }

func declared(sources []Source, sinks []Sink, nodes []Node, accumulators []Accumulator) spec.Kinds {
	all := spec.Kinds{Accumulators: accumulators}
	for _, s := range sources {
		all.Sources = append(all.Sources, s.Kind)
	}
	for _, s := range sinks {
		all.Sinks = append(all.Sinks, s.Kind)
	}
	for _, n := range nodes {
		all.Nodes = append(all.Nodes, n.Kind)
	}
	return all
}

// Schema is the JSON Schema (draft 2020-12) of declarations. Editors complete and check
// declarations with it.
func (k *Kinds) Schema() []byte { return k.Declared().Schema() }

// Compile compiles a declaration and checks what its kinds have to say of it, so that a
// mistake in a source's configuration is a diagnostic and not a failure at run time.
func (k *Kinds) Compile(g *spec.Graph) (*compile.Unit, spec.Diagnostics) {
	k = k.For(g.Tenant)
	o := compile.Options{MaxEventBytes: k.MaxEventBytes, Plain: k.Plain, Spoil: k.Spoil, Nodes: k.lists().nodes}
	o.For = &k.caller
	u, diags := compile.Graph(g, o)
	passes := append([]spec.Diagnostics{diags}, k.check(g)...) // joined once: each part may have a mistake
	if diags = compile.Merge(passes...); len(diags) > 0 {
		return nil, diags
	}
	return u, nil
}

// check is what the kinds of sources and sinks have to say of a declaration.
func (k *Kinds) check(g *spec.Graph) (passes []spec.Diagnostics) {
	vars, _ := compile.Variables(g)
	for i := range g.Accumulators {
		if k.caller.HasGone() {
			break
		}
		s := &g.Accumulators[i].Source
		if described := find(k.lists().sources, s.Kind); described != nil && s.Config != nil {
			passes = append(passes, described.Check(s.Config, k.input(g, i, vars)))
		}
	}
	for i := range g.Outputs {
		if k.caller.HasGone() {
			break
		}
		s := &g.Outputs[i].Sink
		if described := find(k.lists().sinks, s.Kind); described != nil && s.Config != nil {
			passes = append(passes, described.Check(s.Config, k.output(g, i, vars)))
		}
	}
	return passes
}

// Check looks at what a declaration names outside of the daemon, and says what does not fit.
func (k *Kinds) Check(ctx context.Context, u *compile.Unit) (diags spec.Diagnostics) {
	k = k.For(u.Spec.Tenant)
	for i := range u.Spec.Outputs {
		s := &u.Spec.Outputs[i].Sink
		if described := find(k.lists().sinks, s.Kind); described != nil {
			diags = append(diags, described.Look(ctx, s.Config, k.output(u.Spec, i, u.Vars))...)
		}
	}
	return diags
}

// Source makes an accumulator's source, nil when its socket is all there is.
func (k *Kinds) Source(u *compile.Unit, i int) (accumulator.Source, error) {
	k = k.For(u.Spec.Tenant)
	s := &u.Spec.Accumulators[i].Source
	described := find(k.lists().sources, s.Kind)
	if described == nil {
		return nil, fmt.Errorf("source kind %q is not built in", s.Kind)
	}
	return described.Open(s.Config, k.input(u.Spec, i, u.Vars))
}

// Sink makes an output's sink, nil when its values are only counted and watched.
func (k *Kinds) Sink(u *compile.Unit, i int) (sink.Sink, error) {
	k = k.For(u.Spec.Tenant)
	s := &u.Spec.Outputs[i].Sink
	described := find(k.lists().sinks, s.Kind)
	if described == nil {
		return nil, fmt.Errorf("sink kind %q is not built in", s.Kind)
	}
	if err := k.makeFolder(u, s.Config); err != nil {
		return nil, err
	}
	return described.Open(s.Config, k.output(u.Spec, i, u.Vars))
}

// find is the kind with a name; nil when there is none.
func find[K interface{ Name() string }](kinds []K, name string) *K {
	for i := range kinds {
		if kinds[i].Name() == name {
			return &kinds[i]
		}
	}
	return nil
}

func (k *Kinds) input(g *spec.Graph, i int, vars boundary.Value) kind.Input {
	a := &g.Accumulators[i]
	at := kind.Place{File: g.File, Folder: k.folder(g), Name: a.Name, Pos: a.Source.Pos, Vars: vars,
		Access: k.access(g.File), Tenant: g.Tenant, For: &k.caller}
	return kind.Input{Place: at, Schema: a.Schema}
}

func (k *Kinds) output(g *spec.Graph, i int, vars boundary.Value) kind.Output {
	o := &g.Outputs[i]
	at := kind.Place{File: g.File, Folder: k.folder(g), Name: o.Name, Pos: o.Sink.Pos, Vars: vars,
		Access: k.access(g.File), For: &k.caller}
	return kind.Output{Place: at, Timeout: o.Timeout}
}

// Parse reads, resolves and compiles one declaration: everything that can be known of it
// without running it. The diagnostics are all there are. It is the default tenant's.
func (k *Kinds) Parse(document []byte, name string) (*compile.Unit, spec.Diagnostics) {
	return k.ParseOf(checkpoint.DefaultTenant, document, name)
}

// ParseOf is [Kinds.Parse] for a tenant's declaration.
func (k *Kinds) ParseOf(tenant string, document []byte, name string) (*compile.Unit, spec.Diagnostics) {
	k = k.For(tenant)
	if k.kept == nil { // once for this declaration
		own := *k
		own.Keep()
		k = &own
	}
	like, graph := likenessOf(document, name)
	if u := k.share(like, graph, name, tenant); u != nil && k.caller.Asks == nil {
		return u, nil
	}
	g, diags := spec.Parse(document, k.Declared(), spec.Options{File: name, Tenant: tenant,
		Resolve: k.access(name).Resolve})
	if g == nil {
		return nil, diags
	}
	diags = append(diags, k.denied(g)...)
	diags = append(diags, k.unconnected(g)...)
	diags = append(diags, k.ReadSchemas(g)...)
	diags = append(diags, k.load(g)...)
	u, more := k.Compile(g)
	if len(diags) > 0 {
		// That a part has nothing in it follows from what could not be read, which has been said.
		more = slices.DeleteFunc(more, func(d spec.Diagnostic) bool { return d.Code == spec.CodeMissingField })
	}
	if diags = compile.Merge(diags, more); len(diags) > 0 {
		return nil, g.Noted(diags)
	}
	k.lists().alike.keep(like, graph, u)
	return u, nil
}
