package engine

import (
	"context"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/engine/reasons"
	"github.com/graphd/graphd/internal/why"
)

// Why tells why an epoch ran, and what has become of what it gave.
func (e *Engine) Why(ctx context.Context, g api.Ref, q api.WhyQuery) (api.Why, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.Why{}, err
	}
	return reasons.Why(ctx, e, m, &q)
}

// WhyNot tells why nothing comes, of a graph, a key or an output.
func (e *Engine) WhyNot(ctx context.Context, g api.Ref, q api.WhyNotQuery) (api.WhyNot, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.WhyNot{}, err
	}
	return e.spread.WhyNot(ctx, m, &q)
}

// Keys are those of a keyed graph, as they are now.
func (e *Engine) Keys(ctx context.Context, g api.Ref, q api.KeyQuery) (api.KeyPage, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.KeyPage{}, err
	}
	return e.spread.Keys(ctx, m, &q)
}

// Waits says whether what an epoch has given to an output is not through.
func (e *Engine) Waits(ctx context.Context, g api.Ref, q *reasons.Waiting) (why.Waited, error) {
	m, err := e.graph(g)
	if err != nil {
		return why.Waited{}, err
	}
	return e.spread.Waits(ctx, m, q)
}
