package spec

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/lanes"
	"github.com/graphd/graphd/internal/spec/retry"
)

var (
	onErrors   = decode.Words("fail_epoch", "skip", "last_good", "dead_letter")
	priorities = decode.Words("normal", "high", "low", "background")
	onOverruns = decode.Words("record", "cancel_epoch", "degrade")
)

var nodeFields = []decode.Field[nodeDraft]{
	{Name: "inputs", Read: readNodeInputs},
	{Name: "after", Also: []string{"depends_on", "needs"}, Read: readAfter},
	{Name: "event", Read: func(d *decoder, v value, n *nodeDraft) {
		n.Event = new(bool)
		d.Bool(v, n.Event)
	}},
	{Name: "on_error", Read: func(d *decoder, v value, n *nodeDraft) { d.Pick(v, onErrors, &n.OnError) }},
	{Name: "priority", Read: func(d *decoder, v value, n *nodeDraft) { d.Pick(v, priorities, &n.Priority) }},
	{Name: "retry", Read: func(d *decoder, v value, n *nodeDraft) {
		n.Retry = retry.Default()
		retry.Read(d, v, &n.Retry)
	}},
	{Name: "lane", Read: func(d *decoder, v value, n *nodeDraft) { n.Lane, n.at.lane = lanes.ReadUse(d, v), v }},
	{Name: "budget", Read: func(d *decoder, v value, n *nodeDraft) { d.Duration(v, 1, &n.Budget) }},
	{Name: "on_overrun", Read: readOnOverrun},
	{Name: "delay", Read: func(d *decoder, v value, n *nodeDraft) { n.Delay = cycles.ReadDelay(d, v) }},
}

func readOnOverrun(d *decoder, v value, n *nodeDraft) {
	d.Pick(v, onOverruns, &n.OnOverrun)
	n.at.onOverrun = v
}

// nodeFields are the fields of a node. Those of the kinds say what it does; it has exactly one.
func (k *Kinds) nodeFields() []decode.Field[nodeDraft] {
	fields := make([]decode.Field[nodeDraft], 0, len(k.Nodes)+len(nodeFields))
	for _, kind := range k.Nodes {
		fields = append(fields, decode.KindField(kind, func(into *nodeDraft, name value, c NodeConfig) {
			into.configs[name.Key()] = c
		}))
	}
	return append(fields, nodeFields...)
}

// nodeKinds are the names of the kinds; of those that are built, and read by expressions.
func (k *Kinds) nodeKinds() (all, built, plain []string) {
	for _, kind := range k.Nodes {
		all = append(all, kind.Name())
		if !kind.Built() {
			continue
		}
		built = append(built, kind.Name())
		if !kind.Default().Reads().Listed() {
			plain = append(plain, kind.Name())
		}
	}
	return all, built, plain
}

// nodeDraft is a node that is being read.
type nodeDraft struct {
	*Node
	at  *link
	all *draft
	// configs are those that were given, by kind.
	configs map[string]NodeConfig
}

func readNodes(d *decoder, v value, g *draft) {
	pairs := d.Names(v, "node")
	g.Nodes = make([]Node, 0, len(pairs))
	fields := g.kinds.nodeFields()
	kinds, _, plain := g.kinds.nodeKinds()
	for _, p := range pairs {
		n := Node{
			Name: p.Key(), Pos: p.Name().Pos(),
			OnError: onErrors.Default(), Priority: priorities.Default(),
		}
		at := link{value: p.Value}
		configs := map[string]NodeConfig{}
		got, ok := decode.Object(d, p.Value, "a node", fields, &nodeDraft{&n, &at, g, configs})
		if kind, there := d.Exclusive(got, "the node", kinds); there {
			n.Kind, n.Config = kind.Key(), configs[kind.Key()]
			if n.Config == nil {
				n.Config = g.kinds.defaultNode(n.Kind) // it could not be read, which has been said
			}
		} else if ok {
			d.Report(p.Name(), decode.CodeMissingKind, "", "the node %s does nothing; give it one of %s",
				decode.Quote(n.Name), strings.Join(plain, ", "))
		}
		checkNodeInputs(d, &n, p.Value, got)
		if n.Budget > 0 && n.OnOverrun == "" {
			n.OnOverrun = onOverruns.Default()
		}
		if at.onOverrun.Given() && n.Budget == 0 && !got["budget"].Given() {
			d.Report(at.onOverrun.Name(), decode.CodeNoEffect, "", "on_overrun says what follows when the node takes "+
				"longer than its budget, and it has none; give it a budget, or remove this")
		}
		if _, calls := n.Config.(CallingNode); n.Config != nil && !calls && got["retry"].Given() {
			d.Report(got["retry"].Name(), decode.CodeConflict, "",
				"a node of kind %s calls nothing that could be tried again; remove retry", n.Kind)
		}
		g.Nodes = append(g.Nodes, n)
		g.links.nodes = append(g.links.nodes, at)
	}
}

// defaultNode is the configuration of a kind of which nothing is said; nil when it is not built.
func (k *Kinds) defaultNode(name string) NodeConfig {
	for _, kind := range k.Nodes {
		if kind.Name() == name && kind.Built() {
			return kind.Default()
		}
	}
	return nil
}

// Gate is a node, or a route of one, that another node comes after.
type Gate struct {
	Node  string
	Route string // "" for any value but null
	Pos   Pos
}

// String is the gate as it is declared: "node" or "node.route".
func (g Gate) String() string {
	if g.Route == "" {
		return g.Node
	}
	return g.Node + "." + g.Route
}

const aGate = "a node, or a route as node.route"

func readAfter(d *decoder, v value, n *nodeDraft) {
	switch {
	case v.IsMapping() && v.Find([]string{"any"}).Key() == "any" && v.Find([]string{"any"}).IsList():
		v := v.Find([]string{"any"})
		d.Report(v.Name(), decode.CodeUnknownField, "", "after has no field %s: a list by itself means that any of "+
			"them is enough; write after: [a, b]", decode.Quote("any"))
		readGates(d, v, n)
	case v.IsMapping():
		decode.One(d, v, "after", []decode.Field[nodeDraft]{{Name: "all", Read: readGates}}, n)
		n.AfterAll = len(n.After) > 1
	case v.IsList():
		readGates(d, v, n)
	default:
		readGate(d, v, n)
	}
}

func readGates(d *decoder, v value, n *nodeDraft) {
	if !d.List(v, "a list of nodes, or of routes as node.route") {
		return
	}
	for _, item := range d.OneOrMore(v, decode.MaxEntries, aGate) {
		readGate(d, item, n)
	}
	d.AsWritten(v)
}

func readGate(d *decoder, v value, n *nodeDraft) {
	text, ok := d.Text(v, aGate)
	if !ok || text == "" {
		return
	}
	g := Gate{Pos: v.Here().Pos()}
	g.Node, g.Route, _ = strings.Cut(text, ".")
	if slices.ContainsFunc(n.After, func(o Gate) bool { return o.Node == g.Node && o.Route == g.Route }) {
		d.Report(v.Here(), decode.CodeDuplicateEntry, "", "%s is named twice; remove one", v.Shown())
		return
	}
	n.After = append(n.After, g)
	n.at.after = append(n.at.after, v)
}

// NodeInput is a name that a node without an expression reads.
type NodeInput struct {
	Name string
	Pos  Pos
}

func readNodeInputs(d *decoder, v value, n *nodeDraft) {
	if !d.List(v, "a list of accumulators and nodes") {
		return
	}
	for _, item := range v.Items() {
		if name := d.NameOf(item, "accumulator or node"); name != "" {
			n.Inputs = append(n.Inputs, NodeInput{Name: name, Pos: item.Here().Pos()})
			n.all.links.nodeInputs = append(n.all.links.nodeInputs, nodeInput{item, n.Name, name})
		}
	}
}

// nodeInput is an entry of a node's inputs and the node.
type nodeInput struct {
	value
	node, name string
}

// checkNodeInputs checks that a node without an expression says what it reads, and no other does.
func checkNodeInputs(d *decoder, n *Node, at value, got decode.Given) {
	v, given := got["inputs"]
	listed := n.Reads().Listed()
	switch {
	case listed && !given:
		d.Missing(at, "inputs", "a node of kind "+n.Kind)
	case listed && v.IsList() && v.IsEmpty():
		d.Report(v.Whole(), decode.CodeEmptyValue, "",
			"the node %s has no inputs, so it would never run; name at least one", decode.Quote(n.Name))
	case given && n.Config != nil && !listed:
		d.Report(v.Name(), decode.CodeConflict, "",
			"what a node of kind %s reads is in its expressions; remove inputs", n.Kind)
	}
	seen := make(map[string]bool)
	for _, in := range n.Inputs {
		if seen[in.Name] {
			d.ReportAt(in.Pos, decode.CodeDuplicateEntry, "", "%s is listed twice; remove one", decode.Quote(in.Name))
		}
		seen[in.Name] = true
	}
}

// checkInputNames checks that what nodes list as inputs is there.
func (d *draft) checkInputNames(names []string) {
	for _, in := range d.links.nodeInputs {
		at, shown := in.value, in.Shown()
		switch {
		case in.name == in.node:
			d.Report(at.Here(), decode.CodeSelfReference, "", "the node %s cannot read itself; name another", shown)
		case !slices.Contains(names, in.name):
			d.Report(at.Here(), decode.CodeUnknownName, d.Nearest(at.Text(), names),
				"there is no accumulator or node %s; declare it or correct the name", shown)
		}
	}
}
