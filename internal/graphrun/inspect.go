package graphrun

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/watch"
)

// Accumulator is one input with what it expects and hands over, and of a table the row of a key, if one is given.
func (g *Graph) Accumulator(ctx context.Context, name, row string) (api.AccumulatorDetail, error) {
	i, err := g.accumulator(name)
	if err != nil {
		return api.AccumulatorDetail{}, err
	}
	d := api.AccumulatorDetail{BoundaryType: g.unit.Programs[i].Type().String()}
	if a := &g.unit.Spec.Accumulators[i]; a.Schema != nil {
		d.Schema = told.JSON(a.Schema)
	}
	for _, s := range g.Summary(ctx).Accumulators {
		if s.Name == name {
			d.AccumulatorSummary = s
		}
	}
	d.Row, err = g.row(ctx, i, row)
	return d, err
}

// row looks a row of a table up; of one that is dealt, in every shard.
func (g *Graph) row(ctx context.Context, i int, row string) (all *api.TableRow, err error) {
	shards := g.asked(ctx)
	if g.unit.Spec.Accumulators[i].Global {
		shards = shards[:1]
	}
	for _, s := range shards {
		at := func(ctx context.Context, do func(context.Context, *live.Reactor) error) (*life.Run, error) {
			return g.commandAt(ctx, s, do)
		}
		found, err := told.Row(ctx, &g.unit.Inputs()[i], i, row, at)
		if err != nil || found == nil {
			return nil, err
		}
		all = told.JoinRows(all, found)
	}
	return all, nil
}

// Plan is the graph's compiled plan.
func (g *Graph) Plan() (json.RawMessage, error) {
	if g.unit == nil {
		_, err := g.running()
		return nil, err
	}
	return g.unit.PlanJSON()
}

// State is the cache, flags, queues and node values as they are now, of one key where the
// graph has keys. Where no key is asked for, a graph that is dealt tells how all of its shards stand.
func (g *Graph) State(ctx context.Context, key string) (api.State, error) {
	k, err := g.key(key, len(g.shards) == 1)
	if err != nil {
		return api.State{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, told.BusyAfter)
	defer cancel()
	if k == "" && len(g.shards) > 1 {
		sum := g.refreshed(ctx)
		return told.WholeState(&sum), nil
	}
	shard := g.of(ctx, k)
	var st reactor.State
	r, err := g.commandAt(ctx, shard, func(ctx context.Context, r *live.Reactor) error {
		var err error
		looked := r.Look(ctx, func(c *reactor.Core, _ time.Time) { st, err = c.GetState(told.Or(c, k)) })
		if looked != nil {
			return looked
		}
		return err
	})
	if err != nil {
		return api.State{}, told.LookUp(err, k)
	}
	out := watch.StateOf(r.Reactor.Core.Config(), &st)
	out.Shard = shard.Number()
	return out, nil
}

// key reads the key of a request.
func (g *Graph) key(text string, must bool) (boundary.Key, error) {
	if g.unit == nil {
		_, err := g.running()
		return "", err
	}
	return told.Key(g.unit.Spec.KeyParts(), text, must)
}

// Lives are the shards that an answer about a key comes of: that which has the key, or where none is asked for all
// that are asked, see [parts.Only]. A key of text is read.
func (g *Graph) Lives(ctx context.Context, key string) ([]*lives.Shard, boundary.Key, error) {
	k, err := g.key(key, false)
	if err != nil || k == "" {
		return g.asked(ctx), k, err
	}
	return []*lives.Shard{g.of(ctx, k)}, k, nil
}

// Firings lists the newest epochs: those in memory first, older ones from the store.
func (g *Graph) Firings(ctx context.Context, q api.Query) (api.Page[api.Firing], error) {
	key, err := g.key(q.Key, false)
	if err != nil {
		return api.Page[api.Firing]{}, err
	}
	if key != "" {
		return g.of(ctx, key).History().Page(ctx, q, key)
	}
	return g.past.Page(ctx, g.histories(), q)
}

// histories are those of its shards.
func (g *Graph) histories() (all told.Histories) {
	for _, s := range g.shards {
		all = append(all, s.History())
	}
	return all
}

// Firing is one epoch of a shard in full, of the newest incarnation that has it.
func (g *Graph) Firing(ctx context.Context, shard int, epoch int64) (api.FiringDetail, error) {
	return g.past.Epoch(ctx, g.histories(), shard, epoch)
}

// FlushLetters has dead letters that are still in memory checkpointed.
func (g *Graph) FlushLetters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, told.BusyAfter)
	defer cancel()
	return g.each(func(s *lives.Shard) error {
		r := s.Run()
		if r == nil || r.Reactor.View().DeadLetters == 0 {
			return nil
		}
		_, err := r.Reactor.Durable(ctx)
		if err != nil && !errors.Is(err, live.ErrStopped) {
			return told.NotDurable(err)
		}
		return nil
	})
}
