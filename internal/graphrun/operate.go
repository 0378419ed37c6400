package graphrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// refresh has the reactor say how it stands, so that whoever asks after a command sees it done.
func refresh(ctx context.Context, r *life.Run) {
	ctx, cancel := context.WithTimeout(ctx, takeEffect)
	defer cancel()
	_, _ = r.Reactor.Refresh(ctx) // without an answer, what it said last is the newest there is
}

// Fire runs one epoch on command (M11).
func (g *Graph) Fire(ctx context.Context, req api.FireRequest) (api.FireResult, error) {
	key, err := g.key(string(req.Key), true)
	if err != nil {
		return api.FireResult{}, err
	}
	var values []boundary.Value
	switch req.Mode {
	case "force":
	case "with":
		if values, err = told.Injected(g.unit, req.Cache, g.host.MaxEventBytes); err != nil {
			return api.FireResult{}, err
		}
	default:
		return api.FireResult{}, &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "unknown_mode",
			Detail: fmt.Sprintf("mode %q is neither force nor with", req.Mode),
		}
	}
	var res reactor.FireResult
	shard := g.of(ctx, key)
	r, err := g.commandAt(ctx, shard, func(ctx context.Context, r *live.Reactor) (err error) {
		if req.Mode == "force" {
			res, err = r.ForceFire(ctx, key, req.OnlyChanged)
		} else {
			res, err = r.FireWith(ctx, key, values, req.Replace == nil || *req.Replace)
		}
		return err
	})
	if err != nil {
		return api.FireResult{}, told.LookUp(err, key)
	}
	refresh(ctx, r)
	out := api.FireResult{
		Epoch: res.Epoch, Shard: shard.Number(), OK: res.Err == "", Cause: res.Cause.String(),
		Outputs: map[string]json.RawMessage{},
	}
	if res.Err != "" {
		out.Error = &res.Err
	}
	for i, name := range res.Outputs {
		out.Outputs[name] = res.Values[i].AppendJSON(nil)
	}
	return out, nil
}

// accumulator finds an input by name, or refuses with 404.
func (g *Graph) accumulator(name string) (int, error) {
	if g.unit == nil {
		_, err := g.running()
		return 0, err
	}
	return told.FindInput(g.unit.Spec, name)
}

// Pause stops the evaluation. It is durable before it is answered (W27).
func (g *Graph) Pause(ctx context.Context, by string) (api.GraphSummary, error) {
	return g.durably(ctx, func(ctx context.Context, r *life.Run) error { return r.Reactor.Pause(ctx, by) })
}

// Resume goes on and evaluates at once (M12).
func (g *Graph) Resume(ctx context.Context, _ string) (api.GraphSummary, error) {
	return g.durably(ctx, func(ctx context.Context, r *life.Run) error { return r.Reactor.Resume(ctx) })
}

// durably carries out a command and answers when a checkpoint covers it.
func (g *Graph) durably(ctx context.Context, do func(ctx context.Context, r *life.Run) error) (
	api.GraphSummary, error) {
	err := g.everywhere(ctx, func(ctx context.Context, r *life.Run) error {
		if err := do(ctx, r); err != nil {
			return told.Refusal(err)
		}
		return durable(ctx, r)
	})
	if err != nil {
		return api.GraphSummary{}, err
	}
	return g.refreshed(ctx), nil
}

func durable(ctx context.Context, r *life.Run) error {
	if _, err := r.Reactor.Durable(ctx); err != nil {
		return told.NotDurable(err)
	}
	return nil
}

// Step runs up to n epochs, of each shard, by the normal criteria while paused.
func (g *Graph) Step(ctx context.Context, n int) (api.GraphSummary, error) {
	if n < 1 || n > 1_000_000 {
		return api.GraphSummary{}, &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "bad_step", Detail: "n must be between 1 and 1,000,000",
		}
	}
	err := g.everywhere(ctx, func(ctx context.Context, r *life.Run) error {
		return told.Refusal(r.Reactor.Step(ctx, n))
	})
	if err != nil {
		return api.GraphSummary{}, err
	}
	return g.refreshed(ctx), nil
}

// Checkpoint answers with the epoch covered once it is durable; of several shards with the sum of theirs.
func (g *Graph) Checkpoint(ctx context.Context) (int64, error) {
	var all atomic.Int64
	err := g.everywhere(ctx, func(ctx context.Context, r *life.Run) error {
		epoch, err := r.Reactor.Durable(ctx)
		if err != nil {
			return told.NotDurable(err)
		}
		all.Add(epoch)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return all.Load(), nil
}

// Drain waits until nothing is left to fire now and the sinks are flushed, then checkpoints. What
// waits for a timer is not waited for.
func (g *Graph) Drain(ctx context.Context) (api.GraphSummary, error) {
	err := g.everywhere(ctx, func(ctx context.Context, r *life.Run) error {
		switch err := r.Reactor.Rest(ctx); {
		case errors.Is(err, context.DeadlineExceeded):
			sum := g.Summary(ctx)
			return told.NotDrained(&sum)
		case err != nil:
			return told.Refusal(err)
		}
		return durable(ctx, r)
	})
	if err != nil {
		return api.GraphSummary{}, err
	}
	return g.refreshed(ctx), nil
}

// Restart revives a graph, or one accumulator of it, at once and with a fresh count (M36).
func (g *Graph) Restart(ctx context.Context, name, by string) (api.GraphSummary, error) {
	g.host.Log.Info("restart asked for", "graph", g.ref.Name, "tenant", g.ref.Tenant, "accumulator", name, "by", by)
	if name == "" {
		if g.unit == nil {
			_, err := g.running()
			return api.GraphSummary{}, err
		}
		asked, before := g.asked(ctx), make([]int64, len(g.shards))
		for _, s := range asked {
			if err := s.Elsewhere(http.StatusConflict); err != nil {
				return api.GraphSummary{}, err
			}
			before[s.Number()] = s.Incarnation()
		}
		for _, s := range asked {
			s.Restart()
		}
		return g.after(ctx, func(sum *api.GraphSummary) bool {
			for _, s := range asked {
				if s.Incarnation() <= before[s.Number()] {
					return false
				}
			}
			*sum = g.summaryOf(asked) // what was seen may be of before
			return told.Loaded(sum) && sum.Health != string(reactor.HealthStopped)
		}), nil
	}
	i, err := g.accumulator(name)
	if err != nil {
		return api.GraphSummary{}, err
	}
	runs, err := g.runs(ctx)
	if err != nil {
		return api.GraphSummary{}, err
	}
	for _, r := range runs {
		if r != nil {
			r.Restart(i)
		}
	}
	return g.after(ctx, func(s *api.GraphSummary) bool {
		h := accumulator.Health(s.Accumulators[i].Health)
		return h.Healthy() || h == accumulator.Stopped
	}), nil
}
