package graphrun

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
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
	in := &r.reactor.View().Inputs[i]
	from, halted := in.Positions, in.Code == "source_data_lost"
	if !halted {
		return api.SkipResult{}, &api.Error{Status: http.StatusConflict, Code: "nothing_lost",
			Detail: fmt.Sprintf("accumulator %s has lost nothing; there is no gap to skip", name)}
	}
	to, gaps, err := r.gaps(ctx, r.accs[i], from)
	if err != nil {
		why := fmt.Sprintf("it cannot be seen where accumulator %s could go on: %v; nothing is changed, try again",
			name, err)
		return api.SkipResult{}, &api.Error{Status: http.StatusServiceUnavailable, Code: "source_unreachable",
			Detail: why}
	}
	err = r.goOn(ctx, i, to, "gap_skipped", func([]boundary.Position) string {
		return by + " let it go on behind the gap: " + describeGaps(gaps)
	})
	if err != nil {
		return api.SkipResult{}, err
	}
	g.mu.Lock()
	g.gaps[i]++
	g.mu.Unlock()
	s := g.after(ctx, func(s *api.GraphSummary) bool { return s.Health != string(reactor.HealthHalted) && loaded(s) })
	return api.SkipResult{GraphSummary: s, Gaps: wireGaps(gaps)}, nil
}

// gaps asks a new source of an accumulator where it could go on, and what it would leave out.
func (r *run) gaps(
	ctx context.Context, a *accumulatorRun, from []boundary.Position,
) (to []boundary.Position, gaps []accumulator.Gap, err error) {
	source, err := r.source(a)
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
func (r *run) goOn(
	ctx context.Context, i int, to []boundary.Position, kind string, why func(from []boundary.Position) string,
) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	g := r.g
	from, err := r.reactor.Rewind(ctx, i, to)
	if err != nil {
		return g.refusal(err)
	}
	r.accs[i].operator.Restart()
	g.recordRecovery(checkpoint.RecoveryEvent{
		At: time.Now(), Graph: g.ref.Name, Component: "accumulator/" + r.accs[i].spec.Name, Kind: kind,
		Reason: why(from), Outcome: "restarted", Incarnation: r.head.Incarnation,
	})
	if _, err := r.reactor.Durable(ctx); err != nil {
		return g.notDurable(err)
	}
	return nil
}

// describeGaps is a list of gaps for people.
func describeGaps(gaps []accumulator.Gap) string {
	if len(gaps) == 0 {
		return "nothing is missing any more"
	}
	var said []string
	for _, g := range wireGaps(gaps) {
		to, events := "nowhere", "an unknown number of events"
		if g.To != nil {
			to = *g.To
		}
		if g.Events != nil {
			events = fmt.Sprintf("%d events", *g.Events)
		}
		said = append(said, fmt.Sprintf("%s to %s, %s (%s)", g.From, to, events, g.Reason))
	}
	return strings.Join(said, "; ")
}

// wireGaps are gaps as they stand on the wire.
func wireGaps(gaps []accumulator.Gap) []api.Gap {
	out := make([]api.Gap, len(gaps))
	for i := range gaps {
		g := &gaps[i]
		stream, _, _ := strings.Cut(g.From.Stream, "#")
		out[i] = api.Gap{Stream: stream, From: g.From.String(), Reason: g.Reason}
		if g.Known {
			out[i].Events = &g.Events
		}
		to := "start"
		if !g.To.IsZero() {
			to = g.To.String()
		}
		if g.Reason != "partition_gone" {
			out[i].To = &to
		}
	}
	return out
}
