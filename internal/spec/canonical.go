package spec

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/keep"
	"github.com/graphd/graphd/internal/spec/lanes"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/retry"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Fingerprint computes what [Graph.Hash] holds after [Parse]; for graphs that were built or changed in Go.
func (g *Graph) Fingerprint() string { return g.canonical().Hash() }

// Diff says what differs from a to b, one line per place, in the order of b's
// document with what was removed at the end of each part:
//
//	added nodes.edge
//	removed outputs.audit
//	changed accumulators.book.capacity: 1024 → 4096
//	reordered nodes
//
// Values from references are shown as the references. Nil means no graph.
func Diff(a, b *Graph) []string {
	x, y := &meaning.Tree{}, &meaning.Tree{}
	if a != nil {
		x = a.canonical()
	}
	if b != nil {
		y = b.canonical()
	}
	return meaning.Diff(x, y)
}

// Refers reports whether g was written with references: not all that it comes to is in its text.
func (g *Graph) Refers() bool { return g.written.Refers() }

// Reread says which references of b have resolved to something else than in a, by their names.
func Reread(a, b *Graph) []string { return meaning.Reread(a.written, b.written) }

// canonical is the meaning of a declaration, with the defaults filled in. Its
// branches stand as in the document, so that their paths are those of diagnostics. A
// value from a reference is the reference.
func (g *Graph) canonical() *meaning.Tree {
	t := meaning.New(g.written)
	t.Text("graph", g.Name)
	t.Given("description", g.Description)
	if g.Clock != "" && g.EventClock() != g.timed() {
		t.Text("clock", g.Clock)
	}
	if g.Idle != 0 && g.Idle != DefaultIdle {
		t.Span("idle", g.Idle)
	}
	vars := t.Branch("vars")
	for _, v := range slices.SortedFunc(slices.Values(g.Vars), byVarName) {
		vars.Free(v.Name, v.Value)
	}
	accumulators := t.List("accumulators")
	for i := range g.Accumulators {
		addAccumulator(accumulators, &g.Accumulators[i])
	}
	r := t.Branch("reactor")
	addReactor(r, g.Reactor)
	if g.Keyed() {
		addKeys(r, g.Reactor.Keys)
		r.Span("ttl", g.Reactor.TTL)
		r.Number("max_keys", int64(g.Reactor.MaxKeys))
		// Younger than the forms that stores hold: what is not said stays out of them.
		if g.Reactor.MaxWaiting != defaultMaxWaiting {
			r.Number("max_waiting", int64(g.Reactor.MaxWaiting))
		}
		if g.Reactor.MaxWaitingBytes != defaultMaxWaitingBytes {
			r.Number("max_waiting_bytes", g.Reactor.MaxWaitingBytes)
		}
		if g.Reactor.Shards != 1 {
			r.Number("shards", int64(g.Reactor.Shards))
		}
		r.Text("on_evict", g.Reactor.OnEvict)
	}
	nodes := t.List("nodes")
	for i := range g.Nodes {
		addNode(nodes, &g.Nodes[i])
	}
	cycles.Canonical(t, g.Loops)
	lanes.Canonical(t, g.Lanes)
	outputs := t.List("outputs")
	for i := range g.Outputs {
		addOutput(outputs, &g.Outputs[i])
	}
	keep.Canonical(t, g.Durability, g.History, g.DeadLetters)
	g.Limits.Canonical(t)
	return t.Close()
}

func addAccumulator(list *meaning.Tree, a *Accumulator) {
	t := list.Branch(a.Name)
	switch {
	case a.From != "":
		t.Text("from", a.From)
	case a.Joins(): // what it says of itself says what feeds it
	default:
		if b := t.Branch("source").Branch(a.Source.Kind); a.Source.Config != nil {
			a.Source.Config.Canonical(b)
		}
	}
	switch {
	case a.SchemaFile != "":
		t.Text("schema", a.SchemaFile)
	case a.Schema != nil:
		t.Free("schema", a.Schema)
	}
	t.Expr("where", a.Where.Text)
	t.Expr("emit", a.EmitExpr.Text)
	if a.Emit != nil {
		WriteFields(t.Branch("emit"), a.Emit)
	}
	if a.Config != nil {
		a.Config.Canonical(t.Branch(a.Kind))
	}
	if !a.Time.IsZero() || a.Folding().Time != trait.Untimed {
		t.Expr("time", a.Time.Text)
		t.Text("time_unit", a.TimeUnit)
		t.Text("timezone", a.Timezone)
	}
	addKeys(t, a.Keys)
	t.Given("partitioned", a.Partitioned)
	t.Flag("global", a.Global)
	t.Flag("passive", a.Passive)
	if a.HasDefault {
		t.Free("default", a.Default)
	}
	t.Text("strategy", a.Strategy)
	t.Given("sync_group", a.SyncGroup)
	t.Number("capacity", int64(a.Capacity))
	t.Number("capacity_bytes", a.CapacityBytes)
}

func byVarName(a, b Var) int     { return strings.Compare(a.Name, b.Name) }
func byFieldName(a, b Field) int { return strings.Compare(a.Name, b.Name) }

// WriteFields writes named expressions, whose order has no meaning.
func WriteFields(t *meaning.Tree, fields []Field) {
	for _, f := range slices.SortedFunc(slices.Values(fields), byFieldName) {
		t.Leaf(f.Name, f.Expr.Text)
	}
}

func addReactor(t *meaning.Tree, r *Reactor) {
	if r.Names == nil {
		t.Text("when", r.When)
	} else {
		b := t.Branch("when").Branch(r.When)
		for _, name := range slices.Sorted(slices.Values(r.Names)) {
			b.Leaf(name, "named")
		}
	}
	t.Text("strategy", r.Strategy)
	t.Expr("guard", r.Guard.Text)
	t.Span("rate_limit", r.RateLimit)
	addSpan(t, "debounce", r.Debounce)
	addSpan(t, "every", r.Every)
	addSpan(t, "max_wait", r.MaxWait)
	t.Span("warm_timeout", r.WarmTimeout)
	t.Text("on_warm_timeout", r.OnWarmTimeout)
	t.Span("epoch_timeout", r.EpochTimeout)
	addSpan(t, "budget", r.Budget)
	t.Given("on_overrun", r.OnOverrun)
	b := t.Branch("restart")
	b.Number("attempts", int64(r.Restart.Attempts))
	b.Span("base", r.Restart.Base)
	b.Span("max", r.Restart.Max)
	b.Span("reset", r.Restart.Reset)
	b.Text("on_exhausted", r.Restart.OnExhausted)
}

func addNode(list *meaning.Tree, n *Node) {
	t := list.Branch(n.Name)
	if n.Config != nil {
		n.Config.Canonical(t, n.Kind)
	}
	if n.Inputs != nil {
		b := t.List("inputs")
		for _, in := range n.Inputs {
			b.Leaf(in.Name, "read")
		}
	}
	if after := canonicalAfter(n); n.AfterAll {
		t.Branch("after").Text("all", after)
	} else if after != "" {
		t.Text("after", after)
	}
	if n.Event != nil {
		t.Flag("event", *n.Event)
	}
	t.Text("on_error", n.OnError)
	t.Text("priority", n.Priority)
	n.Delay.Canonical(t)
	t.Given("lane", n.Lane.Name)
	addSpan(t, "budget", n.Budget)
	t.Given("on_overrun", n.OnOverrun)
	if n.Retry != (Retry{}) {
		n.Retry.Canonical(t)
	}
}

// canonicalAfter is what a node comes after, whose order means nothing.
func canonicalAfter(n *Node) string {
	gates := make([]string, len(n.After))
	for i, g := range n.After {
		gates[i] = g.String()
	}
	slices.Sort(gates)
	return strings.Join(gates, ", ")
}

func addOutput(list *meaning.Tree, o *Output) {
	t := list.Branch(o.Name)
	t.Text("from", o.From)
	b := t.Branch("sink").Branch(o.Sink.Kind)
	if o.Sink.Config != nil {
		o.Sink.Config.Canonical(b)
	}
	t.Text("emit", o.Emit)
	t.Expr("where", o.Where.Text)
	if o.EmitNull {
		t.Flag("emit_null", true)
	}
	t.Text("on_error", o.OnError)
	// Defaults are left out: a declaration from before there was a retry means the same.
	if o.Retry != retry.Default() {
		o.Retry.Canonical(t)
	}
	if o.Timeout != defaultCallTimeout {
		t.Span("timeout", o.Timeout)
	}
	addSpan(t, "fresh", o.Fresh)
	t.Given("delivery", o.Delivery)
}

// addKeys adds the parts of a key. One alone and a list of one are the same.
func addKeys(t *meaning.Tree, keys []Expr) {
	for i, e := range keys {
		t.Leaf("key["+strconv.Itoa(i)+"]", e.Text)
	}
}

// addSpan leaves a time out when there is none.
func addSpan(t *meaning.Tree, name string, d time.Duration) {
	if d > 0 {
		t.Span(name, d)
	}
}
