package language

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/expression/elsewhere"
)

// Sort is what can be put at a place.
type Sort string

// The sorts there are. A field is one of a mapping, a member one of a value; a name is declared.
const (
	SortField    Sort = "field"
	SortWord     Sort = "word"
	SortName     Sort = "name"
	SortVariable Sort = "variable"
	SortFunction Sort = "function"
	SortMember   Sort = "member"
)

// Offer is something that can be put at a place.
type Offer struct {
	Sort Sort
	// Label is what is shown, Text what is put there.
	Label, Text string
	// Detail says more in a word or two, such as a type or how a call is written, and About in a sentence.
	Detail, About string
}

// maxItems bounds an answer; who types on gets the rest.
const maxItems = 1000

// Around is what is known around a document.
type Around struct {
	Grammar *Grammar
	// Files are what the document, and those that are made one with it, declare.
	Files []*Index
	// Ask compiles a declaration in which the document is another text, with [expression.Cursor] in it, for who asks.
	Ask func(text string, told func(expression.Found))
	// Known is the type of what a chain of names came to when the declaration was whole.
	Known func(path, chain []string) (expression.Type, bool)
}

// completer collects what can be put at a place.
type completer struct {
	*Around
	at    Place
	found []Offer
	more  bool
}

// Complete is what can be put at a place of a document; more says that there is more than was to be told.
func (a *Around) Complete(at Place) (items []Offer, more bool) {
	path := at.Path
	if at.Key {
		path = path[:len(path)-1]
	}
	form, ok := a.Grammar.At(path)
	if !ok {
		return nil, false
	}
	c := &completer{Around: a, at: at}
	if at.Key || at.Alone && len(form.Fields) > 0 && at.Text == at.Word {
		c.fields(&form)
	}
	if !at.Key {
		scope := ScopeOf(path, &form)
		before := strings.TrimSuffix(at.Text, at.Word)
		chain := Chain(before)
		dotted := strings.HasSuffix(before, ".")
		if len(chain) == 1 && scope.Routes {
			c.routes(chain[0])
		}
		switch {
		case scope.Expression:
			c.expression(&scope, path, chain, dotted)
		case !dotted:
			c.words(&form, &scope)
			c.names(&scope, nil)
		}
	}
	return c.found, c.more
}

// add adds what can stand there: not the mark, which is in types and texts made of the document as it is being typed.
func (c *completer) add(sort Sort, label, text, detail, about string) {
	detail, about = strings.ReplaceAll(detail, mark, c.at.Whole), strings.ReplaceAll(about, mark, c.at.Whole)
	switch {
	case strings.Contains(label, mark):
	case !strings.HasPrefix(strings.ToLower(label), strings.ToLower(c.at.Word)):
	case slices.ContainsFunc(c.found, func(i Offer) bool { return i.Label == label }):
	case len(c.found) == maxItems:
		c.more = true
	default:
		c.found = append(c.found, Offer{sort, label, text, detail, about})
	}
}

// fields are the fields of the mapping that are not there yet.
func (c *completer) fields(form *Form) {
	for _, f := range form.Fields {
		if slices.Contains(c.at.Siblings, f.Name) {
			continue
		}
		detail := ""
		switch {
		case f.Required:
			detail = "required"
		case f.Default != "":
			detail = "default: " + f.Default
		}
		text := f.Name + ": "
		if c.at.Colon {
			text = f.Name
		}
		c.add(SortField, f.Name, text, detail, f.About)
	}
}

// words are the values that the language lists.
func (c *completer) words(form *Form, scope *Scope) {
	for _, w := range form.Words {
		detail := ""
		if w == form.Default {
			detail = "default"
		}
		c.add(SortWord, w, w, detail, form.About)
	}
	for _, w := range scope.Words {
		c.add(SortVariable, w, w, "", "")
	}
}

// names are what is declared and can stand there. types has those that an expression can read; nil where it is none.
func (c *completer) names(scope *Scope, types map[string]expression.Type) {
	for _, section := range scope.Sections {
		for _, f := range c.Files {
			for _, n := range f.Names {
				t, reads := types[n.Name]
				if n.Section != section || types != nil && !reads || !c.fits(scope, &n) {
					continue
				}
				c.add(SortName, n.Name, n.Name, strings.TrimSuffix(section, "s")+" "+n.Says, said(t))
				for _, route := range n.Routes {
					if scope.Routes {
						c.add(SortName, n.Name+"."+route, n.Name+"."+route, "route of "+n.Name, "")
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !c.fits(scope, &Name{Section: Nodes, Name: name}) {
			continue
		}
		c.add(SortVariable, name, name, said(types[name]), "")
	}
}

// fits says whether a declared name can stand there: a table triggers nothing, a list has a name once, and a node
// rests on itself only by way of its delay or a loop.
func (c *completer) fits(scope *Scope, n *Name) bool {
	path := c.at.Path
	if scope.Triggers && slices.Contains(strings.Fields(n.Says), "table") ||
		!scope.Expression && slices.Contains(c.at.Beside, n.Name) {
		return false
	}
	own := len(path) > 1 && path[0] == Nodes && path[1] == n.Name
	if n.Section != Nodes || !own || slices.Contains(path, "delay") {
		return true
	}
	return slices.ContainsFunc(c.Files, func(f *Index) bool {
		return slices.ContainsFunc(f.Names, func(of Name) bool {
			itself := of.Section == Nodes && of.Name == n.Name
			return (itself || of.Section == Loops) && slices.Contains(of.Again, n.Name)
		})
	})
}

// said is a type, "" for one that is not known.
func said(t expression.Type) string {
	if t.IsAny() {
		return ""
	}
	return t.String()
}

func (c *completer) routes(node string) {
	for _, f := range c.Files {
		for _, n := range f.Names {
			for _, route := range n.Routes {
				if n.Name == node {
					c.add(SortName, route, route, "route of "+node, "")
				}
			}
		}
	}
}

// expression is what can stand in an expression: the compiler says it, of the declaration as it is being typed.
func (c *completer) expression(scope *Scope, path, chain []string, dotted bool) {
	if _, quote := elsewhere.Unclosed(c.at.Text); quote != "" {
		c.literals()
		return
	}
	var asked []expression.Scope
	var of expression.Type
	if c.Ask != nil {
		c.Ask(c.at.Marked, func(f expression.Found) {
			if asked = append(asked, f.Scope); f.Dotted && !f.Of.IsAny() {
				of = f.Of // of several passes the last knows most
			}
		})
	}
	if dotted {
		if of.IsAny() && len(chain) > 0 && c.Known != nil {
			of, _ = c.Known(path, chain)
		}
		c.members(of, path, chain)
		return
	}
	if len(asked) == 0 {
		c.words(&Form{}, scope)
		c.names(scope, nil)
		asked = []expression.Scope{{Clock: true, Rand: true, Epoch: true, Iteration: true, Memory: true}}
	} else {
		c.names(scope, typesOf(asked))
	}
	usages := scope.aggregates()
	for i := range asked {
		maps.Copy(usages, calls(&asked[i], nil))
	}
	for _, name := range slices.Sorted(maps.Keys(usages)) {
		c.add(SortFunction, name, name, usages[name], "")
	}
}

// typesOf are the names of scopes that can be written.
func typesOf(scopes []expression.Scope) map[string]expression.Type {
	all := map[string]expression.Type{}
	for i := range scopes {
		for _, n := range scopes[i].Names {
			if _, known := all[n.Name]; n.Name != "" && n.Name[0] != '$' && (!known || !n.Type.IsAny()) {
				all[n.Name] = n.Type
			}
		}
	}
	return all
}

// members are the fields of what stands before the dot, and its methods. Where its type is open they may be others:
// those that the declaration reads of it elsewhere are there too.
func (c *completer) members(of expression.Type, path, chain []string) {
	for _, name := range of.Fields() {
		t, _ := of.Field(name)
		c.add(SortMember, name, name, oneOf(t), "")
	}
	every := expression.Scope{Clock: true}
	usages := calls(&every, &of)
	for _, name := range slices.Sorted(maps.Keys(usages)) {
		c.add(SortFunction, name, name, usages[name], "")
	}
	if len(chain) == 0 || !of.IsAny() && !of.Open() {
		return
	}
	reads := regexp.MustCompile(`(?:^|[^\w.])` + strings.Join(chain, `\??\.`) + `\??\.([A-Za-z_]\w*)([^\w(]|$)`)
	for _, f := range c.Files {
		text := f.Text.String()
		if own, ok := f.Find(path[min(1, len(path)-1)], path[0]); ok && chain[0] == "event" {
			text = text[own.From:own.End] // of others it is another
		}
		for _, m := range reads.FindAllStringSubmatch(text, -1) {
			if m[1] != c.at.Whole {
				c.add(SortMember, m[1], m[1], "read elsewhere", "")
			}
		}
	}
}
