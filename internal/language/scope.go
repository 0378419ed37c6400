package language

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/expression/library"
)

// Scope is which names can stand at a place.
type Scope struct {
	// Expression says that it is one, and not the bare name of something.
	Expression bool
	// Sections are those whose names can stand there, and Words other names.
	Sections []string
	Words    []string
	// Aggregates says that the functions of windows can be called.
	Aggregates bool
	Triggers   bool // of those that trigger
	Routes     bool // names with a route of theirs behind a dot
}

// ScopeOf is which names can stand at a place with its form, as docs/declaration.md tells.
func ScopeOf(path []string, f *Form) Scope {
	if len(path) < 2 {
		return Scope{}
	}
	if slices.ContainsFunc(f.Is, func(is string) bool { return is == "expression" || is == "key" || is == "form" }) {
		return expressionScope(path)
	}
	last := path[len(path)-1]
	if last == Item {
		last = path[len(path)-2]
	}
	switch section := path[0]; {
	case section == Nodes && last == "lane":
		return Scope{Sections: []string{Lanes}}
	case section == Nodes && (last == "after" || last == "all"):
		return Scope{Sections: []string{Nodes, Accumulators}, Routes: true}
	case section == Nodes && (last == "inputs" || last == "delay"):
		return Scope{Sections: []string{Accumulators, Nodes}}
	case section == Loops && last == "nodes", section == Accumulators && last == "from":
		return Scope{Sections: []string{Nodes}}
	case section == Outputs && last == "from" && len(path) == 3:
		return Scope{Sections: []string{Nodes, Accumulators}, Words: []string{"reactor"}}
	case section == "reactor" && (last == "any" || last == "all"):
		return Scope{Sections: []string{Accumulators}, Triggers: true}
	case slices.Contains(path, "join") && last != "on" &&
		slices.Contains([]string{"left", "right"}, last):
		return Scope{Sections: []string{Accumulators}}
	}
	return Scope{}
}

func expressionScope(path []string) Scope {
	s := Scope{Expression: true, Words: []string{Vars}}
	add := func(words ...string) { s.Words = append(s.Words, words...) }
	switch path[0] {
	case Accumulators:
		add("event", "meta")
		if slices.Contains(path, "fold") {
			add("state")
		}
		if slices.Contains(path, "generator") {
			s.Words = []string{Vars, "i"}
		}
		s.Aggregates = slices.Contains(path, "aggregate")
	case Outputs:
		add("value", "key", "epoch", "output")
		s.Sections = []string{Accumulators, Nodes}
	case "reactor":
		s.Sections = []string{Accumulators}
		add("key")
	case Nodes, Loops:
		s.Sections = []string{Accumulators, Nodes}
		add("key")
	}
	return s
}

// Functions are the functions that can be called at a place, with how a call of each is written.
func (s *Scope) Functions() map[string]string {
	all := s.aggregates()
	if s.Expression {
		every := expression.Scope{Clock: true, Rand: true, Epoch: true, Iteration: true, Memory: true}
		maps.Copy(all, calls(&every, nil))
	}
	return all
}

// aggregates are the functions of windows, where they can be called.
func (s *Scope) aggregates() map[string]string {
	all := map[string]string{}
	if s.Aggregates {
		for _, usage := range aggregate.Usages() {
			name, _, _ := strings.Cut(usage, "(")
			all[name] = usage
		}
	}
	return all
}

// calls are the functions that can be called in a scope, or the methods of a type where that is given, with how a call
// of each is written.
func calls(s *expression.Scope, of *expression.Type) map[string]string {
	all := map[string]string{}
	for _, name := range expression.Functions() {
		f := library.Table()[name]
		method, is := strings.CutPrefix(name, ".")
		switch {
		case is != (of != nil), is && (of.IsAny() || !f.Param(0).Has(of.Kind())):
		case f != nil && (f.Clock && !s.Clock || f.Rand && !s.Rand || f.OfEpoch && !s.Epoch ||
			f.OfLoop && !s.Iteration || f.Remember != nil && !s.Memory):
		default:
			all[method] = strings.TrimPrefix(expression.Usage(name), ".")
		}
	}
	return all
}

// Chain is what stands before a word that comes behind a dot, read from the end: book.bid?. is book, bid. It is empty
// where the word stands by itself.
func Chain(before string) (names []string) {
	for {
		rest, dotted := strings.CutSuffix(before, ".")
		if !dotted {
			return names
		}
		rest = strings.TrimSuffix(rest, "?")
		from := len(rest)
		for from > 0 && IsWord(rest[from-1]) {
			from--
		}
		if from == len(rest) {
			return nil // an index or a call, of which the type is not looked for
		}
		names = append([]string{rest[from:]}, names...)
		before = rest[:from]
	}
}
