package graphrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/redeal"
	"github.com/graphd/graphd/internal/spec"
)

// alignTries is how often an update to another number of shards stops the graph to find its shards at one cut.
const alignTries = 3

// lookAgain is how often it is looked whether the shards have come to one cut.
const lookAgain = 10 * time.Millisecond

// dealt is the number of shards that the keys are dealt to in the store, or will be by the first commit of a graph that
// runs; 0 where the graph has no state, or none that can be read: that the shards tell themselves.
func (g *Graph) dealt(ctx context.Context) (int, error) {
	heads, err := g.host.Store.ShardHeads(ctx, g.ID())
	if err != nil {
		return 0, fmt.Errorf("look at the shards of the graph: %w", err)
	}
	n, err := lives.Dealt(heads)
	if err != nil {
		return 0, nil
	}
	if _, err := g.running(); n == 0 && err == nil {
		n = len(g.shards)
	}
	return n, nil
}

// cannotDeal refuses an update to another number of shards; nothing is changed.
func cannotDeal(why string) error {
	return &api.Error{Status: http.StatusFailedDependency, Code: "update_failed",
		Detail: "the keys are not dealt anew, and the graph runs on as it was: " + why}
}

// Moving is what an update to another number of shards moves from one shard to another, in a line, as of the last
// checkpoints; none where the number stays.
func (g *Graph) Moving(ctx context.Context, next *compile.Unit) ([]string, error) {
	of := g.host.shardsOf(next)
	from, err := g.dealt(ctx)
	if err != nil || from == 0 || from == of {
		return nil, err
	}
	line, err := lives.Moving(ctx, g.host.Store, g.ID(), from, of)
	return []string{line}, err
}

// dealAnew puts next, of the same declaration but for the number of shards, in the place of old, with the keys dealt
// anew (M54): the old shards are stopped at one cut, and the store changes from the one deal to the other in one step,
// with the declaration.
func dealAnew(ctx, life context.Context, old, next *Graph, dealt int, put func(by Put) error, installed func()) error {
	if old.unit == nil || dealt != len(old.shards) {
		return cannotDeal(fmt.Sprintf("the store has them dealt to %d: apply it with shards: %d first", dealt,
			dealt))
	}
	if diff := spec.Diff(old.unit.Spec, next.unit.Spec); len(diff) > 1 {
		return cannotDeal("another number of shards is a change by itself, and this one says more: " +
			strings.Join(diff, "; ") + ": apply the rest first")
	}
	if runs, err := old.settleForUpdate(ctx); err != nil || runs == nil {
		if err == nil {
			err = cannotDeal("all of its shards have to run here, see its health; where other members run some, " +
				"drain those first, and end that afterwards")
		}
		return err
	}
	defer old.Changing()()
	open := old.shut()
	err := old.align(ctx, life, func() error {
		return lives.Redeal(ctx, old.with(next), next.unit, len(next.shards), put)
	})
	if err != nil {
		old.startAgain(ctx, life)
		open(nil)
		return err
	}
	next.inherit(old)
	next.Connect()
	next.Start(life)
	installed()
	open(next)
	old.closeOthers(next)
	return nil
}

// startAgain starts a graph that was stopped, and waits until it has come up.
func (g *Graph) startAgain(ctx, life context.Context) {
	g.Start(life)
	g.await(ctx, settleTime, func(s *api.GraphSummary) bool { // until a run has begun it is what it was: stopped
		return told.Loaded(s) && s.Health != string(reactor.HealthStopped)
	})
}

// with are the shards of both graphs, by their numbers; those that both have as the old one's.
func (g *Graph) with(next *Graph) []*lives.Shard {
	return slices.Concat(g.shards, next.shards[min(len(g.shards), len(next.shards)):])
}

// align stops the graph with its shards at one cut, and has do deal their keys: its sources are held where the shard is
// that has read most, what has come in is taken in by all that are to hear of it, and what could fire and be delivered
// is through. Where they do not come to one cut they go
// on, and it is tried again.
func (g *Graph) align(ctx, life context.Context, do func() error) (err error) {
	for try := range alignTries {
		if try > 0 {
			g.startAgain(ctx, life)
		}
		quiet, cancel := context.WithTimeout(ctx, proveTime)
		release := g.holdReaders()
		g.rest(quiet)
		cancel()
		stopped := g.Stop()
		release()
		if stopped != nil {
			return fmt.Errorf("the graph did not stop cleanly: %w", stopped)
		}
		if err = do(); err == nil || !errors.Is(err, redeal.ErrApart) && !errors.Is(err, fold.ErrNotInStep) {
			break
		}
	}
	undelivered := (*lives.Undelivered)(nil)
	switch {
	case errors.Is(err, redeal.ErrApart):
		return cannotDeal("its shards were not found at one place of their sources, " + err.Error() + ": try again " +
			"when less comes in, or stop the input before")
	case errors.Is(err, fold.ErrNotInStep), errors.Is(err, fold.ErrTooMany), errors.As(err, &undelivered):
		return cannotDeal(err.Error())
	}
	return err
}

// rest waits until pushes that were let in are taken in by all shards that hear of them, all have read equally far, and
// nothing is left to fire or to deliver now; or ctx is done.
func (g *Graph) rest(ctx context.Context) {
	look := time.NewTicker(lookAgain) // a bell would be rung by each look
	defer look.Stop()
	for g.refresh(ctx); ctx.Err() == nil && (g.Waiting() > 0 || !g.level()); g.refresh(ctx) {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	_ = g.each(func(s *lives.Shard) error { // without it what is left undelivered is found in the store
		if r := s.Run(); r != nil {
			return r.Reactor.Rest(ctx)
		}
		return nil
	})
}

// holdReaders keeps back what no shard has been given, until release is called.
func (g *Graph) holdReaders() (release func()) {
	var all []func()
	for _, r := range g.readers {
		all = append(all, r.Hold())
	}
	return func() {
		for _, release := range all {
			release()
		}
	}
}

// level reports whether all shards have read equally far, as far as they have said.
func (g *Graph) level() bool {
	var first []reactor.InputView
	for _, s := range g.shards {
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

// dropOthers takes the state from shards that the graph had, when its keys were dealt to more of them.
func (g *Graph) dropOthers(ctx context.Context) error {
	heads, err := g.host.Store.ShardHeads(ctx, g.ID())
	if err != nil {
		return fmt.Errorf("look at the shards of the graph: %w", err)
	}
	for _, h := range heads {
		if h.Shard < len(g.shards) {
			continue
		}
		gone := lives.New(lives.Config{Host: &g.host.Host, Ref: g.ref, Number: h.Shard, Of: len(g.shards),
			Unit: g.unit})
		if err := gone.DropState(ctx); err != nil {
			return err
		}
	}
	return nil
}
