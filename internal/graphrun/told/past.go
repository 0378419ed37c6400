package told

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// Records are what histories ask of a store.
type Records interface {
	checkpoint.History
	ShardHeads(ctx context.Context, graph checkpoint.ID) ([]checkpoint.ShardHead, error)
}

// Past are the shards that a graph had while its keys were dealt to more than now: what they have fired is in the
// store. The zero value is ready. It is safe for concurrent use.
type Past struct {
	mu   sync.Mutex
	of   int // among how many shards it was looked; 0 before
	gone []int
}

// join adds the shards that went to those that there are, of which there is one at least.
func (p *Past) join(ctx context.Context, all Histories) (Histories, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	store, id := all[0].Store, all[0].ID
	if p.of != len(all) {
		heads, err := store.ShardHeads(ctx, id.Whole())
		if err != nil {
			return nil, fmt.Errorf("read the store: %w", err)
		}
		p.of, p.gone = len(all), nil
		for _, h := range heads {
			if h.Shard >= len(all) {
				p.gone = append(p.gone, h.Shard)
			}
		}
	}
	for _, n := range p.gone {
		id.Shard = n
		all = append(all, &History{Store: store, ID: id})
	}
	return all, nil
}

// Page lists epochs of all shards, or of one, newest first; see [Histories.Page].
func (p *Past) Page(ctx context.Context, all Histories, q api.Query) (api.Page[api.Firing], error) {
	if q.Shard != nil {
		h, err := p.shard(ctx, all, *q.Shard)
		if err != nil {
			return api.Page[api.Firing]{}, err
		}
		return h.Page(ctx, q, "")
	}
	all, err := p.join(ctx, all)
	if err != nil {
		return api.Page[api.Firing]{}, err
	}
	return all.Page(ctx, q)
}

// Epoch is one epoch of a shard in full, of the newest incarnation that has it.
func (p *Past) Epoch(ctx context.Context, all Histories, shard int, epoch int64) (api.FiringDetail, error) {
	h, err := p.shard(ctx, all, shard)
	if err != nil {
		return api.FiringDetail{}, err
	}
	return h.Epoch(ctx, epoch)
}

// shard is one shard's history, by its number. Those that went are asked for where it is none of the others.
func (p *Past) shard(ctx context.Context, all Histories, n int) (*History, error) {
	of, name := len(all), all[0].ID.Graph
	if n >= of {
		var err error
		if all, err = p.join(ctx, all); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(all, func(h *History) bool { return h.ID.Shard == n }); i >= 0 {
		return all[i], nil
	}
	return nil, NoShard(name, n, of)
}
