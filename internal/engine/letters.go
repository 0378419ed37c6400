package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/engine/letters"
	"github.com/graphd/graphd/internal/engine/spread"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// RecoveryEvents is what the supervisor has done for the graph, newest first (M37).
func (e *Engine) RecoveryEvents(ctx context.Context, g api.Ref, q api.Query) (api.Page[api.RecoveryEvent], error) {
	m, err := e.graph(g)
	if err != nil {
		return api.Page[api.RecoveryEvent]{}, err
	}
	items, next, err := e.cfg.Store.RecoveryEvents(ctx, m.ID(), checkpoint.Query{
		Limit: q.Limit, Before: q.Before, Key: q.Key,
	})
	return page(items, next, err, func(ev *checkpoint.RecoveryEvent) api.RecoveryEvent {
		return api.RecoveryEvent(*ev)
	})
}

// page is a list as the store gave it, each of its items told as the wire tells it.
func page[S, T any](items []S, next string, err error, wire func(*S) T) (api.Page[T], error) {
	if err != nil {
		if errors.Is(err, checkpoint.ErrBadCursor) {
			return api.Page[T]{}, told.BadCursor()
		}
		return api.Page[T]{}, fmt.Errorf("read the store: %w", err)
	}
	out := api.Page[T]{Items: make([]T, len(items)), Next: next}
	for i := range items {
		out.Items[i] = wire(&items[i])
	}
	return out, nil
}

// letters is who deals with a graph's dead letters.
func (e *Engine) letters(g api.Ref) (*letters.Desk, error) {
	m, err := e.graph(g)
	if err != nil {
		return nil, err
	}
	return e.desk(m), nil
}

func (e *Engine) desk(m *graphrun.Graph) *letters.Desk {
	return &letters.Desk{Store: e.cfg.Store, Graph: &spread.Letters{Graph: m, Desk: &e.spread},
		MaxEventBytes: e.cfg.MaxEventBytes}
}

// DeadLetters lists what could not be used; see [letters.Desk.List].
func (e *Engine) DeadLetters(ctx context.Context, g api.Ref, q api.LetterQuery) (api.LetterPage, error) {
	d, err := e.letters(g)
	if err != nil {
		return api.LetterPage{}, err
	}
	return d.List(ctx, q)
}

// KnownLetters lists what could not be used, as far as that can be asked for; see [letters.Desk.Known].
func (e *Engine) KnownLetters(ctx context.Context, g api.Ref, q api.LetterQuery) (page api.LetterPage, missed,
	err error) {
	d, err := e.letters(g)
	if err != nil {
		return page, nil, err
	}
	return d.Known(ctx, q)
}

// ReplayDeadLetter replays one letter; see [letters.Desk.ReplayOne].
func (e *Engine) ReplayDeadLetter(ctx context.Context, g api.Ref, id string) (api.PushResult, error) {
	d, err := e.letters(g)
	if err != nil {
		return api.PushResult{}, err
	}
	return d.ReplayOne(ctx, id)
}

// ReplayDeadLetters replays the letters of a request; see [letters.Desk.Replay].
func (e *Engine) ReplayDeadLetters(ctx context.Context, g api.Ref, req api.LettersRequest) (api.LettersResult, error) {
	d, err := e.letters(g)
	if err != nil {
		return api.LettersResult{}, err
	}
	return d.Replay(ctx, req)
}

// DiscardDeadLetter removes a letter for good.
func (e *Engine) DiscardDeadLetter(ctx context.Context, g api.Ref, id string) error {
	d, err := e.letters(g)
	if err != nil {
		return err
	}
	return d.DiscardOne(ctx, id)
}

// DiscardDeadLetters removes letters for good, those of a request.
func (e *Engine) DiscardDeadLetters(ctx context.Context, g api.Ref, req api.LettersRequest) (api.LettersResult, error) {
	d, err := e.letters(g)
	if err != nil {
		return api.LettersResult{}, err
	}
	return d.Discard(ctx, req)
}
