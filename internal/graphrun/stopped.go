package graphrun

import (
	"context"
	"slices"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

// StopPart stops one input or output while its siblings go on. Like a pause it is durable
// before it is answered (M11, W27), and stays until StartPart.
func (g *Graph) StopPart(ctx context.Context, part api.Part, by string) (api.GraphSummary, error) {
	return g.setStopped(ctx, part, by, true)
}

// StartPart lets a stopped input or output go on where it was.
func (g *Graph) StartPart(ctx context.Context, part api.Part, by string) (api.GraphSummary, error) {
	return g.setStopped(ctx, part, by, false)
}

func (g *Graph) setStopped(ctx context.Context, part api.Part, by string, stop bool) (api.GraphSummary, error) {
	runs, err := g.runs(ctx)
	if err != nil {
		return api.GraphSummary{}, err
	}
	p, err := g.part(runs[slices.IndexFunc(runs, func(r *life.Run) bool { return r != nil })], part, stop)
	if err != nil {
		return api.GraphSummary{}, err
	}
	g.host.Log.Info("an input or output is stopped or started alone", "graph", g.ref.Name, "tenant", g.ref.Tenant,
		"accumulator", part.Accumulator, "output", part.Output, "stop", stop, "by", by)
	sum, err := g.durably(ctx, func(ctx context.Context, r *life.Run) error {
		then := func() {}
		if !p.Output {
			then = func() { r.Obey(p.Index, stop) }
		}
		if stop {
			return r.Reactor.StopPart(ctx, p, by, then)
		}
		return r.Reactor.StartPart(ctx, p, then)
	})
	if err != nil || stop || p.Output {
		return sum, err
	}
	return g.after(ctx, func(s *api.GraphSummary) bool {
		return accumulator.Health(s.Accumulators[p.Index].Health).Healthy()
	}), nil
}

// part finds what is to be stopped or started, or refuses.
func (g *Graph) part(r *life.Run, part api.Part, stop bool) (reactor.Part, error) {
	if part.Output == "" {
		i, err := g.accumulator(part.Accumulator)
		if err == nil && g.unit.Spec.Accumulators[i].Fed() {
			err = fedByNode(&g.unit.Spec.Accumulators[i], "it cannot be stopped alone; pause the graph instead")
		}
		return reactor.Part{Index: i}, err
	}
	i, err := told.Stoppable(g.unit.Spec, part.Output, stop, g.path, func(i int) bool { return r.Writer(i) != nil })
	return reactor.Part{Output: true, Index: i}, err
}
