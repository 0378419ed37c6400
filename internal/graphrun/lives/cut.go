package lives

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/redeal"
)

// What shards have to be for their keys to be dealt anew: at one cut.

// lookForCut is how often it is looked whether the shards have come to one cut.
const lookForCut = 10 * time.Millisecond

// Apart reports whether keys could not be dealt since their shards were not found at one cut: they may be another time.
func Apart(err error) bool {
	return errors.Is(err, redeal.ErrApart) || errors.Is(err, fold.ErrNotInStep)
}

// CannotDeal says in words what somebody has to do before keys can be dealt anew, "" of any other error.
func CannotDeal(err error) string {
	undelivered := (*Undelivered)(nil)
	switch {
	case errors.Is(err, redeal.ErrApart):
		return "its shards were not found at one place of their sources, " + err.Error() + ": try again when less " +
			"comes in, or stop the input before"
	case errors.Is(err, fold.ErrNotInStep), errors.Is(err, fold.ErrTooMany), errors.As(err, &undelivered):
		return err.Error()
	}
	return ""
}

// HoldReaders keeps back what no shard has been given, until release is called.
func HoldReaders(readers []*reader.Reader) (release func()) {
	var all []func()
	for _, r := range readers {
		all = append(all, r.Hold())
	}
	return func() {
		for _, release := range all {
			release()
		}
	}
}

// Rest waits until pushes that were let in are taken in by all shards that hear of them, all have read equally far, and
// nothing is left to fire or to deliver now; or ctx is done.
func Rest(ctx context.Context, shards []*Shard) {
	look := time.NewTicker(lookForCut) // a bell would be rung by each look
	defer look.Stop()
	for ask(ctx, shards, refresh); ctx.Err() == nil && !level(shards); ask(ctx, shards, refresh) {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	rest := func(ctx context.Context, r *live.Reactor) error { return r.Rest(ctx) }
	ask(ctx, shards, rest) // what is left undelivered is found in the store
}

// refresh has a reactor say how it stands; without an answer, what it said last is the newest there is.
func refresh(ctx context.Context, r *live.Reactor) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := r.Refresh(ctx)
	return err
}

// ask asks the reactors of the shards that run, at one time.
func ask(ctx context.Context, shards []*Shard, what func(ctx context.Context, r *live.Reactor) error) {
	var wait sync.WaitGroup
	for _, s := range shards {
		if r := s.Run(); r != nil {
			wait.Go(func() { _ = what(ctx, r.Reactor) })
		}
	}
	wait.Wait()
}

// level reports whether nothing waits in a mailbox and all shards have read equally far, as far as they have said.
func level(shards []*Shard) bool {
	var first []reactor.InputView
	for _, s := range shards {
		for _, box := range s.cfg.Mailboxes {
			if n, _ := box.Depth(); n > 0 {
				return false
			}
		}
		r := s.Run()
		if r == nil {
			return false
		}
		inputs := r.Reactor.View().Inputs
		if first == nil {
			first = inputs
		}
		for i := range inputs {
			if !redeal.Alike(first[i].Positions, inputs[i].Positions) {
				return false
			}
		}
	}
	return true
}

// DealtIn is how the keys of a graph are dealt in a store; zero where it has no state, or none that can be read.
func DealtIn(ctx context.Context, store checkpoint.Store, graph checkpoint.ID) (Deal, error) {
	heads, err := store.ShardHeads(ctx, graph)
	if err != nil {
		return Deal{}, fmt.Errorf("look at the shards of the graph: %w", err)
	}
	d, err := Dealt(heads)
	if err != nil {
		return Deal{}, nil
	}
	return d, nil
}

// DropOthers takes the state from shards that a graph had, when its keys were dealt to more than so many.
func DropOthers(ctx context.Context, h *Host, ref api.Ref, unit *compile.Unit, of int) error {
	heads, err := h.Store.ShardHeads(ctx, checkpoint.ID{Tenant: ref.Tenant, Graph: ref.Name})
	if err != nil {
		return fmt.Errorf("look at the shards of the graph: %w", err)
	}
	for _, head := range heads {
		if head.Shard < of {
			continue
		}
		gone := New(Config{Host: h, Ref: ref, Number: head.Shard, Of: of, Unit: unit})
		if err := gone.DropState(ctx); err != nil {
			return err
		}
	}
	return nil
}
