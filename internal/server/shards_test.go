package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

func (f *fake) Shard(_ context.Context, g api.Ref, shard int) (api.GraphSummary, error) {
	if shard > 0 {
		return api.GraphSummary{}, noShard()
	}
	return summary(), f.call(g, "shard")
}

func (f *fake) ShardState(_ context.Context, g api.Ref, shard int) (api.State, error) {
	if shard > 0 {
		return api.State{}, noShard()
	}
	return api.State{Epoch: 12}, f.call(g, "shard state")
}

func noShard() error {
	return &api.Error{Status: http.StatusNotFound, Code: "shard_not_found", Detail: "no such shard"}
}

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

// M48: a summary, a state and a list are those of the shard that is asked for; a key has its own.
func TestM48ShardIsAskedFor(t *testing.T) {
	t.Parallel()
	for path, code := range map[string]string{
		"?shard=0": "", "?shard=1": "shard_not_found", "?shard=-1": "invalid_parameter",
		"?shard": "invalid_parameter",
		"?key=1": "unknown_parameter", "/state?shard=0": "", "/state?shard=1": "shard_not_found",
		"/state?shard=1024": "invalid_parameter", "/state?shard=0&key=1": "invalid_parameter",
		"/firings?shard=0": "", "/firings?shard=0&key=1": "invalid_parameter",
		"/firings?shard=1.0":       "invalid_parameter",
		"/recovery-events?shard=0": "unknown_parameter",
	} {
		f := newFake()
		s := newServer(t, f, Config{Version: api.Version{Version: "v1"}})
		x := do(t, s, "GET", "/v1/graphs/g"+path, strings.NewReader(""))
		if x.code(t) != code {
			t.Errorf("%q: got %d %s, want %q\n%s", path, x.status, x.code(t), code, x.body)
		}
		_, calls, _ := f.seen()
		for _, call := range calls {
			if call == "graph" || call == "state" {
				t.Errorf("%q asked for the graph as a whole: %q", path, calls)
			}
		}
	}
}

// M53: a subscription to a graph with shards is told where it begins in each, and its frames say whose they are; it
// goes on behind a place of each of 1,024 shards.
func TestM53SubscriptionOfShards(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := connect(t, serve(t, newServer(t, f, Config{}))+reactorURL)
	since := api.Places{}
	for n := range 1024 {
		since[n] = api.Place{Incarnation: 1_000_000, Seq: 1_000_000_000_000}
	}
	c.send(`{"type":"subscribe","id":1,"topics":["outputs"],"since":"` + since.String() + `"}`)
	c.want(`{"type":"result","id":1,"topics":["outputs"],"at":"7:1,2/7:5"}`)
	frame := &api.Frame{Type: "output", Graph: "g", Shard: 2, Seq: 6, Incarnation: 7, Output: "o", Epoch: 3}
	f.sub(0).frames <- frame
	c.wantFrame(frame)
}
