package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// End is the accumulator that a link leads to.
type End struct {
	Graph       api.Ref
	Accumulator string
}

// Mailbox takes events for an accumulator. *pump.Mailbox implements it.
type Mailbox interface {
	// Push hands events over and says how many leading ones were taken: fewer than all when ctx
	// was done first.
	Push(ctx context.Context, events []boundary.Event) (pump.PushOutcome, error)
}

// Graphs are what links lead from and to.
type Graphs interface {
	// Mailbox is what takes events for the end of a link, or why there is none now. It is asked
	// for each delivery: graphs come and go.
	Mailbox(to End) (Mailbox, error)
	// Upstream says why the output that feeds an accumulator is not there, "" when it is.
	Upstream(from api.Ref, output string) string
}

// link is one declared way from an output to an accumulator.
type link struct {
	from   api.Ref
	output string
	to     End
	// bySink says which end declares it. A link that the feeding graph declares waits for
	// its target; one that the fed graph declares ends with that graph.
	bySink bool
	// follows has the fed graph read what the other keeps for it; see [Links.Follow].
	follows bool
	pos     spec.Pos
}

// linksOf are the links that a declaration of graph g declares.
func linksOf(g api.Ref, s *spec.Graph) []link {
	var links []link
	for i := range s.Accumulators {
		a := &s.Accumulators[i]
		if graph, output, ok := a.Source.Origin().Graph(); ok {
			from := api.Ref{Tenant: g.Tenant, Name: graph}
			links = append(links, link{from: from, output: output, to: End{g, a.Name},
				follows: a.Source.Origin().Follows(), pos: a.Source.Pos})
		}
	}
	for i := range s.Outputs {
		o := &s.Outputs[i]
		if graph, accumulator, ok := o.Sink.Target().Graph(); ok {
			to := End{api.Ref{Tenant: g.Tenant, Name: graph}, accumulator}
			links = append(links, link{from: g, output: o.Name, to: to, bySink: true, pos: o.Sink.Pos})
		}
	}
	return links
}

// linkSet is links by the graph that declares them and by the graph that feeds.
type linkSet struct{ declared, outgoing map[api.Ref][]link }

func newLinkSet() linkSet {
	return linkSet{declared: make(map[api.Ref][]link), outgoing: make(map[api.Ref][]link)}
}

// put makes links the ones that g declares.
func (s *linkSet) put(g api.Ref, links []link) {
	for _, l := range s.declared[g] {
		if rest := slices.DeleteFunc(slices.Clone(s.outgoing[l.from]), func(o link) bool {
			return o == l
		}); len(rest) > 0 {
			s.outgoing[l.from] = rest
		} else {
			delete(s.outgoing, l.from)
		}
	}
	for _, l := range links {
		s.outgoing[l.from] = append(s.outgoing[l.from], l)
	}
	if s.declared[g] = links; len(links) == 0 {
		delete(s.declared, g)
	}
}

// path is the way from one graph to another along the links, both ends included; nil for none.
func (s *linkSet) path(from, to api.Ref, seen map[api.Ref]bool) []api.Ref {
	if from == to {
		return []api.Ref{to}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, l := range s.outgoing[from] {
		if rest := s.path(l.to.Graph, to, seen); rest != nil {
			return append([]api.Ref{from}, rest...)
		}
	}
	return nil
}

// Links are all links between the graphs of a daemon. Safe for concurrent use.
type Links struct {
	graphs Graphs

	mu      sync.Mutex
	claimed linkSet // of all that runs or is about to: they form no cycle
	live    linkSet // of all that runs: values go along them
	// changed is closed, and made anew, whenever a graph comes, changes or goes.
	changed chan struct{}
	// kept are the outputs that graphs follow, or have followed.
	kept map[outputOf]*kept
	// doubts are graphs that may follow others, see [Links.Doubt].
	doubts map[api.Ref]Doubt
}

// New makes the links of a daemon without graphs. What is at their ends is found in graphs.
func New(graphs Graphs) *Links {
	return &Links{graphs: graphs, claimed: newLinkSet(), live: newLinkSet(), changed: make(chan struct{}),
		kept: make(map[outputOf]*kept), doubts: make(map[api.Ref]Doubt)}
}

// Claim has the links of a declaration beside those that graph g has, unless they would close a cycle: then the answer
// says so, by the names that sees has. settle ends that, once it is known whether the declaration was applied, and says
// whether links have gone by that: until then nobody is to count them as gone, and what one that follows has not read
// is kept for it.
func (w *Links) Claim(g api.Ref, s *spec.Graph, sees func(graph string) bool) (
	settle func(applied bool) (gone bool), refused spec.Diagnostics) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if refused = w.closes(g, s, sees); refused != nil {
		return nil, refused
	}
	before, links := w.claimed.declared[g], linksOf(g, s)
	both := together(before, links)
	w.claimed.put(g, both)
	return func(applied bool) (gone bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		left := before
		if applied {
			left = links
			delete(w.doubts, g)
		}
		w.claimed.put(g, left)
		w.tell() // who has waited for what has gone waits no more
		return len(left) < len(both)
	}, nil
}

// Check is what Claim would refuse, and claims nothing.
func (w *Links) Check(g api.Ref, s *spec.Graph, sees func(graph string) bool) (refused spec.Diagnostics) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closes(g, s, sees)
}

// closes says which cycle the links of a declaration would close in the place of those that graph g has; nil for none.
// The caller holds the lock.
func (w *Links) closes(g api.Ref, s *spec.Graph, sees func(graph string) bool) spec.Diagnostics {
	links, before := linksOf(g, s), w.claimed.declared[g]
	w.claimed.put(g, links)
	defer w.claimed.put(g, before)
	for _, l := range links {
		path := w.claimed.path(l.to.Graph, l.from, map[api.Ref]bool{})
		if path == nil {
			continue
		}
		return spec.Diagnostics{{File: s.File, Line: l.pos.Line, Column: l.pos.Column, Path: l.pos.Path,
			Code: spec.CodeGraphCycle, Text: "graphs that feed each other form no cycle, and this closes one: " +
				cycle(g, path, sees) + "; take one link out"}}
	}
	return nil
}

// together are the links of two declarations of a graph, each once.
func together(before, links []link) []link {
	all := slices.Clone(before)
	for _, l := range links {
		if !slices.ContainsFunc(before, func(o link) bool {
			o.pos = l.pos // where it stands makes no other link of it
			return o == l
		}) {
			all = append(all, l)
		}
	}
	return all
}

// Outside refuses the links of a declaration that name graphs which whoever sends it may not know of, whether they
// are there or not; sees is nil for one who may know of all.
func Outside(g api.Ref, s *spec.Graph, sees func(graph string) bool) (refused spec.Diagnostics) {
	if sees == nil {
		return nil
	}
	for _, l := range linksOf(g, s) {
		other := l.from
		if l.bySink {
			other = l.to.Graph
		}
		if !sees(other.Name) {
			refused = append(refused, spec.Diagnostic{File: s.File, Line: l.pos.Line, Column: l.pos.Column,
				Path: l.pos.Path, Code: decode.CodeDenied, Text: fmt.Sprintf("the token is narrowed to graphs of "+
					"other names than %q, which this declaration may neither read nor feed; ask whoever gives "+
					"tokens for another", other.Name)})
		}
	}
	return refused
}

// cycle is a cycle of graphs in words, from g to g.
func cycle(g api.Ref, around []api.Ref, sees func(graph string) bool) string {
	at := slices.Index(around, g)
	var names []string
	for i := range around {
		name := around[(at+i)%len(around)].Name
		if sees != nil && !sees(name) {
			name = "…"
		}
		names = append(names, name)
	}
	return strings.Join(append(names, g.Name), " → ")
}

// Connect makes the links of graph g's declaration those that values go along; s is nil when
// the declaration cannot be used.
func (w *Links) Connect(g api.Ref, s *spec.Graph) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var links []link
	if s != nil {
		links = linksOf(g, s)
	}
	w.live.put(g, links)
}

// FeedersOf are the graphs that a declaration of graph g has feed graphs, g among them where
// it feeds another.
func FeedersOf(g api.Ref, s *spec.Graph) []api.Ref {
	var from []api.Ref
	for _, l := range linksOf(g, s) {
		from = append(from, l.from)
	}
	return from
}

// Feeds says whether an output feeds another graph now.
func (w *Links) Feeds(from api.Ref, output string) bool { return len(w.of(from, output)) > 0 }

// Forget takes the links of a graph that was removed.
func (w *Links) Forget(g api.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claimed.put(g, nil)
	w.live.put(g, nil)
	delete(w.doubts, g)
	w.forgetKept(g)
	w.tell()
}

// tell wakes who waits for a change. The caller holds the lock.
func (w *Links) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Touch says that a graph has come, changed or gone.
func (w *Links) Touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell()
}

// next is closed at the next change. Take it before looking at what may change.
func (w *Links) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// of are the links from one output that values are handed along, in the order in which they were declared.
func (w *Links) of(from api.Ref, output string) []link {
	w.mu.Lock()
	defer w.mu.Unlock()
	var links []link
	for _, l := range w.live.outgoing[from] {
		if l.output == output && !l.follows {
			links = append(links, l)
		}
	}
	return links
}

// Feeders are the graphs that feed others, each before those that it feeds.
func (w *Links) Feeders() []api.Ref {
	w.mu.Lock()
	defer w.mu.Unlock()
	var order []api.Ref
	seen := make(map[api.Ref]bool)
	var visit func(g api.Ref)
	visit = func(g api.Ref) {
		if seen[g] || len(w.live.outgoing[g]) == 0 {
			return
		}
		seen[g] = true
		for _, l := range w.live.outgoing[g] {
			visit(l.to.Graph)
		}
		order = append(order, g)
	}
	for g := range w.live.outgoing {
		visit(g)
	}
	slices.Reverse(order)
	return order
}

// Pairs are the links between graphs, of all that runs or is about to: who feeds whom.
func (w *Links) Pairs() (pairs [][2]api.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, links := range w.claimed.declared {
		for _, l := range links {
			pairs = append(pairs, [2]api.Ref{l.from, l.to.Graph})
		}
	}
	return pairs
}
