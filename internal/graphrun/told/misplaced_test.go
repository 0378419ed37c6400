package told

import (
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// M49: a graph of which most events are in partitions of other shards is not well; a few are dead letters like others.
func TestM49MisplacedKeysAreNotWell(t *testing.T) {
	t.Parallel()
	k := &Known{Spec: &spec.Graph{Accumulators: []spec.Accumulator{{Name: "a", Partitioned: "murmur2"}}}}
	for _, c := range []struct {
		misplaced, received int64
		degraded            bool
	}{{0, 100, false}, {19, 20, false}, {50, 100, false}, {51, 100, true}, {20, 21, true}} {
		sum := api.GraphSummary{Health: "live",
			Accumulators: []api.AccumulatorSummary{{Name: "a", Counters: api.Counters{Received: c.received}}}}
		v := &live.View{View: reactor.View{Inputs: []reactor.InputView{
			{Reasons: map[string]int64{"key_misplaced": c.misplaced}}}}}
		k.misplaced(&sum, v)
		if got := sum.HealthReason != nil && sum.HealthReason.Code == "keys_misplaced"; got != c.degraded ||
			got != (sum.Health == "degraded") {
			t.Errorf("%d of %d: %s %+v", c.misplaced, c.received, sum.Health, sum.HealthReason)
		}
	}
}
