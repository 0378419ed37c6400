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
