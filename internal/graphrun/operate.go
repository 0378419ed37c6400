package graphrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// commandTimeout bounds a command whose caller set no deadline.
const commandTimeout = 30 * time.Second

// command has the graph's reactor carry something out, within the caller's time.
func (g *Graph) command(ctx context.Context, do func(ctx context.Context, r *live.Reactor) error) (*life.Run, error) {
	r, err := g.running()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return r, told.Refusal(do(ctx, r.Reactor))
}

// shown is the summary with what a command has just changed, as soon as the reactor says so.
func (g *Graph) shown(ctx context.Context, r *life.Run) api.GraphSummary {
	refresh(ctx, r)
	return g.Summary(ctx)
}

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
		if values, err = g.injected(req.Cache); err != nil {
			return api.FireResult{}, err
		}
	default:
		return api.FireResult{}, &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "unknown_mode",
			Detail: fmt.Sprintf("mode %q is neither force nor with", req.Mode),
		}
	}
	var res reactor.FireResult
	r, err := g.command(ctx, func(ctx context.Context, r *live.Reactor) (err error) {
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
		Epoch: res.Epoch, OK: res.Err == "", Cause: res.Cause.String(), Outputs: map[string]json.RawMessage{},
	}
	if res.Err != "" {
		out.Error = &res.Err
	}
	for i, name := range res.Outputs {
		out.Outputs[name] = res.Values[i].AppendJSON(nil)
	}
	return out, nil
}

// injected checks the names and types of a FireWith and lays its values out by input.
func (g *Graph) injected(cache map[string]json.RawMessage) ([]boundary.Value, error) {
	if g.unit == nil {
		_, err := g.running()
		return nil, err
	}
	if len(cache) == 0 {
		return nil, &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "empty_cache",
			Detail: "cache names no input; give at least one value", Extra: map[string]any{"declared": g.inputNames()},
		}
	}
	values := make([]boundary.Value, len(g.unit.Programs))
	names := make([]string, 0, len(cache))
	for name := range cache {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		i, err := g.accumulator(name)
		if err != nil {
			return nil, &api.Error{Status: http.StatusUnprocessableEntity, Code: "unknown_input",
				Detail: fmt.Sprintf("the graph has no input %q", name), Extra: map[string]any{
					"declared": g.inputNames(),
				}}
		}
		v, err := boundary.NewDecoder(nil, boundary.Limits{MaxBytes: g.host.MaxEventBytes}).Decode(cache[name])
		if err == nil {
			err = g.unit.InputType(i).Accepts(v)
		}
		if err != nil {
			return nil, &api.Error{
				Status: http.StatusUnprocessableEntity, Code: "bad_value",
				Detail: fmt.Sprintf("the value for %q does not fit: %v", name, err),
			}
		}
		values[i] = v
	}
	return values, nil
}

func (g *Graph) inputNames() []string {
	names := make([]string, len(g.unit.Spec.Accumulators))
	for i := range g.unit.Spec.Accumulators {
		names[i] = g.unit.Spec.Accumulators[i].Name
	}
	return names
}

// accumulator finds an input by name, or refuses with 404.
func (g *Graph) accumulator(name string) (int, error) {
	if g.unit == nil {
		_, err := g.running()
		return 0, err
	}
	for i := range g.unit.Spec.Accumulators {
		if g.unit.Spec.Accumulators[i].Name == name {
			return i, nil
		}
	}
	return 0, &api.Error{Status: http.StatusNotFound, Code: "accumulator_not_found",
		Detail: fmt.Sprintf("graph %s has no accumulator %q", g.ref.Name, name), Extra: map[string]any{
			"declared": g.inputNames(),
		}}
}

// Pause stops the evaluation. It is durable before it is answered (W27).
func (g *Graph) Pause(ctx context.Context, by string) (api.GraphSummary, error) {
	return g.durably(ctx, func(ctx context.Context, r *live.Reactor) error { return r.Pause(ctx, by) })
}

// Resume goes on and evaluates at once (M12).
func (g *Graph) Resume(ctx context.Context, _ string) (api.GraphSummary, error) {
	return g.durably(ctx, func(ctx context.Context, r *live.Reactor) error { return r.Resume(ctx) })
}

// durably carries out a command and answers when a checkpoint covers it.
func (g *Graph) durably(ctx context.Context, do func(ctx context.Context, r *live.Reactor) error) (
	api.GraphSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	r, err := g.command(ctx, do)
	if err != nil {
		return api.GraphSummary{}, err
	}
	if _, err := r.Reactor.Durable(ctx); err != nil {
		return api.GraphSummary{}, told.NotDurable(err)
	}
	return g.shown(ctx, r), nil
}

// Step runs up to n epochs by the normal criteria while paused.
func (g *Graph) Step(ctx context.Context, n int) (api.GraphSummary, error) {
	if n < 1 || n > 1_000_000 {
		return api.GraphSummary{}, &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "bad_step", Detail: "n must be between 1 and 1,000,000",
		}
	}
	r, err := g.command(ctx, func(ctx context.Context, r *live.Reactor) error { return r.Step(ctx, n) })
	if err != nil {
		return api.GraphSummary{}, err
	}
	return g.shown(ctx, r), nil
}

// Checkpoint answers with the epoch covered once it is durable.
func (g *Graph) Checkpoint(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	r, err := g.running()
	if err != nil {
		return 0, err
	}
	epoch, err := r.Reactor.Durable(ctx)
	if err != nil {
		return 0, told.NotDurable(err)
	}
	return epoch, nil
}

// Drain waits until nothing is left to fire now and the sinks are flushed, then checkpoints. What
// waits for a timer is not waited for.
func (g *Graph) Drain(ctx context.Context) (api.GraphSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	r, err := g.running()
	if err != nil {
		return api.GraphSummary{}, err
	}
	switch err := r.Reactor.Rest(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		sum := g.Summary(ctx)
		return api.GraphSummary{}, told.NotDrained(&sum)
	case err != nil:
		return api.GraphSummary{}, told.Refusal(err)
	}
	if _, err := r.Reactor.Durable(ctx); err != nil {
		return api.GraphSummary{}, told.NotDurable(err)
	}
	return g.shown(ctx, r), nil
}

// Restart revives a graph, or one accumulator of it, at once and with a fresh count (M36).
func (g *Graph) Restart(ctx context.Context, name, by string) (api.GraphSummary, error) {
	g.host.Log.Info("restart asked for", "graph", g.ref.Name, "tenant", g.ref.Tenant, "accumulator", name, "by", by)
	if name == "" {
		if g.unit == nil {
			_, err := g.running()
			return api.GraphSummary{}, err
		}
		if err := g.first().Forgive(ctx); err != nil {
			return api.GraphSummary{}, err
		}
		before := g.first().Incarnation()
		g.first().Restart()
		return g.after(ctx, func(s *api.GraphSummary) bool { return s.Incarnation > before && loaded(s) }), nil
	}
	i, err := g.accumulator(name)
	if err != nil {
		return api.GraphSummary{}, err
	}
	r, err := g.running()
	if err != nil {
		return api.GraphSummary{}, err
	}
	r.Restart(i)
	return g.after(ctx, func(s *api.GraphSummary) bool {
		h := accumulator.Health(s.Accumulators[i].Health)
		return h.Healthy() || h == accumulator.Stopped
	}), nil
}
