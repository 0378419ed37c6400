package spread

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/engine/keylist"
	"github.com/graphd/graphd/internal/engine/reasons"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

// Command is the arguments of what an operator tells a graph to do; each verb has those that it needs.
type Command struct {
	By       string    `json:"by,omitempty"`
	N        int       `json:"n,omitempty"`
	Input    string    `json:"input,omitempty"`
	Position string    `json:"position,omitempty"`
	Confirm  string    `json:"confirm,omitempty"`
	Part     *api.Part `json:"part,omitempty"`
	Key      string    `json:"key,omitempty"`
	Row      string    `json:"row,omitempty"`
}

// verb does something with the shards that are asked, see [parts.Only].
type verb func(ctx context.Context, d *Desk, m *graphrun.Graph, args json.RawMessage) (any, error)

// verbOf is a verb whose arguments are of one shape.
func verbOf[A any](do func(ctx context.Context, d *Desk, m *graphrun.Graph, a *A) (any, error)) verb {
	return func(ctx context.Context, d *Desk, m *graphrun.Graph, args json.RawMessage) (any, error) {
		a := new(A)
		if len(args) > 0 {
			if err := json.Unmarshal(args, a); err != nil {
				return nil, fmt.Errorf("read what another member asks: %w", err)
			}
		}
		return do(ctx, d, m, a)
	}
}

// steering is a verb whose answer is how the shards stand.
func steering(do func(ctx context.Context, d *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error)) verb {
	return verbOf(func(ctx context.Context, d *Desk, m *graphrun.Graph, c *Command) (any, error) {
		_, err := do(ctx, d, m, c)
		return nil, err
	})
}

// verbs are what a member can be asked to do, by their names on the wire.
var verbs = map[string]verb{
	"summary": func(context.Context, *Desk, *graphrun.Graph, json.RawMessage) (any, error) { return nil, nil },
	"pause": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.Pause(ctx, c.By)
	}),
	"resume": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.Resume(ctx, c.By)
	}),
	"step": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.Step(ctx, c.N)
	}),
	"drain": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, _ *Command) (api.GraphSummary, error) {
		return m.Drain(ctx)
	}),
	"restart": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.Restart(ctx, c.Input, c.By)
	}),
	"stop_part": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.StopPart(ctx, *c.Part, c.By)
	}),
	"start_part": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.StartPart(ctx, *c.Part, c.By)
	}),
	"rewind": steering(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.Rewind(ctx, c.Input, c.Position, c.Confirm, c.By)
	}),
	"reset": steering(func(ctx context.Context, d *Desk, m *graphrun.Graph, c *Command) (api.GraphSummary, error) {
		return m.Reset(ctx, d.life, c.Confirm, c.By)
	}),
	"skip_lost": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (any, error) {
		res, err := m.SkipLost(ctx, c.Input, c.By)
		return res.Gaps, err
	}),
	"checkpoint": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, _ *Command) (any, error) {
		return m.Checkpoint(ctx)
	}),
	"has": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (any, error) {
		return m.HasKey(ctx, c.Key)
	}),
	"state": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (any, error) {
		return m.State(ctx, c.Key)
	}),
	"fire": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, req *api.FireRequest) (any, error) {
		return m.Fire(ctx, *req)
	}),
	"why_not": verbOf(func(ctx context.Context, d *Desk, m *graphrun.Graph, q *api.WhyNotQuery) (any, error) {
		return d.Local.Seen(ctx, m, q)
	}),
	"keys": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, q *api.KeyQuery) (any, error) {
		return keylist.Here(ctx, m, q)
	}),
	"waits": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, q *reasons.Waiting) (any, error) {
		return reasons.Waits(ctx, m, q)
	}),
	"row": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, c *Command) (any, error) {
		detail, err := m.Accumulator(ctx, c.Input, c.Row)
		return detail.Row, err
	}),
	"flush_letters": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, _ *Command) (any, error) {
		return nil, m.FlushLetters(ctx)
	}),
	"try_output": verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, l *letter) (any, error) {
		return struct{}{}, m.TryOutput(ctx, l.kept())
	}),
	"cover":  verbOf(cover),
	"resend": verbOf(resend),
	parts.PushVerb: verbOf(func(ctx context.Context, _ *Desk, m *graphrun.Graph, p *parts.Pushes) (any, error) {
		return m.TakePart(ctx, p)
	}),
}

// unknownVerb refuses what a member cannot be asked.
func unknownVerb(name string) *parts.Refusal {
	return &parts.Refusal{Status: http.StatusServiceUnavailable, Code: api.CodeOwnerUnreachable,
		Detail: "the daemon that runs it does not know the verb " + name + ": it is of another release"}
}

// Answer does what a call says with the shards that it names, which run here.
func (d *Desk) Answer(ctx context.Context, m *graphrun.Graph, call *parts.Call) *parts.Answer {
	do := verbs[call.Verb]
	switch {
	case !call.Fits(m.Shards()):
		return &parts.Answer{Refusal: moved()}
	case do == nil:
		return &parts.Answer{Refusal: unknownVerb(call.Verb)}
	}
	value, err := do(parts.Only(ctx, call.Shards), d, m, call.Args)
	a := &parts.Answer{Refusal: parts.RefusalOf(err)}
	if err == nil && value != nil {
		if a.Value, err = json.Marshal(value); err != nil {
			a.Refusal = parts.RefusalOf(err)
		}
	}
	if call.Verb != parts.PushVerb {
		for _, n := range call.Shards {
			a.Shards = append(a.Shards, m.Shard(n))
		}
	}
	return a
}
