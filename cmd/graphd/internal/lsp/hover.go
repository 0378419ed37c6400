package lsp

import (
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/handbook"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/language"
)

// maxTold is how many places of the documentation are quoted at most.
const maxTold = 3

func (s *server) hover(p *positionParams) (*hovered, error) {
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	at, ok := language.At(doc.text.String(), doc.text.Offset(p.Position))
	if is := s.documents.knownOf(doc).is; !ok || at.Whole == "" || is == foreign || is == tests {
		return nil, nil
	}
	var lines []string
	form, known := s.grammar.At(at.Path)
	files, units := s.documents.around(doc)
	switch scope := language.ScopeOf(at.Path, &form); {
	case at.Key && len(at.Path) == 2 && form.About != "" && isSection(at.Path[0]):
		lines = declared(files, units, at.Whole, []string{at.Path[0]})
	case at.Key:
		lines = told(&form, known, at.Path)
	case known && (scope.Expression || len(scope.Sections) > 0):
		lines = ofWord(&scope, files, units, &at)
	case known:
		lines = quoted(append(append([]string{}, at.Path...), at.Whole), "**"+at.Whole+"**")
	}
	if len(lines) == 0 {
		return nil, nil
	}
	return &hovered{markup{"markdown", strings.Join(lines, "\n\n")}, doc.text.Range(at.From, at.To)}, nil
}

func isSection(name string) bool {
	switch name {
	case language.Vars, language.Accumulators, language.Lanes, language.Loops, language.Nodes, language.Outputs:
		return true
	}
	return false
}

// told is what the language says of a field, and what the documentation does.
func told(form *language.Form, known bool, path []string) []string {
	if !known {
		return nil
	}
	head := "**" + path[len(path)-1] + "**"
	if form.About != "" {
		head += ": " + form.About
	}
	if form.Default != "" {
		head += "\n\nDefault: `" + form.Default + "`"
	}
	if len(form.Words) > 0 {
		head += "\n\nOne of `" + strings.Join(form.Words, "`, `") + "`"
	}
	return quoted(path, head)
}

// quoted are a head and what graphd explain says of a path.
func quoted(path []string, head string) []string {
	lines := []string{head}
	var term []string
	for _, key := range path {
		if key != language.Item {
			term = append(term, key)
		}
	}
	found, err := handbook.Find(strings.Join(term, "."))
	if err != nil {
		return lines
	}
	for _, e := range found[:min(len(found), maxTold)] {
		lines = append(lines, "*"+e.Where+"*\n\n"+strings.ReplaceAll(e.Text, "\n", "\n\n"))
	}
	return lines
}

// ofWord tells of a word in an expression, or of a name.
func ofWord(scope *language.Scope, files []file, units []*compile.Unit, at *language.Place) []string {
	chain := language.Chain(strings.TrimSuffix(at.Text, at.Word))
	if len(chain) > 0 {
		return member(files, units, at, chain)
	}
	if lines := declared(files, units, at.Whole, scope.Sections); lines != nil {
		return lines
	}
	if usage := scope.Functions()[at.Whole]; usage != "" {
		return quoted([]string{at.Whole}, "```\n"+usage+"\n```")
	}
	if t, ok := typeOf(units, at.Path, at.Whole); ok {
		return []string{"```\n" + at.Whole + ": " + t.String() + "\n```"}
	}
	return nil
}

// member tells of a field.
func member(files []file, units []*compile.Unit, at *language.Place, chain []string) []string {
	whole := strings.Join(append(chain, at.Whole), ".")
	if t, ok := typeBehind(units, at.Path, append(chain, at.Whole)); ok {
		return []string{"```\n" + whole + ": " + t.String() + "\n```"}
	}
	for _, f := range files {
		if n, ok := f.index.Find(chain[0], language.Nodes); ok && len(n.Routes) > 0 {
			return []string{"**" + whole + "**: a route of the node " + n.Name}
		}
	}
	return nil
}

// declared tells of a name, with the type of what it stands for.
func declared(files []file, units []*compile.Unit, name string, sections []string) []string {
	for _, f := range files {
		n, ok := f.index.Find(name, sections...)
		if !ok {
			continue
		}
		head := "**" + name + "**: " + strings.TrimSpace(strings.TrimSuffix(n.Section, "s")+" "+n.Says)
		if n.Section == language.Accumulators || n.Section == language.Nodes {
			if t, ok := typeOf(units, []string{language.Nodes}, name); ok {
				head += "\n\n```\n" + t.String() + "\n```"
			}
		}
		return []string{head}
	}
	return nil
}
