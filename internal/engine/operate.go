package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// commandTimeout bounds a command whose caller set no deadline.
const commandTimeout = 30 * time.Second

// command finds the graph's run and asks its reactor, within the caller's time.
func (e *Engine) command(ctx context.Context, g Ref, f func(c *reactor.Core, now time.Time) error) (*managed, *run, error) {
	m, err := e.settled(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	r, err := m.running()
	if err != nil {
		return nil, nil, err
	}
	var refused error
	err = r.reactor.Do(ctx, func(c *reactor.Core, now time.Time) { refused = f(c, now) })
	if err == nil {
		err = refused
	}
	return m, r, m.refusal(err)
}

// refusal turns a reactor's error into the control plane's.
func (m *managed) refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, reactor.ErrState):
		return &Error{Status: http.StatusConflict, Code: "state_forbids", Detail: "the graph's state forbids this command; see its health"}
	case errors.Is(err, reactor.ErrNotPaused):
		return &Error{Status: http.StatusConflict, Code: "not_paused", Detail: err.Error()}
	case errors.Is(err, live.ErrStopped):
		return &Error{Status: http.StatusConflict, Code: "graph_not_running", Detail: "the graph has just stopped; look at its health"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Code: "command_timeout", Detail: "the graph did not come to an epoch boundary in time; try again, or look at its health"}
	}
	return err
}

// Fire runs one epoch on command (M11).
func (e *Engine) Fire(ctx context.Context, g Ref, req FireRequest) (FireResult, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	m, err := e.graph(g)
	if err != nil {
		return FireResult{}, err
	}
	key, err := m.key(string(req.Key), true)
	if err != nil {
		return FireResult{}, err
	}
	var values []boundary.Value
	switch req.Mode {
	case "force":
	case "with":
		if values, err = m.injected(req.Cache); err != nil {
			return FireResult{}, err
		}
	default:
		return FireResult{}, &Error{Status: http.StatusUnprocessableEntity, Code: "unknown_mode", Detail: fmt.Sprintf("mode %q is neither force nor with", req.Mode)}
	}
	var res reactor.FireResult
	_, r, err := e.command(ctx, g, func(c *reactor.Core, now time.Time) (err error) {
		if req.Mode == "force" {
			res, err = c.ForceFire(now, key)
		} else {
			res, err = c.FireWith(now, key, values, req.Replace == nil || *req.Replace)
		}
		return err
	})
	if err != nil {
		return FireResult{}, lookUp(err, key)
	}
	if err := r.reactor.Journaled(ctx); err != nil {
		return FireResult{}, m.notDurable(err)
	}
	out := FireResult{Epoch: res.Epoch, OK: res.Err == "", Cause: res.Cause.String(), Outputs: map[string]json.RawMessage{}}
	if res.Err != "" {
		out.Error = &res.Err
	}
	for i, name := range res.Outputs {
		out.Outputs[name] = res.Values[i].AppendJSON(nil)
	}
	return out, nil
}

// injected checks the names and types of a FireWith and lays its values out by input.
func (m *managed) injected(cache map[string]json.RawMessage) ([]boundary.Value, error) {
	if m.unit == nil {
		_, err := m.running()
		return nil, err
	}
	if len(cache) == 0 {
		return nil, &Error{Status: http.StatusUnprocessableEntity, Code: "empty_cache", Detail: "cache names no input; give at least one value", Extra: map[string]any{"declared": m.inputNames()}}
	}
	values := make([]boundary.Value, len(m.unit.Programs))
	names := make([]string, 0, len(cache))
	for name := range cache {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		i, err := m.accumulator(name)
		if err != nil {
			return nil, &Error{Status: http.StatusUnprocessableEntity, Code: "unknown_input",
				Detail: fmt.Sprintf("the graph has no input %q", name), Extra: map[string]any{"declared": m.inputNames()}}
		}
		v, err := boundary.NewDecoder(nil, boundary.Limits{MaxBytes: m.e.cfg.MaxEventBytes}).Decode(cache[name])
		if err == nil {
			err = m.unit.InputType(i).Accepts(v)
		}
		if err != nil {
			return nil, &Error{Status: http.StatusUnprocessableEntity, Code: "bad_value", Detail: fmt.Sprintf("the value for %q does not fit: %v", name, err)}
		}
		values[i] = v
	}
	return values, nil
}

func (m *managed) inputNames() []string {
	names := make([]string, len(m.unit.Spec.Accumulators))
	for i := range m.unit.Spec.Accumulators {
		names[i] = m.unit.Spec.Accumulators[i].Name
	}
	return names
}

// accumulator finds an input by name, or refuses with 404.
func (m *managed) accumulator(name string) (int, error) {
	if m.unit == nil {
		_, err := m.running()
		return 0, err
	}
	for i := range m.unit.Spec.Accumulators {
		if m.unit.Spec.Accumulators[i].Name == name {
			return i, nil
		}
	}
	return 0, &Error{Status: http.StatusNotFound, Code: "accumulator_not_found",
		Detail: fmt.Sprintf("graph %s has no accumulator %q", m.ref.Name, name), Extra: map[string]any{"declared": m.inputNames()}}
}

// Pause stops the evaluation. It is durable before it is answered (W27).
func (e *Engine) Pause(ctx context.Context, g Ref, by string) (GraphSummary, error) {
	return e.durably(ctx, g, func(c *reactor.Core, now time.Time) error { c.Pause(now, by); return nil })
}

// Resume goes on and evaluates at once (M12).
func (e *Engine) Resume(ctx context.Context, g Ref, _ string) (GraphSummary, error) {
	return e.durably(ctx, g, func(c *reactor.Core, now time.Time) error { c.Resume(now); return nil })
}

// durably carries out a command and answers when a checkpoint covers it.
func (e *Engine) durably(ctx context.Context, g Ref, f func(c *reactor.Core, now time.Time) error) (GraphSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	m, r, err := e.command(ctx, g, f)
	if err != nil {
		return GraphSummary{}, err
	}
	if _, err := r.reactor.Durable(ctx); err != nil {
		return GraphSummary{}, m.notDurable(err)
	}
	return m.summary(ctx), nil
}

func (m *managed) notDurable(err error) error {
	if errors.Is(err, live.ErrStopped) || errors.Is(err, context.DeadlineExceeded) {
		return m.refusal(err)
	}
	return &Error{Status: http.StatusServiceUnavailable, Code: "not_durable",
		Detail: "it is in effect, but the checkpoint could not be written, so a crash would undo it: " + err.Error()}
}

// Step runs up to n epochs by the normal criteria while paused.
func (e *Engine) Step(ctx context.Context, g Ref, n int) (GraphSummary, error) {
	if n < 1 || n > 1_000_000 {
		return GraphSummary{}, &Error{Status: http.StatusUnprocessableEntity, Code: "bad_step", Detail: "n must be between 1 and 1,000,000"}
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	m, _, err := e.command(ctx, g, func(c *reactor.Core, now time.Time) error {
		if err := c.Step(now, n); err != nil {
			return err
		}
		for range n {
			if !c.Fire(now) {
				break
			}
		}
		c.EndSteps()
		return nil
	})
	if err != nil {
		return GraphSummary{}, err
	}
	return m.summary(ctx), nil
}

// Checkpoint answers with the epoch covered once it is durable.
func (e *Engine) Checkpoint(ctx context.Context, g Ref) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	m, r, err := e.command(ctx, g, func(*reactor.Core, time.Time) error { return nil })
	if err != nil {
		return 0, err
	}
	epoch, err := r.reactor.Durable(ctx)
	if err != nil {
		return 0, m.notDurable(err)
	}
	return epoch, nil
}

// drainPoll is how often a drain looks whether everything has come to rest.
const drainPoll = 5 * time.Millisecond

// Drain waits until nothing is left to fire and the sinks are flushed, then checkpoints.
func (e *Engine) Drain(ctx context.Context, g Ref) (GraphSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	for {
		var resting bool
		m, r, err := e.command(ctx, g, func(c *reactor.Core, now time.Time) error { resting = c.Resting(); return nil })
		if err != nil {
			return GraphSummary{}, err
		}
		for i := range r.m.unit.Spec.Outputs {
			w := r.writerOf(i)
			resting = resting && (w == nil || w.Status().Pending == 0)
		}
		if resting {
			if _, err := r.reactor.Durable(ctx); err != nil {
				return GraphSummary{}, m.notDurable(err)
			}
			return m.summary(ctx), nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return GraphSummary{}, &Error{Status: http.StatusGatewayTimeout, Code: "drain_timeout", Detail: "there was still work to do when the time was up; see depth and pending"}
		}
	}
}

// Restart revives a graph, or one accumulator of it, at once and with a fresh count (M36).
func (e *Engine) Restart(ctx context.Context, g Ref, name, by string) (GraphSummary, error) {
	m, err := e.graph(g)
	if err != nil {
		return GraphSummary{}, err
	}
	e.cfg.Log.Info("restart asked for", "graph", g.Name, "accumulator", name, "by", by)
	if name == "" {
		if m.unit == nil {
			_, err := m.running()
			return GraphSummary{}, err
		}
		if err := m.forgive(ctx); err != nil {
			return GraphSummary{}, err
		}
		before := m.incarnation()
		m.operator.Restart()
		return m.after(ctx, func(s *GraphSummary) bool { return s.Incarnation > before && loaded(s) }), nil
	}
	i, err := m.accumulator(name)
	if err != nil {
		return GraphSummary{}, err
	}
	r, err := m.running()
	if err != nil {
		return GraphSummary{}, err
	}
	r.accs[i].operator.Restart()
	return m.after(ctx, func(s *GraphSummary) bool { return accumulator.Health(s.Accumulators[i].Health).Healthy() }), nil
}

// forgive clears the crash ledger of a graph that is not running: the operator says that
// the cause has been fixed (M43).
func (m *managed) forgive(ctx context.Context) error {
	_, err := m.running()
	if err == nil {
		return nil
	}
	var refused *Error
	if errors.As(err, &refused) && refused.Code == "graph_standby" {
		return err
	}
	head, err := m.e.cfg.Store.Acquire(ctx, m.id())
	if err == nil {
		err = m.e.cfg.Store.Release(ctx, m.id(), head.Fence)
	}
	if err != nil {
		return fmt.Errorf("clear the crash ledger: %w", err)
	}
	return nil
}
