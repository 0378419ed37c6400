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
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

// SkipLost lets a halted accumulator go on behind what its source has lost, and answers with
// the gaps (M44). Where it goes on is durable before it is answered: what is written after
// that is read, whatever happens in between.
func (g *Graph) SkipLost(ctx context.Context, name, by string) (api.SkipResult, error) {
	i, err := g.accumulator(name)
	if err != nil {
		return api.SkipResult{}, err
	}
	r, err := g.running()
	if err != nil {
		return api.SkipResult{}, err
	}
	in := &r.Reactor.View().Inputs[i]
	from, halted := in.Positions, in.Code == "source_data_lost"
	if in.Stopped != nil {
		return api.SkipResult{}, &api.Error{Status: http.StatusConflict, Code: "input_stopped",
			Detail: fmt.Sprintf("an operator has stopped input %s, so it is not known what its source has lost: "+
				"let it go on with the start command, and skip the gap when the graph halts for it", name)}
	}
	if !halted {
		return api.SkipResult{}, &api.Error{Status: http.StatusConflict, Code: "nothing_lost",
			Detail: fmt.Sprintf("accumulator %s has lost nothing; there is no gap to skip", name)}
	}
	to, gaps, err := gapsOf(ctx, r, i, from)
	if err != nil {
		why := fmt.Sprintf("it cannot be seen where accumulator %s could go on: %v; nothing is changed, try again",
			name, err)
		return api.SkipResult{}, &api.Error{Status: http.StatusServiceUnavailable, Code: "source_unreachable",
			Detail: why}
	}
	err = g.goOn(ctx, r, i, to, "gap_skipped", func([]boundary.Position) string {
		return by + " let it go on behind the gap: " + told.DescribeGaps(gaps)
	})
	if err != nil {
		return api.SkipResult{}, err
	}
	g.show(func() { g.gaps[i]++ })
	s := g.after(ctx, func(s *api.GraphSummary) bool { return s.Health != string(reactor.HealthHalted) && loaded(s) })
	return api.SkipResult{GraphSummary: s, Gaps: told.Gaps(gaps)}, nil
}

// gapsOf asks a new source of an accumulator where it could go on, and what it would leave out.
func gapsOf(ctx context.Context, r *life.Run, i int, from []boundary.Position) (
	to []boundary.Position, gaps []accumulator.Gap, err error) {
	source, err := r.Source(i)
	if err != nil {
		return nil, nil, err
	}
	if s, ok := source.(accumulator.Skipper); ok {
		return s.Skip(ctx, from)
	}
	gaps = make([]accumulator.Gap, len(from)) // it begins anew with what there is
	for i, pos := range from {
		gaps[i] = accumulator.Gap{From: pos, Reason: "replaced"}
	}
	return nil, gaps, nil
}

// goOn has an accumulator go on from other positions, durably. A recovery event tells why.
func (g *Graph) goOn(ctx context.Context, r *life.Run, i int, to []boundary.Position, kind string,
	why func(from []boundary.Position) string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	from, err := r.Reactor.Rewind(ctx, i, to)
	if err != nil {
		return told.Refusal(err)
	}
	// The supervisor records the restart too, and by itself: what it is for stands before it.
	g.first().Record(checkpoint.RecoveryEvent{
		At: time.Now(), Graph: g.ref.Name, Component: "accumulator/" + g.unit.Spec.Accumulators[i].Name, Kind: kind,
		Reason: why(from), Outcome: "restarted", Incarnation: r.Head.Incarnation,
	})
	r.Restart(i)
	if _, err := r.Reactor.Durable(ctx); err != nil {
		return told.NotDurable(err)
	}
	return nil
}
