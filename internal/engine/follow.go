package engine

import (
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/engine/contracts"
)

// contracts are those of graphs with the graphs that they follow.
func (e *Engine) contracts() *contracts.Book {
	return &contracts.Book{Links: e.feeds, Unit: func(g api.Ref) *compile.Unit {
		if m, err := e.graph(g); err == nil {
			return m.Unit()
		}
		return nil
	}}
}
