package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/spec"
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

// DeadLetters lists what could not be used, newest first: those that the next checkpoint
// will keep come before those in the store.
func (e *Engine) DeadLetters(ctx context.Context, g api.Ref, q api.Query) (api.Page[api.DeadLetter], error) {
	m, err := e.graph(g)
	if err != nil {
		return api.Page[api.DeadLetter]{}, err
	}
	if q.Before == "" {
		// Letters reach the store with a checkpoint. Reading one list, and not two that may
		// overlap, is worth asking for it.
		if err := m.FlushLetters(ctx); err != nil {
			return api.Page[api.DeadLetter]{}, err
		}
	}
	items, next, err := e.cfg.Store.DeadLetters(ctx, m.ID(), checkpoint.Query(q))
	return page(items, next, err, toldLetter)
}

// toldLetter is a letter as it is listed: with the payload readable.
func toldLetter(l *checkpoint.DeadLetter) api.DeadLetter {
	out := api.DeadLetter{
		ID: l.ID, At: l.At, Accumulator: l.Accumulator, Stage: l.Stage, Code: l.Code, Reason: l.Reason, Epoch: l.Epoch,
		Key:      l.Key,
		Position: l.Position, Events: l.Events, Folded: l.Folded, ReplayOf: l.ReplayOf,
	}
	out.Payload, out.PayloadEncoding = api.Payload(l.Payload)
	return out
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

// ReplayDeadLetter pushes a letter's events again, as new events linked to the letter
// (M5). The letter goes when they were accepted.
func (e *Engine) ReplayDeadLetter(ctx context.Context, g api.Ref, id string) (api.PushResult, error) {
	m, l, err := e.letter(ctx, g, id)
	if err != nil {
		return api.PushResult{}, err
	}
	hands, known := m.Hands(l.Accumulator)
	if !known {
		return api.PushResult{}, &api.Error{Status: http.StatusConflict, Code: "not_replayable",
			Detail: fmt.Sprintf("the letter's stage is %q: it holds no event that could be pushed again; discard it "+
				"when it has been dealt with", l.Stage)}
	}
	events, err := replayed(&l, hands)
	if err != nil {
		return api.PushResult{}, err
	}
	res, err := m.Push(ctx, l.Accumulator, l.ID, events)
	if err != nil || res.Full || len(res.Rejected) > 0 {
		return res, err
	}
	if err := e.cfg.Store.DiscardDeadLetter(ctx, m.ID(), id); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return res, fmt.Errorf("the events were pushed, but the letter could not be removed: %w", err)
	}
	return res, nil
}

// replayed is a letter's events: its bytes, or the elements of a folded batch.
func replayed(l *checkpoint.DeadLetter, hands spec.Hands) ([]json.RawMessage, error) {
	if l.Folded && hands != spec.OneValue {
		var items []json.RawMessage
		if err := json.Unmarshal(l.Payload, &items); err != nil {
			return nil, fmt.Errorf("read the letter's batch: %w", err)
		}
		if hands == spec.NewestEvents && len(items) > 1 {
			items = items[len(items)-1:] // the history's newest is the event the letter stands for
		}
		return items, nil
	}
	return []json.RawMessage{json.RawMessage(l.Payload)}, nil
}

// DiscardDeadLetter removes a letter for good.
func (e *Engine) DiscardDeadLetter(ctx context.Context, g api.Ref, id string) error {
	m, _, err := e.letter(ctx, g, id)
	if err != nil {
		return err
	}
	if err := e.cfg.Store.DiscardDeadLetter(ctx, m.ID(), id); err != nil {
		if errors.Is(err, checkpoint.ErrNotFound) {
			return letterNotFound(id)
		}
		return fmt.Errorf("discard the letter: %w", err)
	}
	return nil
}
