package graphrun

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

// confirmed refuses what cannot be undone unless the caller has named the graph again.
func (g *Graph) confirmed(confirm, what string) error {
	if confirm == g.ref.Name {
		return nil
	}
	return &api.Error{Status: http.StatusUnprocessableEntity, Code: "confirmation_required",
		Detail: fmt.Sprintf("%s; to do so say confirm: %q", what, g.ref.Name)}
}

// Reset takes all state from a graph, as if it had never run: values, queues, open folds,
// node values, positions, the time of events and books. Its declaration, history, dead letters, numbers of
// epochs and a pause stay. Sources begin anew.
func (g *Graph) Reset(ctx, life context.Context, confirm, by string) (api.GraphSummary, error) {
	if err := g.confirmed(confirm,
		"a reset takes all state from the graph, and its sources are read from the beginning"); err != nil {
		return api.GraphSummary{}, err
	}
	asked := g.asked(ctx)
	for _, s := range asked {
		if err := s.Elsewhere(http.StatusConflict); err != nil {
			return api.GraphSummary{}, err
		}
	}
	ctx = context.WithoutCancel(ctx) // a graph that was stopped is started again
	defer g.Changing()()
	if err := g.stop(asked); err != nil {
		g.host.Log.Warn("the graph did not stop cleanly before its reset", "graph", g.ref.Name, "tenant", g.ref.Tenant,
			"err", err)
	}
	err := eachOf(asked, func(s *lives.Shard) error { return s.DropState(ctx) })
	if err == nil && asked[0] == g.first() {
		err = lives.DropOthers(ctx, &g.host.Host, g.ref, g.unit, len(g.shards))
	}
	if err == nil && asked[0] == g.first() {
		g.first().Record(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.ref.Name, Component: "graph",
			Kind:   "state_reset",
			Reason: by + " took all state from the graph; it begins anew", Outcome: "restarted",
			Incarnation: g.first().Incarnation()})
	}
	for _, s := range asked {
		s.Start(life)
	}
	sum := g.after(ctx, func(s *api.GraphSummary) bool { // until its run has begun it is still what it was: stopped
		*s = g.summaryOf(asked)
		return told.Loaded(s) && s.Health != string(reactor.HealthStopped)
	})
	return sum, err
}

// Rewind has an accumulator read its source again from another place: "start", or what the
// source takes as a position. It is durable before it is answered. What is read twice
// counts twice.
func (g *Graph) Rewind(ctx context.Context, name, position, confirm, by string) (api.GraphSummary, error) {
	if err := g.confirmed(confirm, "a rewind has events read again, and what they cause happens again"); err != nil {
		return api.GraphSummary{}, err
	}
	i, err := g.accumulator(name)
	if err != nil {
		return api.GraphSummary{}, err
	}
	to, err := g.seek(ctx, i, position)
	if err != nil {
		return api.GraphSummary{}, err
	}
	runs, err := g.runs(ctx)
	if err != nil {
		return api.GraphSummary{}, err
	}
	err = g.inEach(runs, func(r *life.Run) error {
		return g.goOn(ctx, r, i, to, "rewound", func(from []boundary.Position) string {
			return fmt.Sprintf("%s had it go on from %s instead of %s", by, told.OrStart(to), told.OrStart(from))
		})
	})
	if err != nil {
		return api.GraphSummary{}, err
	}
	return g.after(ctx, func(s *api.GraphSummary) bool {
		return accumulator.Health(s.Accumulators[i].Health).Healthy()
	}), nil
}

// seek asks an accumulator's source what a position means.
func (g *Graph) seek(ctx context.Context, i int, position string) ([]boundary.Position, error) {
	a := &g.unit.Spec.Accumulators[i]
	if a.Fed() {
		return nil, fedByNode(a, "there is nothing to read again; rewind what feeds that")
	}
	if why := feed.NotKept(a); why != "" {
		return nil, cannotRewind(why)
	}
	source, err := g.host.Kinds.Source(g.unit, i)
	if err != nil {
		return nil, fmt.Errorf("accumulator %s: %w", a.Name, err)
	}
	if source == nil {
		return nil, cannotRewind("accumulator " + a.Name + " has no source: what was pushed cannot be read again")
	}
	if position == "start" {
		return nil, nil
	}
	seeker, ok := source.(accumulator.Seeker)
	if !ok {
		return nil, cannotRewind("a source of kind " + a.Source.Kind + " knows no position but \"start\"")
	}
	to, err := seeker.Seek(ctx, position)
	if err != nil {
		return nil, &api.Error{Status: http.StatusUnprocessableEntity, Code: "bad_position", Detail: err.Error()}
	}
	return to, nil
}

func cannotRewind(why string) error {
	return &api.Error{Status: http.StatusUnprocessableEntity, Code: "cannot_rewind", Detail: why}
}
