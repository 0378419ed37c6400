package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// RecoveryEvents is what the supervisor has done for the graph, newest first (M37).
func (e *Engine) RecoveryEvents(ctx context.Context, g api.Ref, q api.Query) (api.Page[api.RecoveryEvent], error) {
	m, err := e.graph(g)
	if err != nil {
		return api.Page[api.RecoveryEvent]{}, err
	}
	items, next, err := e.cfg.Store.RecoveryEvents(ctx, m.ID(), checkpoint.Query(q))
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

func letterNotFound(id string) error {
	return &api.Error{
		Status: http.StatusNotFound, Code: "dead_letter_not_found",
		Detail: fmt.Sprintf("there is no dead letter %q; it may have been discarded, replayed or have expired", id),
	}
}

func (e *Engine) letter(ctx context.Context, g api.Ref, id string) (*graphrun.Graph, checkpoint.DeadLetter, error) {
	m, err := e.graph(g)
	if err != nil {
		return nil, checkpoint.DeadLetter{}, err
	}
	if err := m.FlushLetters(ctx); err != nil {
		return nil, checkpoint.DeadLetter{}, err
	}
	l, err := e.cfg.Store.DeadLetter(ctx, m.ID(), id)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, l, letterNotFound(id)
	}
	return m, l, err
}

// DiscardDeadLetter removes a letter for good.
func (e *Engine) DiscardDeadLetter(ctx context.Context, g api.Ref, id string) error {
	m, _, err := e.letter(ctx, g, id)
	if err != nil {
		return err
	}
	n, err := e.cfg.Store.DiscardDeadLetters(ctx, m.ID(), []string{id})
	if err != nil {
		return fmt.Errorf("discard the letter: %w", err)
	}
	if n == 0 {
		return letterNotFound(id)
	}
	return nil
}

// DiscardDeadLetters removes letters for good, those of a request.
func (e *Engine) DiscardDeadLetters(ctx context.Context, g api.Ref, req api.LettersRequest) (api.LettersResult, error) {
	res := api.LettersResult{Reasons: []api.LetterReason{}}
	if req.Preview { // whoever asks for one wants nothing removed
		return res, &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeInvalidBody,
			Detail: "preview is of a replay, and a discard removes letters for good: list shows what it would remove"}
	}
	m, c, err := e.meant(ctx, g, &req)
	if err != nil {
		return res, err
	}
	var failure error
	res.Next, err = e.letters(ctx, m.ID(), &req, c, func(few []checkpoint.DeadLetter) int {
		var ids []string
		for i := range few {
			if few[i].Stage == "" {
				gone := refusal(letterNotFound(few[i].ID))
				tell(&res, few[i].ID, &gone)
				continue
			}
			ids = append(ids, few[i].ID)
		}
		n, err := e.cfg.Store.DiscardDeadLetters(ctx, m.ID(), ids)
		if res.Discarded += int(n); err != nil {
			failure = fmt.Errorf("discard the letters: %w", err)
			return 0
		}
		res.Letters += len(ids)
		return len(few)
	})
	res.Undecided = c.undecided
	if err = errors.Join(failure, err); err == nil && res.Letters == 0 && req.After == "" {
		res.Note, err = e.missed(ctx, m.ID(), c)
	}
	return res, err
}

// meant is what a request is about: the graph, whose letters are in the store by then, and which of them.
func (e *Engine) meant(ctx context.Context, g api.Ref, req *api.LettersRequest) (*graphrun.Graph, *choice, error) {
	m, err := e.graph(g)
	if err != nil {
		return nil, nil, err
	}
	if err := checkLetters(req); err != nil {
		return nil, nil, err
	}
	c, err := chosen(m, &req.LetterChoice, time.Now())
	if err != nil {
		return nil, nil, err
	}
	if req.After == "" {
		err = m.FlushLetters(ctx)
	}
	return m, c, err
}
