package server

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// M48: an epoch is that of the shard that is asked for, which has a number.
func TestM48ShardOfARequest(t *testing.T) {
	t.Parallel()
	for query, code := range map[string]string{
		"": "", "?shard=0": "", "?shard=1": "firing_not_found", "?shard=-1": "invalid_parameter",
		"?shard=1024": "invalid_parameter", "?shard=x": "invalid_parameter", "?epoch=1": "unknown_parameter",
	} {
		s := newServer(t, newFake(), Config{Version: api.Version{Version: "v1"}})
		x := do(t, s, "GET", "/v1/graphs/g/firings/12"+query, strings.NewReader(""))
		if x.code(t) != code {
			t.Errorf("%q: got %d %s, want %q\n%s", query, x.status, x.code(t), code, x.body)
		}
	}
}
