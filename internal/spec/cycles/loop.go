package cycles

import (
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

const (
	defaultIterations = 100
	maxIterations     = 100_000
)

// Loop is nodes that rest on each other, and run until they agree.
type Loop struct {
	Name string
	Pos  decode.Pos
	// Nodes are those of the loop, in the order in which they run in every iteration.
	Nodes []Name
	// MaxIterations bounds how often they run: 1 to 100,000, default 100.
	MaxIterations int
	// Budget is how long they may take; 0: as long as the epoch.
	Budget time.Duration
	// Until is the condition that ends the loop; zero: an iteration that changes nothing ends it.
	Until decode.Expr
	// OnNoConvergence is what follows when the loop has not ended by then: "discard" (default),
	// "commit" or "fail".
	OnNoConvergence string
}

var onNoConvergences = decode.Words("discard", "commit", "fail")

var loopFields = []decode.Field[Loop]{
	{Name: "nodes", Need: true, Listed: true,
		Read: func(d *decode.Decoder, v decode.Value, l *Loop) { l.Nodes = names(d, v) }},
	{Name: "max_iterations", Also: []string{"limit", "max"}, Read: func(d *decode.Decoder, v decode.Value, l *Loop) {
		d.Count(v, 1, maxIterations, &l.MaxIterations)
	}},
	{Name: "until", Also: []string{"condition", "while"},
		Read: func(d *decode.Decoder, v decode.Value, l *Loop) { l.Until = d.Expr(v) }},
	{Name: "on_no_convergence", Read: func(d *decode.Decoder, v decode.Value, l *Loop) {
		d.Pick(v, onNoConvergences, &l.OnNoConvergence)
	}},
	{Name: "budget", Read: func(d *decode.Decoder, v decode.Value, l *Loop) { d.Duration(v, 1, &l.Budget) }},
}

// ReadLoops reads a mapping from names to loops. Whether their nodes are there is for who knows all of them.
func ReadLoops(d *decode.Decoder, v decode.Value) (loops []Loop) {
	for _, p := range d.Names(v, "loop") {
		l := Loop{Name: p.Key(), Pos: p.Name().Pos(), MaxIterations: defaultIterations,
			OnNoConvergence: onNoConvergences.Default()}
		decode.Object(d, p.Value, "a loop", loopFields, &l)
		loops = append(loops, l)
	}
	return loops
}

// Mappings are the mappings of the declaration that are read here.
func Mappings() []decode.Mapping {
	return []decode.Mapping{
		decode.MappingOf("loop", loopFields, decode.Choices{"on_no_convergence": onNoConvergences}),
	}
}

// Canonical writes the loops. The order of a loop's nodes is part of what it means, that of the loops is not.
func Canonical(t *meaning.Tree, loops []Loop) {
	if len(loops) == 0 {
		return
	}
	all := t.Branch("loops")
	byName := func(a, b Loop) int { return strings.Compare(a.Name, b.Name) }
	for _, l := range slices.SortedFunc(slices.Values(loops), byName) {
		b := all.Branch(l.Name)
		nodes := make([]string, len(l.Nodes))
		for i, n := range l.Nodes {
			nodes[i] = n.Name
		}
		b.Texts("nodes", nodes)
		b.Number("max_iterations", int64(l.MaxIterations))
		if l.Budget > 0 {
			b.Span("budget", l.Budget)
		}
		b.Expr("until", l.Until.Text)
		b.Text("on_no_convergence", l.OnNoConvergence)
	}
}
