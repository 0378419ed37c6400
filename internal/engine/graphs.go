package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/engine/spread"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/watch"
)

// What the control plane asks of one graph: each finds the graph and hands the request on.
// What changes something, and what needs the graph's run, waits for an update under way.

// Graphs is a summary of every graph of the tenant, wherever it runs.
func (e *Engine) Graphs(ctx context.Context, tenant string) (api.GraphList, error) {
	return e.spread.List(ctx, tenant, e.of(tenant)), nil
}

// of are the graphs of a tenant, by name.
func (e *Engine) of(tenant string) []*graphrun.Graph {
	return slices.DeleteFunc(e.all(), func(m *graphrun.Graph) bool { return m.Ref().Tenant != tenant })
}

// Metrics reads every graph.
func (e *Engine) Metrics(ctx context.Context) []told.Metrics {
	var list []told.Metrics
	for _, m := range e.all() {
		list = append(list, m.Metrics(ctx))
	}
	return list
}

// Graph is the summary of one graph.
func (e *Engine) Graph(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.GraphSummary{}, err
	}
	return e.summary(ctx, m)
}

func (e *Engine) summary(ctx context.Context, m *graphrun.Graph) (api.GraphSummary, error) {
	if e.spread.Apart(m) {
		return e.spread.Summary(ctx, m)
	}
	return m.Summary(ctx), nil
}

// Shard is the summary of one shard of a graph, with its row in the list of shards.
func (e *Engine) Shard(ctx context.Context, g api.Ref, shard int) (api.GraphSummary, error) {
	m, err := e.graph(g)
	if err == nil {
		err = hasShard(m, shard)
	}
	if err != nil {
		return api.GraphSummary{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.Shard(ctx, m, shard)
	}
	return m.Shard(shard), nil
}

// hasShard refuses a number that none of a graph's shards has.
func hasShard(m *graphrun.Graph, shard int) error {
	if of := m.Shards(); shard < 0 || shard >= of {
		return told.NoShard(m.Ref().Name, shard, of)
	}
	return nil
}

// Accumulators are the inputs of a graph.
func (e *Engine) Accumulators(ctx context.Context, g api.Ref) ([]api.AccumulatorSummary, error) {
	m, err := e.graph(g)
	if err != nil {
		return nil, err
	}
	sum, err := e.summary(ctx, m)
	return sum.Accumulators, err
}

// Accumulator is one input with what it expects and hands over, and of a table the row of a key, if one is given.
func (e *Engine) Accumulator(ctx context.Context, g api.Ref, name, row string) (api.AccumulatorDetail, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.AccumulatorDetail{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.Accumulator(ctx, m, name, row)
	}
	return m.Accumulator(ctx, name, row)
}

// Plan is the graph's compiled plan.
func (e *Engine) Plan(_ context.Context, g api.Ref) (json.RawMessage, error) {
	m, err := e.graph(g)
	if err != nil {
		return nil, err
	}
	return m.Plan()
}

// State is the cache, flags, queues and node values as they are now, of one key where the
// graph has keys.
func (e *Engine) State(ctx context.Context, g api.Ref, key string) (api.State, error) {
	m, err := e.settled(ctx, g)
	if err != nil {
		return api.State{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.State(ctx, m, key)
	}
	return m.State(ctx, key)
}

// ShardState is the state of one shard of a graph that is dealt, without its keys: how it stands, and what waits in its
// inputs. The one shard of another graph has the graph's state.
func (e *Engine) ShardState(ctx context.Context, g api.Ref, shard int) (api.State, error) {
	m, err := e.settled(ctx, g)
	if err == nil {
		err = hasShard(m, shard)
	}
	if err != nil {
		return api.State{}, err
	}
	sum := m.Shard(shard)
	if len(sum.Shards) == 0 {
		return m.State(ctx, "")
	}
	st := told.WholeState(&sum)
	st.Shard = shard
	return st, nil
}

// Firings lists the newest epochs.
func (e *Engine) Firings(ctx context.Context, g api.Ref, q api.Query) (api.Page[api.Firing], error) {
	m, err := e.graph(g)
	if err != nil {
		return api.Page[api.Firing]{}, err
	}
	return m.Firings(ctx, q)
}

// Firing is one epoch of a shard in full, of the newest incarnation that has it.
func (e *Engine) Firing(ctx context.Context, g api.Ref, shard int, epoch int64) (api.FiringDetail, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.FiringDetail{}, err
	}
	return m.Firing(ctx, shard, epoch)
}

// Fire runs one epoch on command (M11).
func (e *Engine) Fire(ctx context.Context, g api.Ref, req api.FireRequest) (api.FireResult, error) {
	m, err := e.settled(ctx, g)
	if err != nil {
		return api.FireResult{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.Fire(ctx, m, &req)
	}
	return m.Fire(ctx, req)
}

// steer has one graph carry out a command that answers with its summary; verb and c are the same for other members.
func (e *Engine) steer(ctx context.Context, g api.Ref, verb string, c spread.Command,
	do func(m *graphrun.Graph) (api.GraphSummary, error)) (api.GraphSummary, error) {
	m, err := e.settled(ctx, g)
	if err != nil {
		return api.GraphSummary{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.Steer(ctx, m, verb, &c)
	}
	return do(m)
}

// Pause stops the evaluation. It is durable before it is answered (W27).
func (e *Engine) Pause(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error) {
	return e.steer(ctx, g, "pause", spread.Command{By: by}, func(m *graphrun.Graph) (api.GraphSummary, error) {
		return m.Pause(ctx, by)
	})
}

// Resume goes on and evaluates at once (M12).
func (e *Engine) Resume(ctx context.Context, g api.Ref, by string) (api.GraphSummary, error) {
	return e.steer(ctx, g, "resume", spread.Command{By: by}, func(m *graphrun.Graph) (api.GraphSummary, error) {
		return m.Resume(ctx, by)
	})
}

// Step runs up to n epochs by the normal criteria while paused.
func (e *Engine) Step(ctx context.Context, g api.Ref, n int) (api.GraphSummary, error) {
	return e.steer(ctx, g, "step", spread.Command{N: n}, func(m *graphrun.Graph) (api.GraphSummary, error) {
		return m.Step(ctx, n)
	})
}

// Drain waits until nothing is left to fire now and the sinks are flushed, then checkpoints.
func (e *Engine) Drain(ctx context.Context, g api.Ref) (api.GraphSummary, error) {
	return e.steer(ctx, g, "drain", spread.Command{}, func(m *graphrun.Graph) (api.GraphSummary, error) {
		return m.Drain(ctx)
	})
}

// Restart revives a graph, or one accumulator of it, at once and with a fresh count (M36).
func (e *Engine) Restart(ctx context.Context, g api.Ref, accumulator, by string) (api.GraphSummary, error) {
	m, err := e.graph(g) // an update that does not end is no reason to wait
	if err != nil {
		return api.GraphSummary{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.Steer(ctx, m, "restart", &spread.Command{Input: accumulator, By: by})
	}
	return m.Restart(ctx, accumulator, by)
}

// SkipLost lets a halted accumulator go on behind what its source has lost (M44).
func (e *Engine) SkipLost(ctx context.Context, g api.Ref, accumulator, by string) (api.SkipResult, error) {
	m, err := e.settled(ctx, g)
	if err != nil {
		return api.SkipResult{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.SkipLost(ctx, m, accumulator, by)
	}
	return m.SkipLost(ctx, accumulator, by)
}

// StopPart stops one input or output while its siblings go on.
func (e *Engine) StopPart(ctx context.Context, g api.Ref, part api.Part, by string) (api.GraphSummary, error) {
	c := spread.Command{Part: &part, By: by}
	return e.steer(ctx, g, "stop_part", c, func(m *graphrun.Graph) (api.GraphSummary, error) {
		return m.StopPart(ctx, part, by)
	})
}

// StartPart lets a stopped input or output go on.
func (e *Engine) StartPart(ctx context.Context, g api.Ref, part api.Part, by string) (api.GraphSummary, error) {
	c := spread.Command{Part: &part, By: by}
	return e.steer(ctx, g, "start_part", c, func(m *graphrun.Graph) (api.GraphSummary, error) {
		return m.StartPart(ctx, part, by)
	})
}

// Rewind has an accumulator read its source again from another place.
func (e *Engine) Rewind(ctx context.Context, g api.Ref, accumulator, position, confirm,
	by string) (api.GraphSummary, error) {
	c := spread.Command{Input: accumulator, Position: position, Confirm: confirm, By: by}
	return e.steer(ctx, g, "rewind", c, func(m *graphrun.Graph) (api.GraphSummary, error) {
		return m.Rewind(ctx, accumulator, position, confirm, by)
	})
}

// Reset takes all state from a graph, as if it had never run.
func (e *Engine) Reset(ctx context.Context, g api.Ref, confirm, by string) (api.GraphSummary, error) {
	defer e.changing.Lock(g)()
	m, err := e.graph(g)
	if err != nil {
		return api.GraphSummary{}, err
	}
	if e.spread.Apart(m) {
		return e.spread.Steer(ctx, m, "reset", &spread.Command{Confirm: confirm, By: by})
	}
	return m.Reset(ctx, e.ctx, confirm, by)
}

// Checkpoint answers with the epoch covered once it is durable.
func (e *Engine) Checkpoint(ctx context.Context, g api.Ref) (int64, error) {
	m, err := e.settled(ctx, g)
	if err != nil {
		return 0, err
	}
	if e.spread.Apart(m) {
		return e.spread.Checkpoint(ctx, m)
	}
	return m.Checkpoint(ctx)
}

// Push hands events to an accumulator and waits until they are folded and the reactor has
// them. The mailbox outlives restarts: while the accumulator is being restarted it waits.
func (e *Engine) Push(ctx context.Context, g api.Ref, accumulator string, events []json.RawMessage) (
	api.PushResult, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.PushResult{}, err
	}
	res, err := m.Push(ctx, accumulator, events)
	return e.spread.Local.Refused.Pushed(g, accumulator, len(events), res, err)
}

// Submit is Push in two parts, so that one connection can have several on their way; see [graphrun.Graph.Submit].
func (e *Engine) Submit(ctx context.Context, g api.Ref, accumulator string, events []json.RawMessage) (
	func(ctx context.Context) (api.PushResult, error), error) {
	m, err := e.graph(g)
	if err != nil {
		return nil, err
	}
	answer, err := m.Submit(ctx, accumulator, events)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (api.PushResult, error) {
		res, err := answer(ctx)
		return e.spread.Local.Refused.Pushed(g, accumulator, len(events), res, err)
	}, nil
}

// RejectBody counts n events that were not handed over: one for a body that could not be parsed (M42).
func (e *Engine) RejectBody(_ context.Context, g api.Ref, accumulator, code string, n int) error {
	m, err := e.graph(g)
	if err != nil {
		return err
	}
	if err := m.RejectBody(accumulator, n); err != nil {
		return err // of no input of the graph: what is counted is bounded by its inputs
	}
	e.spread.Local.Refused.Count(g, accumulator, code, n)
	return nil
}

// watchHere subscribes to all of a tenant's graphs, as far as they run here.
func (e *Engine) watchHere(ctx context.Context, tenant string, q *watch.Queue) api.Subscription {
	sub := e.everyone.Add(tenant, q)
	graphrun.WatchAll(ctx, e.of(tenant), q)
	return sub
}

// Watch subscribes to one graph, or to all of the tenant's when the name is empty.
func (e *Engine) Watch(ctx context.Context, g api.Ref, w api.Wanted) (api.Subscription, error) {
	q, err := watch.NewQueue(w.Topics, w.Sample, g.Name == "")
	if err != nil {
		return nil, err
	}
	if g.Name == "" {
		return e.spread.WatchAll(ctx, g.Tenant, q, w.Topics, func() api.Subscription {
			return e.watchHere(ctx, g.Tenant, q)
		}), nil
	}
	var at api.Places
	find := e.graph
	if w.Since != "" {
		if at, err = watch.ParsePlaces(w.Since); err != nil {
			return nil, err
		}
		find = func(g api.Ref) (*graphrun.Graph, error) { return e.settled(ctx, g) }
	}
	m, err := find(g)
	if err == nil && w.Since != "" {
		err = watch.OfShards(at, m.Shards())
	}
	switch {
	case err != nil:
		return nil, err
	case e.spread.Spreads(m):
		return e.spread.Watch(ctx, m, q, w, at, func() *graphrun.Graph {
			m, _ := e.graph(g)
			return m
		})
	case w.Since == "":
		m.Watch(ctx, q)
		return q, nil
	}
	if err := m.WatchSince(ctx, q, at); err != nil {
		return nil, err
	}
	return q, nil
}
