package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// Graphs feed graphs (M46): by a source of kind graph in the one that is fed, or a sink of
// kind graph in the one that feeds. Both are the same link, an output to an accumulator's
// mailbox, declared at one end or the other.

// link is one declared way from an output to an accumulator.
type link struct {
	from        Ref
	output      string
	to          Ref
	accumulator string
	// bySink says which end declares it. A link that the feeding graph declares waits for
	// its target; one that the fed graph declares ends with that graph.
	bySink bool
	pos    spec.Pos
}

// linksOf are the links that a declaration of graph g declares.
func linksOf(g Ref, s *spec.Graph) []link {
	var links []link
	for i := range s.Accumulators {
		if a := &s.Accumulators[i]; a.Source.Kind == "graph" {
			from := Ref{Tenant: g.Tenant, Name: a.Source.Graph.Name}
			links = append(links, link{from: from, output: a.Source.Graph.Output, to: g, accumulator: a.Name, pos: a.Source.Pos})
		}
	}
	for i := range s.Outputs {
		if o := &s.Outputs[i]; o.Sink.Kind == "graph" {
			to := Ref{Tenant: g.Tenant, Name: o.Sink.Graph.Name}
			links = append(links, link{from: g, output: o.Name, to: to, accumulator: o.Sink.Graph.Accumulator, bySink: true, pos: o.Sink.Pos})
		}
	}
	return links
}

// linkSet is links by the graph that declares them and by the graph that feeds.
type linkSet struct{ declared, outgoing map[Ref][]link }

func newLinkSet() linkSet {
	return linkSet{declared: make(map[Ref][]link), outgoing: make(map[Ref][]link)}
}

// put makes links the ones that g declares.
func (s *linkSet) put(g Ref, links []link) {
	for _, l := range s.declared[g] {
		if rest := slices.DeleteFunc(slices.Clone(s.outgoing[l.from]), func(o link) bool { return o == l }); len(rest) > 0 {
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
func (s *linkSet) path(from, to Ref, seen map[Ref]bool) []Ref {
	if from == to {
		return []Ref{to}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, l := range s.outgoing[from] {
		if rest := s.path(l.to, to, seen); rest != nil {
			return append([]Ref{from}, rest...)
		}
	}
	return nil
}

// wiring is every link of the engine. Safe for concurrent use.
type wiring struct {
	mu      sync.Mutex
	claimed linkSet // of all that runs or is about to: they form no cycle
	live    linkSet // of all that runs: values go along them
	// changed is closed, and made anew, whenever a graph comes, changes or goes.
	changed chan struct{}
}

func newWiring() *wiring {
	return &wiring{claimed: newLinkSet(), live: newLinkSet(), changed: make(chan struct{})}
}

// claim puts the links of a declaration in the place of those that graph g has claimed,
// unless they would close a cycle. undo puts the old ones back.
func (w *wiring) claim(g Ref, u *compile.Unit) (undo func(), err error) {
	links := linksOf(g, u.Spec)
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.claimed.declared[g]
	w.claimed.put(g, links)
	for _, l := range links {
		path := w.claimed.path(l.to, l.from, map[Ref]bool{})
		if path == nil {
			continue
		}
		w.claimed.put(g, before)
		text := "graphs that feed each other form no cycle, and this closes one: " + cycle(g, path) + "; take one link out"
		return nil, invalid(spec.Diagnostics{{File: u.Spec.File, Line: l.pos.Line, Column: l.pos.Column, Path: l.pos.Path, Code: spec.CodeGraphCycle, Text: text}})
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.claimed.put(g, before)
	}, nil
}

// cycle is a cycle of graphs in words, from g to g.
func cycle(g Ref, around []Ref) string {
	at := slices.Index(around, g)
	var names []string
	for i := range around {
		names = append(names, around[(at+i)%len(around)].Name)
	}
	return strings.Join(append(names, g.Name), " → ")
}

// connect makes the links of m's declaration those that values go along.
func (w *wiring) connect(m *managed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var links []link
	if m.unit != nil {
		links = linksOf(m.ref, m.unit.Spec)
	}
	w.live.put(m.ref, links)
}

// forget takes the links of a graph that was removed.
func (w *wiring) forget(g Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claimed.put(g, nil)
	w.live.put(g, nil)
	w.tell()
}

// tell wakes who waits for a change. The caller holds the lock.
func (w *wiring) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// touch says that a graph has come, changed or gone.
func (w *wiring) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell()
}

// next is closed at the next change. Take it before looking at what may change.
func (w *wiring) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// of are the links from one output, in the order in which they were declared.
func (w *wiring) of(from Ref, output string) []link {
	w.mu.Lock()
	defer w.mu.Unlock()
	var links []link
	for _, l := range w.live.outgoing[from] {
		if l.output == output {
			links = append(links, l)
		}
	}
	return links
}

// feeders are the graphs that feed others, each before those that it feeds.
func (w *wiring) feeders() []Ref {
	w.mu.Lock()
	defer w.mu.Unlock()
	var order []Ref
	seen := make(map[Ref]bool)
	var visit func(g Ref)
	visit = func(g Ref) {
		if seen[g] || len(w.live.outgoing[g]) == 0 {
			return
		}
		seen[g] = true
		for _, l := range w.live.outgoing[g] {
			visit(l.to)
		}
		order = append(order, g)
	}
	for g := range w.live.outgoing {
		visit(g)
	}
	slices.Reverse(order)
	return order
}

// target is the mailbox at the end of a link, or why there is none now.
func (e *Engine) target(l link) (*managed, int, error) {
	m, err := e.graph(l.to)
	if err != nil {
		return nil, 0, fmt.Errorf("there is no graph %q yet; the values wait for it", l.to.Name)
	}
	if m.unit == nil {
		return nil, 0, fmt.Errorf("the declaration of graph %q cannot be used; the values wait for a fixed one", l.to.Name)
	}
	i := m.find(l.accumulator)
	if i < 0 {
		return nil, 0, fmt.Errorf("the graph %q has no accumulator %q; the values wait for it", l.to.Name, l.accumulator)
	}
	return m, i, nil
}

// upstream says why the output that feeds an accumulator is not there, "" when it is.
func (e *Engine) upstream(from Ref, output string) string {
	m, err := e.graph(from)
	switch {
	case err != nil:
		return fmt.Sprintf("there is no graph %q; it is attached to as soon as there is", from.Name)
	case m.unit == nil:
		return fmt.Sprintf("the declaration of graph %q cannot be used", from.Name)
	}
	for i := range m.unit.Spec.Outputs {
		switch {
		case m.unit.Spec.Outputs[i].Name != output:
		case m.path(i) == reactor.PathCoTransaction:
			return fmt.Sprintf("the output %q of graph %q goes with the commit alone; give the graph a second output from the same node", output, from.Name)
		default:
			return ""
		}
	}
	return fmt.Sprintf("the graph %q has no output %q", from.Name, output)
}

// refuseCircle is what a declaration of g would be refused for, without claiming anything.
func (e *Engine) refuseCircle(g Ref, u *compile.Unit) error {
	undo, err := e.wiring.claim(g, u)
	if err == nil {
		undo()
	}
	return err
}
