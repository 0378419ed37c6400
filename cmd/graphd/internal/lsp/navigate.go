package lsp

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/graphd/graphd/internal/language"
)

// The kinds of symbols, as the protocol numbers them.
const (
	symbolModule   = 2
	symbolFunction = 12
	symbolConstant = 14
	symbolEvent    = 24
	symbolObject   = 19
)

func (s *server) define(p *positionParams) (*location, error) {
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	offset := doc.text.Offset(p.Position)
	files, _ := s.documents.around(doc)
	if name := aliasAt(doc.text.String(), offset); name != "" {
		if len(files) > 0 && files[0].uri == doc.uri {
			if at, ok := files[0].index.Anchors[name]; ok {
				return &location{doc.uri, files[0].index.Text.Range(at, at+1+len(name))}, nil
			}
		}
		return nil, nil
	}
	at, ok := language.At(doc.text.String(), offset)
	if !ok || len(at.Path) == 0 || s.documents.knownOf(doc).is == foreign {
		return nil, nil
	}
	if at.Path[0] == "include" {
		return s.includedAt(doc, offset), nil
	}
	form, _ := s.grammar.At(at.Path)
	scope := language.ScopeOf(at.Path, &form)
	name, sections := at.Whole, scope.Sections
	switch chain := language.Chain(strings.TrimSuffix(at.Text, at.Word)); {
	case at.Key && s.documents.knownOf(doc).is != tests:
		return nil, nil // it is the definition, if anything
	case s.documents.knownOf(doc).is == tests:
		sections = []string{language.Accumulators, language.Outputs, language.Nodes}
		files = append(files, s.tested(doc)...)
	case len(chain) > 0 && chain[0] == language.Vars && len(chain) == 1:
		sections = []string{language.Vars}
	case len(chain) > 0:
		name = chain[0]
	}
	for _, f := range files {
		if n, ok := f.index.Find(name, sections...); ok {
			return &location{f.uri, f.index.Text.Range(n.From, n.To)}, nil
		}
	}
	return nil, nil
}

// aliasAt is the alias that a byte is in, "" for none.
func aliasAt(all string, offset int) string {
	if offset < len(all) && all[offset] == '*' { // its name begins behind it
		offset++
	}
	from, to := offset, offset
	for from > 0 && !strings.ContainsRune(" \t\n\r,[]{}:*&", rune(all[from-1])) {
		from--
	}
	for to < len(all) && !strings.ContainsRune(" \t\n\r,[]{}:*&", rune(all[to])) {
		to++
	}
	if from == 0 || all[from-1] != '*' || from > 1 && !strings.ContainsRune(" \t\n[{,:", rune(all[from-2])) {
		return ""
	}
	return all[from:to]
}

// includedAt is the file whose path stands at a byte.
func (s *server) includedAt(doc *document, offset int) *location {
	all := doc.text.String()
	from, to := offset, offset
	for from > 0 && !strings.ContainsRune(" \t\n\r,[]{}\"'", rune(all[from-1])) {
		from--
	}
	for to < len(all) && !strings.ContainsRune(" \t\n\r,[]{}\"'", rune(all[to])) {
		to++
	}
	if from == to || doc.path == "" || filepath.IsAbs(all[from:to]) {
		return nil
	}
	path := filepath.Join(filepath.Dir(doc.path), filepath.FromSlash(all[from:to]))
	if s.documents.knownOf(doc).included[path] == nil {
		return nil // there is no such file, or it cannot be read
	}
	return &location{URI: s.documents.uriOf(path)}
}

func (s *server) symbols(p *documentParams) ([]symbol, error) {
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	list := []symbol{}
	x := s.documents.knownOf(doc).index
	if x == nil || s.documents.knownOf(doc).is == foreign {
		return list, nil
	}
	kinds := map[string]int{language.Vars: symbolConstant, language.Accumulators: symbolEvent,
		language.Nodes: symbolFunction}
	order := []string{language.Vars, language.Accumulators, language.Lanes, language.Loops, language.Nodes,
		language.Outputs, language.Cases}
	for _, section := range order {
		field, ok := x.Sections[section]
		if !ok {
			continue
		}
		of := symbol{Name: section, Kind: symbolModule, Range: x.Text.Range(field.From, field.End),
			Selected: x.Text.Range(field.From, field.To)}
		for _, n := range x.Names {
			if n.Section != section {
				continue
			}
			kind := kinds[section]
			if kind == 0 {
				kind = symbolObject
			}
			if n.Name == "" {
				n.Name = "(no name)"
			}
			of.Children = append(of.Children, symbol{Name: n.Name, Detail: n.Says, Kind: kind,
				Range: x.Text.Range(n.From, max(n.To, n.End)), Selected: x.Text.Range(n.From, n.To)})
		}
		list = append(list, of)
	}
	return list, nil
}

// actions put what was probably meant in the place of what is wrong.
func (s *server) actions(p *actionParams) ([]action, error) {
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	list := []action{}
	for _, raw := range p.Context.Diagnostics[:min(len(p.Context.Diagnostics), 100)] {
		var d diagnostic
		if json.Unmarshal(raw, &d) != nil || d.Data == "" || d.Source != "graphd" { // another server's
			continue
		}
		from := doc.text.Offset(d.Range.Start)
		to := wordEnd(doc.text.String(), &from)
		if from == to {
			continue
		}
		a := action{Title: "Change to " + d.Data, Kind: "quickfix", Diagnostics: []diagnostic{d}, Preferred: true}
		a.Edit.Changes = map[string][]edit{doc.uri: {{Range: doc.text.Range(from, to), Text: d.Data}}}
		list = append(list, a)
	}
	return list, nil
}

// wordEnd is where the word at from ends, which a quote may stand before.
func wordEnd(all string, from *int) int {
	if *from < len(all) && (all[*from] == '"' || all[*from] == '\'') {
		*from++
	}
	to := *from
	for to < len(all) && language.IsWord(all[to]) {
		to++
	}
	return to
}
