package graphrun

import (
	"context"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/lives"
)

// fits refuses an update to another number of shards than the keys are dealt to in the store (M54).
func (g *Graph) fits(ctx context.Context) error {
	if g.unit == nil {
		return nil
	}
	heads, err := g.host.Store.ShardHeads(ctx, g.ID())
	if err != nil {
		return fmt.Errorf("look at the shards of the graph: %w", err)
	}
	dealt, err := lives.Dealt(heads)
	if err != nil || dealt == 0 || dealt == len(g.shards) {
		return nil // what cannot be read the shards themselves tell
	}
	return &api.Error{Status: http.StatusFailedDependency, Code: "update_failed", Detail: fmt.Sprintf(
		"the keys are dealt to %d shards, and dealing them anew to %d cannot be done while they have a state: "+
			"delete the graph with its state, and apply it again", dealt, len(g.shards))}
}

// dropOthers takes the state from shards that the graph had, when its keys were dealt to more of them.
func (g *Graph) dropOthers(ctx context.Context) error {
	heads, err := g.host.Store.ShardHeads(ctx, g.ID())
	if err != nil {
		return fmt.Errorf("look at the shards of the graph: %w", err)
	}
	for _, h := range heads {
		if h.Shard < len(g.shards) {
			continue
		}
		gone := lives.New(lives.Config{Host: &g.host.Host, Ref: g.ref, Number: h.Shard, Of: len(g.shards),
			Unit: g.unit})
		if err := gone.DropState(ctx); err != nil {
			return err
		}
	}
	return nil
}
