package graph

import (
	"errors"
	"strings"
	"unicode"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// names is what the expressions of a graph can refer to: a name's place is its
// index, in every expression alike.
type names struct {
	all   []expression.Name
	index map[string]int
	// arriving is how many of the names, from the first on, fresh() may be asked of.
	arriving int
	memory   bool // functions with memory are allowed
	iterates bool // iteration() is allowed
	caller   *expression.Caller
	known    int // of all, those that are read by name: behind them are the delayed ones
	// late are the places of the names that the expression at hand reads as of the last kept epoch.
	late map[string]int
	// narrow has the names that one expression mentions, and blanks elsewhere. A
	// scope is described anew for every expression: over all names that would make
	// the compilation of a thousand nodes quadratic.
	narrow []expression.Name
}

func (c *compiler) newNames(all []expression.Name, arriving int) *names {
	n := &names{all: all, index: make(map[string]int, len(all)), narrow: make([]expression.Name, len(all)),
		known: len(all), arriving: arriving, memory: true, caller: c.caller}
	for i, name := range all {
		n.index[name.Name] = i
	}
	return n
}

// compile compiles an expression over the names. Only when it knows one of them
// not does it get to see all, for the sake of the suggestion.
func (n *names) compile(text string, as func(string, expression.Scope) (*expression.Program, error)) (
	*expression.Program, error) {
	var used []int
	for word := range strings.FieldsFuncSeq(text, isNotWord) {
		i, known := n.late[word]
		if !known {
			i, known = n.index[word]
		}
		if known {
			n.narrow[i] = n.all[i]
			used = append(used, i)
		}
	}
	scope := expression.Scope{Names: n.narrow, Clock: true, Memory: n.memory, Epoch: true, Arrives: n.arrives,
		Iteration: n.iterates, For: n.caller}
	program, err := as(text, scope)
	for _, i := range used {
		n.narrow[i] = expression.Name{}
	}
	if e, ok := errors.AsType[*expression.Error](err); ok && e.Code == expression.CodeUnknownName ||
		strings.Contains(text, expression.Cursor) {
		scope.Names = n.all[:n.known]
		return as(text, scope)
	}
	return program, err
}

// ofNode lets the expressions to come be those of a node.
func (n *names) ofNode(u *unit) { n.memory, n.iterates = true, u != nil && u.ring != nil }

// ofLoop lets the expression to come be the condition of a loop.
func (n *names) ofLoop() { n.memory, n.iterates, n.late = false, true, nil }

func (n *names) arrives(name int) bool { return name < n.arriving }

func isNotWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// looseNames are the names by declaration, with nothing known of their types:
// enough to find references.
func (c *compiler) looseNames() *names {
	all := make([]expression.Name, c.varsIndex()+2)
	for name, i := range c.index {
		all[i] = expression.Name{Name: name, Type: expression.Any()}
	}
	return c.newNames(all, c.varsIndex())
}

// typedNames are the names in plan order, with the types known so far.
func (c *compiler) typedNames(order []int) *names {
	all := make([]expression.Name, 0, c.varsIndex()+2)
	for _, in := range c.inputs {
		all = append(all, expression.Name{Name: in.Name, Type: in.Type})
	}
	for _, i := range order {
		all = append(all, expression.Name{Name: c.units[i].decl.Name, Type: c.units[i].typ})
	}
	return c.newNames(append(all,
		expression.Name{Name: "vars", Type: c.varsType},
		expression.Name{Name: "key", Type: expression.Any()}), c.varsIndex())
}

// The names that the condition of an output has beside those of a node, by their place behind them.
const (
	valueName = iota
	epochName
	outputName
	outputNames // how many there are
)

// outputScope is what the conditions of outputs can refer to.
func (c *compiler) outputScope(order []int) *names {
	n := c.newNames(append(c.typedNames(order).all,
		expression.Name{Name: "value", Type: expression.Any()},
		expression.Name{Name: "epoch", Type: expression.Of(boundary.KindInt)},
		expression.Name{Name: "output", Type: expression.Of(boundary.KindString)}), c.varsIndex())
	n.memory = false
	return n
}
