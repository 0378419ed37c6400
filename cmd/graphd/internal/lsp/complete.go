package lsp

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/lsp/language"
	"github.com/graphd/graphd/internal/compile"
)

// The kinds of completions, as the protocol numbers them.
const (
	kindFunction  = 3
	kindField     = 5
	kindVariable  = 6
	kindProperty  = 10
	kindValue     = 12
	kindReference = 18
)

// maxCompletions bounds an answer; who types on gets the rest.
const maxCompletions = 1000

// completer collects what can be put at a place.
type completer struct {
	at    language.Place
	edit  edit
	found []completion
	more  bool
}

func (c *completer) add(kind int, label, text, detail, about string) {
	switch {
	case !strings.HasPrefix(strings.ToLower(label), strings.ToLower(c.at.Word)):
	case slices.ContainsFunc(c.found, func(o completion) bool { return o.Label == label }):
	case len(c.found) == maxCompletions:
		c.more = true
	default:
		e := c.edit
		e.Text = text
		c.found = append(c.found, completion{Label: label, Kind: kind, Detail: detail, About: about, Edit: e})
	}
}

func (s *server) complete(p *positionParams) (completions, error) {
	none := completions{Items: []completion{}}
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return none, err
	}
	is := s.documents.knownOf(doc).is
	at, ok := language.At(doc.text.String(), doc.text.Offset(p.Position))
	if !ok || is == foreign && len(at.Path) > 1 || is == tests {
		return none, nil
	}
	c := &completer{at: at, edit: edit{Range: doc.text.Range(at.From, at.To)}}
	path := at.Path
	if at.Key {
		path = path[:len(path)-1]
	}
	form, ok := s.grammar.At(path)
	if !ok {
		return none, nil
	}
	files, units := s.documents.around(doc)
	if at.Key || at.Alone && len(form.Fields) > 0 && at.Text == at.Word {
		c.fields(&form)
	}
	if !at.Key {
		scope := language.ScopeOf(path, &form)
		switch chain := language.Chain(strings.TrimSuffix(at.Text, at.Word)); {
		case len(chain) > 0:
			c.members(&scope, files, units, path, chain)
		case strings.HasSuffix(strings.TrimSuffix(at.Text, at.Word), "."):
		default:
			c.words(&form, &scope)
			c.names(&scope, files)
		}
	}
	return completions{Incomplete: c.more, Items: append([]completion{}, c.found...)}, nil
}

// fields are the fields of the mapping that are not there yet.
func (c *completer) fields(form *language.Form) {
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
		c.add(kindProperty, f.Name, text, detail, f.About)
	}
}

// words are the values that the language lists.
func (c *completer) words(form *language.Form, scope *language.Scope) {
	for _, w := range form.Words {
		detail := ""
		if w == form.Default {
			detail = "default"
		}
		c.add(kindValue, w, w, detail, form.About)
	}
	for _, w := range scope.Words {
		c.add(kindVariable, w, w, "", "")
	}
}

// names are what is declared and can stand there, and functions.
func (c *completer) names(scope *language.Scope, files []file) {
	for _, section := range scope.Sections {
		for _, f := range files {
			for _, n := range f.index.Names {
				if n.Section != section {
					continue
				}
				c.add(kindReference, n.Name, n.Name, strings.TrimSuffix(section, "s")+" "+n.Says, "")
				for _, route := range n.Routes {
					if scope.Routes {
						c.add(kindReference, n.Name+"."+route, n.Name+"."+route, "route of "+n.Name, "")
					}
				}
			}
		}
	}
	calls := scope.Functions()
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		c.add(kindFunction, name, name, calls[name], "")
	}
}

// members are the fields of what stands before the dot: of a type, the vars, or the routes of a node.
func (c *completer) members(scope *language.Scope, files []file, units []*compile.Unit, path, chain []string) {
	for _, f := range files {
		for _, n := range f.index.Names {
			switch {
			case len(chain) > 1:
			case scope.Routes && n.Name == chain[0]:
				for _, route := range n.Routes {
					c.add(kindReference, route, route, "route of "+n.Name, "")
				}
			case chain[0] == language.Vars && n.Section == language.Vars && scope.Expression:
				c.add(kindField, n.Name, n.Name, "var", "")
			}
		}
	}
	if !scope.Expression {
		return
	}
	t, ok := typeBehind(units, path, chain)
	if !ok {
		return
	}
	for _, name := range t.Fields() {
		of, _ := t.Field(name)
		c.add(kindField, name, name, of.String(), "")
	}
}
