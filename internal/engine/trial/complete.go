package trial

import (
	"context"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/language"
	"github.com/graphd/graphd/internal/language/text"
)

// Asker compiles what is being typed for who asks.
type Asker interface {
	// Schema is the JSON Schema of declarations.
	Schema() []byte
	Ask(ctx context.Context, tenant string, document []byte, name string, told func(expression.Found))
}

// Speller tells what can be put at a place of a declaration. It is safe for concurrent use.
type Speller struct {
	asker   Asker
	grammar func() (*language.Grammar, error) // read once somebody asks
}

// NewSpeller is one that asks a.
func NewSpeller(a Asker) *Speller {
	return &Speller{a, sync.OnceValues(func() (*language.Grammar, error) { return language.NewGrammar(a.Schema()) })}
}

// Complete is what can be put at a place of a tenant's declaration.
func (s *Speller) Complete(ctx context.Context, tenant string, req *api.CompletionRequest) (api.Completion, error) {
	none := api.Completion{Items: []api.Offer{}}
	grammar, err := s.grammar()
	if err != nil {
		return none, err
	}
	doc := text.New(req.Declaration)
	cursor := doc.At(req.Line, req.Column)
	at, ok := language.At(req.Declaration, cursor)
	if !ok {
		return none, nil
	}
	a := language.Around{Grammar: grammar, Ask: func(marked string, told func(expression.Found)) {
		s.asker.Ask(ctx, tenant, []byte(marked), "", told)
	}}
	if x := at.Index(doc); x != nil {
		a.Files = append(a.Files, x)
	}
	items, more := a.Complete(at)
	c := api.Completion{Before: cursor - at.From, After: at.To - cursor, More: more,
		Items: make([]api.Offer, len(items))}
	for i, o := range items {
		c.Items[i] = api.Offer{Sort: string(o.Sort), Label: o.Label, Text: o.Text, Detail: o.Detail, About: o.About}
	}
	return c, ctx.Err()
}
