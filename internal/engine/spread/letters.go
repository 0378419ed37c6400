package spread

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

// Letters is a graph as who deals with its dead letters sees it: what is done reaches the shards that keep letters,
// wherever these run.
type Letters struct {
	*graphrun.Graph
	Desk *Desk
}

// settleTime is how long it is waited for what becomes of a value that another member sends again.
const settleTime = 2 * time.Second

// letter is a dead letter on the wire, with the shard that keeps it.
type letter struct {
	checkpoint.DeadLetter
	Shard int `json:"shard"`
}

func wire(l *checkpoint.DeadLetter) *letter { return &letter{*l, l.Shard} }

// kept is the letter again.
func (l *letter) kept() *checkpoint.DeadLetter {
	kept := l.DeadLetter
	kept.Shard = l.Shard
	return &kept
}

// resent is what became of a value that was sent again, if that is known.
type resent struct {
	Settled bool   `json:"settled"`
	Code    string `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Replaying waits until nobody else replays dead letters of the graph, at no member, and has others wait until release
// is called. held ends when that may not be so any more.
func (l *Letters) Replaying(ctx context.Context) (held context.Context, release func(), err error) {
	here, err := l.Graph.Replaying(ctx)
	if err != nil || !l.Desk.Spreads(l.Graph) {
		return ctx, here, err
	}
	held, there, err := l.Desk.who.Hold(ctx, l.Graph.ID(), checkpoint.ClaimLetters)
	if err != nil {
		here()
		if errors.Is(err, checkpoint.ErrClaimed) {
			err = &api.Error{Status: http.StatusServiceUnavailable, Code: "busy", Detail: "dead letters of the graph " +
				"are being replayed by another daemon; try again when that is through"}
		}
		return nil, nil, err
	}
	return held, func() { there(); here() }, nil
}

// FlushLetters has dead letters that are still in memory checkpointed.
func (l *Letters) FlushLetters(ctx context.Context) error {
	if !l.Desk.Apart(l.Graph) {
		return l.Graph.FlushLetters(ctx)
	}
	return l.Desk.everywhere(ctx, l.Graph, "flush_letters", nil)
}

// Cover is [graphrun.Graph.Cover].
func (l *Letters) Cover(ctx context.Context, pushed []checkpoint.DeadLetter) error {
	if !l.Desk.Apart(l.Graph) {
		return l.Graph.Cover(ctx, pushed)
	}
	if len(pushed) > 0 { // their events may be in any shard
		if err := l.Desk.everywhere(ctx, l.Graph, "checkpoint", nil); err != nil {
			return err
		}
	}
	letters := make([]*letter, len(pushed))
	for i := range pushed {
		letters[i] = &letter{checkpoint.DeadLetter{ID: pushed[i].ID}, pushed[i].Shard}
	}
	return l.Desk.everywhere(ctx, l.Graph, "cover", letters)
}

// Resend is [graphrun.Graph.Resend].
func (l *Letters) Resend(ctx context.Context, sent *checkpoint.DeadLetter, settled func(code, reason string)) error {
	if !l.Desk.Apart(l.Graph) {
		return l.Graph.Resend(ctx, sent, settled)
	}
	what, err := one[resent](ctx, l.Desk, l.Graph, sent.Shard, "resend", wire(sent))
	if err == nil && what.Settled {
		settled(what.Code, what.Reason)
	}
	return err
}

// TryOutput is [graphrun.Graph.TryOutput].
func (l *Letters) TryOutput(ctx context.Context, tried *checkpoint.DeadLetter) error {
	if !l.Desk.Apart(l.Graph) {
		return l.Graph.TryOutput(ctx, tried)
	}
	_, err := one[struct{}](ctx, l.Desk, l.Graph, tried.Shard, "try_output", wire(tried))
	return err
}

// everywhere has all shards do something that has no answer.
func (d *Desk) everywhere(ctx context.Context, m *graphrun.Graph, verb string, args any) error {
	all, err := d.ask(ctx, m, nil, verb, args)
	if err != nil {
		return err
	}
	return parts.Refused(all, m.Shards(), nil)
}

// cover has letters discarded that the asked shards keep.
func cover(ctx context.Context, _ *Desk, m *graphrun.Graph, all *[]letter) (any, error) {
	var own []checkpoint.DeadLetter
	for i := range *all {
		if l := &(*all)[i]; parts.Asked(ctx, l.Shard) {
			own = append(own, *l.kept())
		}
	}
	return nil, m.Cover(ctx, own)
}

// resend sends a value again, and waits a while for what becomes of it.
func resend(ctx context.Context, _ *Desk, m *graphrun.Graph, l *letter) (any, error) {
	said := make(chan resent, 1)
	err := m.Resend(ctx, l.kept(), func(code, reason string) {
		select {
		case said <- resent{true, code, reason}:
		default: // it was told before
		}
	})
	if err != nil {
		return nil, err
	}
	enough := time.NewTimer(settleTime)
	defer enough.Stop()
	select {
	case what := <-said:
		return what, nil
	case <-enough.C:
	case <-ctx.Done():
	}
	return resent{}, nil
}
