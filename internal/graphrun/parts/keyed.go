package parts

import (
	"context"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/pushkey"
	"github.com/graphd/graphd/internal/spec"
)

// Keyed has the shards of a graph keep the Idempotency-Key that a push to input i came with, if it came with one and
// the graph is journaled; kept says that they do.
func Keyed(ctx context.Context, store checkpoint.PushKeys, graph checkpoint.ID, declared *spec.Graph, i int) (
	_ context.Context, kept bool) {
	k, ok := pushkey.From(ctx)
	if !ok || declared.Durability.Mode != "journal" {
		return ctx, false
	}
	k.Look = func(ctx context.Context) ([]checkpoint.PushKey, error) {
		return store.PushKeys(ctx, graph.Whole(), declared.Accumulators[i].Name, k.Text, k.First)
	}
	return pushkey.With(ctx, k), true
}
