package told

import (
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/spec"
)

// M49: how many events wait is the sum over the processes where each reads its own partitions, and else that of the one
// which is furthest behind; a position is told where all shards have it.
func TestM49LagOfAllProcesses(t *testing.T) {
	t.Parallel()
	g := &spec.Graph{Reactor: &spec.Reactor{},
		Accumulators: []spec.Accumulator{{Name: "own", Partitioned: "murmur2"}, {Name: "all"}}}
	shard := func(own, all int64, at string, read int64) api.GraphSummary {
		return api.GraphSummary{Health: "live", Cost: api.Cost{EventBytes: read, MemoryBytes: 5},
			Accumulators: []api.AccumulatorSummary{{Lag: &own, Position: at}, {Lag: &all, Position: "t/0@7"}}}
	}
	shards := []api.GraphSummary{shard(10, 3, "t/0@1", 100), shard(20, 9, "t/1@1", 40), shard(10, 3, "t/2@1", 100)}
	sum := Gather(g, shards)
	Across(g, &sum, shards, [][]int{{0, 2}, {1}})
	if own, all := sum.Accumulators[0].Lag, sum.Accumulators[1].Lag; *own != 30 || *all != 9 {
		t.Errorf("own partitions: %d, all of them: %d", *own, *all)
	}
	if own, all := sum.Accumulators[0].Position, sum.Accumulators[1].Position; own != "" || all != "t/0@7" {
		t.Errorf("positions %q and %q", own, all)
	}
	if sum.Cost.EventBytes != 140 || sum.Cost.MemoryBytes != 15 {
		t.Errorf("%+v", sum.Cost)
	}
}
