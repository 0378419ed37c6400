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
	"github.com/graphd/graphd/internal/graphrun/told/called"
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
	runs, err := g.runs(ctx)
	if err != nil {
		return api.SkipResult{}, err
	}
	lost, err := g.lost(ctx, runs, i)
	if err != nil {
		return api.SkipResult{}, err
	}
	skipped := []api.Gap{}
	for n := range lost {
		if lost[n] == nil {
			runs[n] = nil // it goes on as it is
			continue
		}
		for _, gap := range told.Gaps(lost[n].gaps) {
			gap.Shard = n
			skipped = append(skipped, gap)
		}
	}
	err = g.inEach(runs, func(r *life.Run) error {
		l := lost[r.Shard()]
		return g.goOn(ctx, r, i, l.to, "gap_skipped", func([]boundary.Position) string {
			return by + " let it go on behind the gap: " + told.DescribeGaps(l.gaps)
		})
	})
	if err != nil {
		return api.SkipResult{}, err
	}
	g.show(func() { g.gaps[i]++ })
	s := g.after(ctx, func(s *api.GraphSummary) bool {
		return s.Health != string(reactor.HealthHalted) && told.Loaded(s)
	})
	return api.SkipResult{GraphSummary: s, Gaps: skipped}, nil
}

// lost is where a halted accumulator of a shard can go on, and what it leaves out.
type lost struct {
	to   []boundary.Position
	gaps []accumulator.Gap
}

// lost says what accumulator i has lost in each shard, nil in those that are not halted for it.
func (g *Graph) lost(ctx context.Context, runs []*life.Run, i int) ([]*lost, error) {
	name, all, halted := g.unit.Spec.Accumulators[i].Name, make([]*lost, len(runs)), false
	for n, r := range runs {
		if r == nil {
			continue
		}
		in := &r.Reactor.View().Inputs[i]
		switch {
		case in.Stopped != nil:
			return nil, &api.Error{Status: http.StatusConflict, Code: "input_stopped",
				Detail: fmt.Sprintf("an operator has stopped input %s, so it is not known what its source has lost: "+
					"let it go on with the start command, and skip the gap when the graph halts for it", name)}
		case in.Code != "source_data_lost":
			continue
		}
		to, gaps, err := r.Gaps(ctx, i, in.Positions)
		if err != nil {
			return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: "source_unreachable",
				Detail: fmt.Sprintf("it cannot be seen where accumulator %s could go on: %v; nothing is changed, "+
					"try again", name, err)}
		}
		all[n], halted = &lost{to, gaps}, true
	}
	if !halted {
		return nil, &api.Error{Status: http.StatusConflict, Code: "nothing_lost",
			Detail: fmt.Sprintf("accumulator %s has lost nothing; there is no gap to skip", name)}
	}
	return all, nil
}

// goOn has an accumulator go on from other positions, durably. A recovery event tells why.
func (g *Graph) goOn(ctx context.Context, r *life.Run, i int, to []boundary.Position, kind string,
	why func(from []boundary.Position) string) error {
	ctx, cancel := context.WithTimeout(ctx, called.CommandTimeout)
	defer cancel()
	from, err := r.Reactor.Rewind(ctx, i, to)
	if err != nil {
		return told.Refusal(err)
	}
	// The supervisor records the restart too, and by itself: what it is for stands before it.
	g.shards[r.Shard()].Record(checkpoint.RecoveryEvent{
		At: time.Now(), Graph: g.ref.Name, Component: "accumulator/" + g.unit.Spec.Accumulators[i].Name, Kind: kind,
		Reason: why(from), Outcome: "restarted", Incarnation: r.Head.Incarnation,
	})
	r.Restart(i)
	if _, err := r.Reactor.Durable(ctx); err != nil {
		return told.NotDurable(err)
	}
	return nil
}
