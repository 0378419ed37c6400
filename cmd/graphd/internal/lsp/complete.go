package lsp

import (
	"context"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/language"
	"github.com/graphd/graphd/internal/language/text"
)

// kindOf are the sorts of completions as the protocol numbers them.
func kindOf(s language.Sort) int {
	switch s {
	case language.SortFunction:
		return 3
	case language.SortMember:
		return 5
	case language.SortVariable:
		return 6
	case language.SortField:
		return 10
	case language.SortWord:
		return 12
	}
	return 18 // a reference
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
	files, units := s.documents.around(doc)
	a := &language.Around{Grammar: s.grammar,
		Ask:   func(marked string, told func(expression.Found)) { s.ask(doc, marked, told) },
		Known: func(path, chain []string) (expression.Type, bool) { return typeBehind(units, path, chain) }}
	if x := at.Index(doc.text); x != nil { // of the document as it is now; what is known may be older
		a.Files = append(a.Files, x)
	}
	for _, f := range files {
		a.Files = append(a.Files, f.index)
	}
	items, more := a.Complete(at)
	all := completions{Incomplete: more, Items: make([]completion, len(items))}
	for i, item := range items {
		all.Items[i] = completion{Label: item.Label, Kind: kindOf(item.Sort), Detail: item.Detail, About: item.About,
			Edit: edit{Range: doc.text.Range(at.From, at.To), Text: item.Text}}
	}
	return all, nil
}

// ask has the declarations compiled that a document is part of, with another text in its place.
func (s *server) ask(doc *document, marked string, told func(expression.Found)) {
	ctx, cancel := context.WithTimeout(context.Background(), s.AskWithin)
	defer cancel()
	open := s.documents.texts()
	if doc.path != "" {
		open[doc.path] = marked
	}
	for _, whole := range s.documents.declaring(doc) {
		switch {
		case s.documents.knownOf(whole).is != declaration:
			continue
		case whole == doc:
			typed := *doc
			typed.text = text.New(marked)
			whole = &typed
		}
		made, err := makeWhole(whole, open, map[string]*text.Text{})
		if err != nil {
			continue // what is known of it is of its newest state
		}
		s.kinds.Ask(ctx, checkpoint.DefaultTenant, made.Text, made.Name, told)
	}
}
