package called

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
)

// M25: a command has the time of an epoch, where its nodes call.
func TestM25ACommandHasTheTimeOfAnEpoch(t *testing.T) {
	t.Parallel()
	for reactor, want := range map[string]time.Duration{
		"epoch_timeout: 2m": 2*time.Minute + beside, "epoch_timeout: 1s": CommandTimeout,
	} {
		u, diags := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: {} }\nreactor: { "+reactor+" }\n"+
			"nodes: { n: { http: { url: 'http://there', body: a } } }\n"+
			"outputs: { o: { from: n, sink: { drop: {} } } }\n"), "g.yaml")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		if got := CommandTime(u); got != want {
			t.Errorf("%s: %v, want %v", reactor, got, want)
		}
	}
	if got := CommandTime(nil); got != CommandTimeout {
		t.Errorf("without a declaration: %v", got)
	}
}

// M48: the calls of shards are added by node.
func TestM48CallsOfShards(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	sum := api.GraphSummary{Calls: []api.NodeCalls{{Node: "b", Out: 1, Failed: 2, Error: "no"}}}
	kept := sum.Calls
	Join(&sum, &api.GraphSummary{Calls: []api.NodeCalls{{Node: "a", Waiting: 5},
		{Node: "b", Out: 2, Failed: 1, BreakerOpen: true, FailedInRow: 4, AwaitedSince: &at}}})
	if len(sum.Calls) != 2 || sum.Calls[0].Waiting != 5 || kept[0].Out != 1 {
		t.Fatalf("%+v, and of the first shard %+v", sum.Calls, kept)
	}
	if b := sum.Calls[1]; b.Out != 3 || b.Failed != 3 || !b.BreakerOpen || b.FailedInRow != 4 || b.Error != "no" ||
		b.AwaitedSince == nil {
		t.Errorf("%+v", b)
	}
}
