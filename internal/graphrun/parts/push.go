package parts

import (
	"context"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/pushkey"
)

// PushVerb is the verb of a call with pushes: its arguments are [Pushes], its value is a list of [Pushed].
const PushVerb = "push"

// Pushes are pushes to one input, in their order.
type Pushes struct {
	Input int    `json:"input"`
	Items []Push `json:"items"`
}

// Push is what a member's shards hear of one push.
type Push struct {
	// Shards are those that it is for.
	Shards []int    `json:"shards"`
	Events [][]byte `json:"events"` // as they came, which may be no JSON
	// Origin is the dead letter that the events are replayed from; "" for new ones.
	Origin string `json:"origin,omitempty"`
	// Key is the Idempotency-Key, Hash is of the whole body, and First the place in it of what the batch begins with.
	Key   string `json:"key,omitempty"`
	Hash  []byte `json:"hash,omitempty"`
	First int64  `json:"first,omitempty"`
	// Left is how long the caller waits.
	Left time.Duration `json:"left"`
}

// Pushed is what became of it.
type Pushed struct {
	Taken         int             `json:"taken"`
	Accepted      int             `json:"accepted"`
	Filtered      int             `json:"filtered"`
	Rejected      []api.Rejection `json:"rejected,omitempty"`
	RejectedCount int             `json:"rejected_count"`
	Full          bool            `json:"full,omitempty"`
	Known         bool            `json:"known,omitempty"`
	// Journaled says that what was taken is in the journal; Undone is why it is not, though it should be.
	Journaled bool     `json:"journaled,omitempty"`
	Undone    *Refusal `json:"undone,omitempty"`
	// Turned is why the shards have turned it away: closed, stopped or moved.
	Turned string `json:"turned,omitempty"`
	// Refusal is why nothing of it was looked at.
	Refusal *Refusal `json:"refusal,omitempty"`
}

// turned are the errors of a mailbox on the wire.
var turned = map[string]error{"closed": pump.ErrClosed, "stopped": pump.ErrStopped, "moved": pump.ErrElsewhere}

// PushedOf is an outcome on the wire; journaled and undone are what came of its tickets.
func PushedOf(out *pump.PushOutcome, err error, journaled bool, undone error) Pushed {
	p := Pushed{Taken: out.Taken, Accepted: out.Accepted, Filtered: out.Filtered, RejectedCount: out.RejectedCount,
		Full: out.Full, Known: out.Known, Journaled: journaled, Undone: RefusalOf(undone)}
	for _, r := range out.Rejected {
		p.Rejected = append(p.Rejected, api.Rejection(r))
	}
	for name, is := range turned {
		if errors.Is(err, is) {
			p.Turned = name
		}
	}
	if p.Turned == "" {
		p.Refusal = RefusalOf(err)
	}
	return p
}

// Outcome is the outcome again.
func (p *Pushed) Outcome() (out pump.PushOutcome, err error) {
	out = pump.PushOutcome{Taken: p.Taken, Accepted: p.Accepted, Filtered: p.Filtered, RejectedCount: p.RejectedCount,
		Full: p.Full, Known: p.Known}
	for _, r := range p.Rejected {
		out.Rejected = append(out.Rejected, pump.Rejection(r))
	}
	if p.Journaled || p.Undone != nil {
		undone := p.Undone.Error()
		out.Tickets = []accumulator.Ticket{func(context.Context) error { return undone }}
	}
	if p.Refusal != nil {
		return out, p.Refusal.Error()
	}
	return out, turned[p.Turned]
}

// PushOf is a push for some shards as it goes over the wire.
func PushOf(ctx context.Context, shards []int, events []boundary.Event, patience time.Duration) Push {
	p := Push{Shards: shards, Left: patience, Events: make([][]byte, len(events))}
	if by, bounded := ctx.Deadline(); bounded {
		p.Left = max(time.Until(by), 0)
	}
	if k, ok := pushkey.From(ctx); ok {
		p.Key, p.Hash, p.First = k.Text, k.Hash, k.First
	}
	for k := range events {
		p.Events[k], p.Origin = events[k].Raw, events[k].Origin
	}
	return p
}

// In is a context for the push: for its shards, and with its key.
func (p *Push) In(ctx context.Context) context.Context {
	if ctx = Only(ctx, p.Shards); p.Key != "" {
		ctx = pushkey.With(ctx, pushkey.Key{Text: p.Key, Hash: p.Hash, First: p.First})
	}
	return ctx
}

// Batch is the push as it enters a graph.
func (p *Push) Batch(now time.Time) []boundary.Event {
	batch := make([]boundary.Event, len(p.Events))
	for k, raw := range p.Events {
		batch[k] = boundary.Event{Raw: raw, At: now, Origin: p.Origin}
	}
	return batch
}
