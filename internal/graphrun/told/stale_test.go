package told

import (
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// An output of a graph whose shards run as one is judged as that of any other; where shards run elsewhere nobody here
// knows what they have given.
func TestStaleOfShardsThatRunAsOne(t *testing.T) {
	t.Parallel()
	age := 11.0
	for why, want := range map[string]bool{"it writes a file": true, "": false} {
		s := api.GraphSummary{Health: "live", Keys: &api.KeysSummary{Shards: 4, ShardsRunning: 1, AsOne: why},
			Outputs: []api.OutputSummary{{Name: "o", FreshSeconds: 10, AgeSeconds: &age}}}
		if Judge(&s, "", true); s.Outputs[0].Stale != want {
			t.Errorf("as one since %q: stale is %t", why, s.Outputs[0].Stale)
		}
	}
}
