package told

import (
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/spec"
)

// M48: late events of a graph are those of all its shards; of a global input, which each of them has, the first one's.
func TestM48LateEventsOfShardsAreASum(t *testing.T) {
	t.Parallel()
	g := &spec.Graph{Reactor: &spec.Reactor{},
		Accumulators: []spec.Accumulator{{Name: "own"}, {Name: "all", Global: true}}}
	var shards []api.GraphSummary
	for n := range int64(3) {
		shards = append(shards, api.GraphSummary{Health: "live", Accumulators: []api.AccumulatorSummary{
			{Name: "own", Late: 1 + n}, {Name: "all", Late: 4},
		}})
	}
	sum := Gather(g, shards)
	if own, all := sum.Accumulators[0].Late, sum.Accumulators[1].Late; own != 6 || all != 4 {
		t.Errorf("%d and %d events came too late, want 6 and 4", own, all)
	}
}

// The outputs of a graph wait as those of its shards do together, and hold it up where one holds up its shard.
func TestOutputsOfShardsAreOne(t *testing.T) {
	t.Parallel()
	g := &spec.Graph{Reactor: &spec.Reactor{}, Outputs: []spec.Output{{Name: "o"}}}
	for full := range 4 {
		var shards []api.GraphSummary
		for n := range 3 {
			shards = append(shards, api.GraphSummary{Health: "live",
				Outputs: []api.OutputSummary{{Name: "o", Pending: 1, Full: n == full}}})
		}
		if o := Gather(g, shards).Outputs[0]; o.Pending != 3 || o.Full != (full < 3) {
			t.Errorf("shard %d is full: %+v", full, o)
		}
	}
}
