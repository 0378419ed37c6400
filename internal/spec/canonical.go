package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/meaning"
)

// Fingerprint computes what [Graph.Hash] holds after [Parse]; for graphs that were
// built or changed in Go.
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

// freeAt adds a free-form value, as it was written if it holds references.
func (g *Graph) freeAt(t *meaning.Tree, path, name string, x any) {
	if asWritten, ok := g.unresolved.trees[path]; ok {
		x = asWritten
	}
	t.Free(name, x)
}

// canonical is the meaning of a declaration, with the defaults filled in. Its
// branches stand as in the document, so that their paths are those of diagnostics. A
// value from a reference is the reference.
func (g *Graph) canonical() *meaning.Tree {
	t := &meaning.Tree{}
	t.Text("graph", g.Name)
	if g.Description != "" {
		t.Text("description", g.Description)
	}
	vars := t.Branch("vars")
	for _, v := range slices.SortedFunc(slices.Values(g.Vars), func(a, b Var) int { return strings.Compare(a.Name, b.Name) }) {
		g.freeAt(vars, "vars."+v.Name, v.Name, v.Value)
	}
	accumulators := t.List("accumulators")
	for i := range g.Accumulators {
		g.addAccumulator(accumulators, &g.Accumulators[i])
	}
	r := t.Branch("reactor")
	addReactor(r, &g.Reactor)
	if g.Keyed() {
		addKeys(r, g.Reactor.Keys)
		r.Span("ttl", g.Reactor.TTL)
		r.Number("max_keys", int64(g.Reactor.MaxKeys))
		r.Text("on_evict", g.Reactor.OnEvict)
	}
	nodes := t.List("nodes")
	for i := range g.Nodes {
		addNode(nodes, &g.Nodes[i])
	}
	outputs := t.List("outputs")
	for i := range g.Outputs {
		addOutput(outputs, &g.Outputs[i])
	}
	b := t.Branch("durability")
	b.Text("mode", g.Durability.Mode)
	b.Span("interval", g.Durability.Interval)
	b.Number("every_epochs", int64(g.Durability.EveryEpochs))
	b.Text("on_failure", g.Durability.OnFailure)
	t.Branch("history").Number("keep", int64(g.History.Keep))
	b = t.Branch("dead_letters")
	b.Span("keep", g.DeadLetters.Keep)
	b.Number("max", int64(g.DeadLetters.Max))
	b.Number("max_bytes", g.DeadLetters.MaxBytes)
	t.PutBack(g.unresolved.fields)
	return t
}

func (g *Graph) addAccumulator(list *meaning.Tree, a *Accumulator) {
	t, path := list.Branch(a.Name), "accumulators."+document.Shorten(a.Name, 64)
	g.addSource(t.Branch("source"), path+".source", &a.Source)
	switch {
	case a.SchemaFile != "":
		t.Text("schema", a.SchemaFile)
	case a.Schema != nil:
		g.freeAt(t, path+".schema", "schema", a.Schema)
	}
	addExpr(t, "where", a.Where)
	addExpr(t, "emit", a.EmitExpr)
	if a.Emit != nil {
		addFields(t.Branch("emit"), a.Emit, true)
	}
	switch a.Kind {
	case "batch":
		b := t.Branch("batch")
		b.Number("size", int64(a.Batch.Size))
		b.Span("interval", a.Batch.Interval)
		if a.Batch.Flush != "" {
			b.Text("flush", a.Batch.Flush)
		}
	case "state":
		t.Branch("state").Number("keep", int64(a.State.Keep))
	case "window":
		addWindow(t.Branch("window"), &a.Window)
	}
	if !a.Time.IsZero() || a.Kind == "window" {
		addExpr(t, "time", a.Time)
		t.Text("time_unit", a.TimeUnit)
		t.Text("timezone", a.Timezone)
	}
	addKeys(t, a.Keys)
	t.Flag("global", a.Global)
	t.Flag("passive", a.Passive)
	if a.HasDefault {
		g.freeAt(t, path+".default", "default", a.Default)
	}
	t.Text("strategy", a.Strategy)
	if a.SyncGroup != "" {
		t.Text("sync_group", a.SyncGroup)
	}
	t.Number("capacity", int64(a.Capacity))
	t.Number("capacity_bytes", a.CapacityBytes)
}

func addWindow(t *meaning.Tree, w *Window) {
	t.Span("size", w.Size)
	t.Span("every", w.Every)
	t.Span("lateness", w.Lateness)
	t.Span("idle", w.Idle)
	t.Text("late", w.Late)
	if w.LateInput != "" {
		t.Text("late_input", w.LateInput)
	}
	t.Span("retain", w.Retain)
	t.Span("early", w.Early)
	if w.Key != nil {
		keys := t.List("key")
		for i, k := range w.Key {
			keys.Leaf(strconv.Itoa(i), k.Text)
		}
	}
	addFields(t.Branch("aggregate"), w.Aggregate, true)
	t.Text("groups", w.Groups)
}

func addFields(t *meaning.Tree, fields []Field, sorted bool) {
	if sorted {
		fields = slices.SortedFunc(slices.Values(fields), func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, f := range fields {
		t.Leaf(f.Name, f.Expr.Text)
	}
}

func (g *Graph) addSource(t *meaning.Tree, path string, s *Source) {
	b := t.Branch(s.Kind)
	switch s.Kind {
	case "file":
		b.Text("path", s.File.Path)
		b.Text("format", s.File.Format)
		b.Flag("follow", s.File.Follow)
		b.Text("on_truncate", s.File.OnTruncate)
	case "generator":
		b.Span("every", s.Generator.Every)
		b.Number("count", s.Generator.Count)
		addExpr(b, "expr", s.Generator.Expr)
		b.Number("seed", s.Generator.Seed)
	case "poll":
		b.Text("http", s.Poll.HTTP)
		b.Span("every", s.Poll.Every)
		b.Span("timeout", s.Poll.Timeout)
		addHeaders(b, s.Poll.Headers)
	case "websocket_client":
		b.Text("url", s.WebSocket.URL)
		if s.WebSocket.Subscribe != nil {
			messages := make([]any, len(s.WebSocket.Subscribe))
			for i, m := range s.WebSocket.Subscribe {
				messages[i] = m
			}
			g.freeAt(b, path+".websocket_client.subscribe", "subscribe", messages)
		}
		b.Span("ping", s.WebSocket.Ping)
		addHeaders(b, s.WebSocket.Headers)
	case "graph":
		b.Text("name", s.Graph.Name)
		b.Text("output", s.Graph.Output)
	case "go":
		b.Text("name", s.Go.Name)
	}
}

// addHeaders adds header fields. A value that was written into the document is shown to
// nobody all the same: that it changed is told by its digest.
func addHeaders(t *meaning.Tree, headers []Header) {
	if len(headers) == 0 {
		return
	}
	b := t.Branch("headers")
	for _, h := range slices.SortedFunc(slices.Values(headers), func(a, b Header) int { return strings.Compare(a.Name, b.Name) }) {
		b.Leaf(h.Name, hidden(h.Value))
	}
}

// hidden stands for a secret: two that differ are seen to.
func hidden(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "(hidden, " + hex.EncodeToString(sum[:4]) + ")"
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
	addExpr(t, "guard", r.Guard)
	t.Span("rate_limit", r.RateLimit)
	addSpan(t, "debounce", r.Debounce)
	addSpan(t, "every", r.Every)
	addSpan(t, "max_wait", r.MaxWait)
	t.Span("warm_timeout", r.WarmTimeout)
	t.Text("on_warm_timeout", r.OnWarmTimeout)
	t.Span("epoch_timeout", r.EpochTimeout)
	b := t.Branch("restart")
	b.Number("attempts", int64(r.Restart.Attempts))
	b.Span("base", r.Restart.Base)
	b.Span("max", r.Restart.Max)
	b.Span("reset", r.Restart.Reset)
	b.Text("on_exhausted", r.Restart.OnExhausted)
}

func addNode(list *meaning.Tree, n *Node) {
	t := list.Branch(n.Name)
	addExpr(t, "expr", n.Expr)
	if n.Routes != nil {
		addFields(t.List("route"), n.Routes, false)
	}
	if n.Kind == "go" {
		t.Branch("go").Text("name", n.Go.Name)
		b := t.List("inputs")
		for _, in := range n.Go.Inputs {
			b.Leaf(in.Name, "read")
		}
	}
	if n.After != "" {
		t.Text("after", n.After)
	}
	if n.Event != nil {
		t.Flag("event", *n.Event)
	}
	t.Text("on_error", n.OnError)
	t.Text("priority", n.Priority)
}

func addOutput(list *meaning.Tree, o *Output) {
	t := list.Branch(o.Name)
	t.Text("from", o.From)
	b := t.Branch("sink").Branch(o.Sink.Kind)
	if o.Sink.Kind == "file" {
		b.Text("path", o.Sink.File.Path)
		b.Text("format", o.Sink.File.Format)
	}
	switch o.Sink.Kind {
	case "http":
		b.Text("url", o.Sink.HTTP.URL)
		b.Text("method", o.Sink.HTTP.Method)
		addHeaders(b, o.Sink.HTTP.Headers)
	case "postgres":
		addPostgresSink(b, &o.Sink.Postgres)
	case "graph":
		b.Text("name", o.Sink.Graph.Name)
		b.Text("accumulator", o.Sink.Graph.Accumulator)
	case "go":
		b.Text("name", o.Sink.Go.Name)
	}
	t.Text("emit", o.Emit)
	t.Text("on_error", o.OnError)
	// Defaults are left out: a declaration from before there was a retry means the same.
	if o.Retry != defaultRetry() {
		b = t.Branch("retry")
		b.Number("attempts", int64(o.Retry.Attempts))
		b.Span("base", o.Retry.Base)
		b.Span("max", o.Retry.Max)
	}
	if o.Timeout != defaultCallTimeout {
		t.Span("timeout", o.Timeout)
	}
	if o.Delivery != "" {
		t.Text("delivery", o.Delivery)
	}
}

func addPostgresSink(b *meaning.Tree, p *PostgresSink) {
	b.Text("table", p.Table)
	b.Text("mode", p.Mode)
	for i, name := range p.Columns {
		b.Leaf("columns["+strconv.Itoa(i)+"]", name)
	}
	for i, name := range p.Conflict {
		b.Leaf("conflict["+strconv.Itoa(i)+"]", name)
	}
	if p.DSN != "" {
		b.Leaf("dsn", hidden(p.DSN)) // a password may be in it
	}
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

// addExpr leaves an expression out when it was not given: that is no difference.
func addExpr(t *meaning.Tree, name string, e Expr) {
	if !e.IsZero() {
		t.Leaf(name, e.Text)
	}
}
