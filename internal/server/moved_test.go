package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// departing has a graph that goes to another daemon after the first event of each push.
type departing struct {
	*fake
	shards bool // the key of its second event is in a shard that has gone
}

func (d departing) Push(context.Context, api.Ref, string, []json.RawMessage) (api.PushResult, error) {
	res := api.PushResult{Accepted: 1, Rejected: []api.Rejection{}, Full: true,
		Why: &api.Reason{Code: api.CodeOwnerMoved, Detail: "graph g has just moved"}}
	if d.shards {
		res.Rejected = []api.Rejection{{Index: 1, Code: api.CodeOwnerMoved, Detail: "its shard has moved"}}
	}
	return res, nil
}

func (d departing) Submit(context.Context, api.Ref, string, []json.RawMessage) (
	func(context.Context) (api.PushResult, error), error) {
	return func(ctx context.Context) (api.PushResult, error) { return d.Push(ctx, api.Ref{}, "", nil) }, nil
}

// M53: a push whose graph moves meanwhile is no push to a full queue: over REST and WebSocket it is told what was
// taken, and when to send the rest.
func TestM53PushWhileTheGraphMoves(t *testing.T) {
	t.Parallel()
	s := newServer(t, departing{fake: newFake()}, Config{})
	x := do(t, s, "POST", events, strings.NewReader("[1,2,3]"))
	if x.status != 503 || x.code(t) != "owner_moved" || x.header.Get("Retry-After") != "1" ||
		!strings.Contains(string(x.body), `"next_index":1,"accepted":1`) {
		t.Errorf("got %d %v %s", x.status, x.header, x.body)
	}
	if n := s.refusals.All()[api.CodeQueueFull]; n != 0 {
		t.Errorf("%d counted as pushes to a full queue", n)
	}
	dealt := newServer(t, departing{fake: newFake(), shards: true}, Config{})
	x = do(t, dealt, "POST", events, strings.NewReader("[1,2,3]"))
	if !strings.Contains(string(x.body), `"next_index":2,"accepted":1`) ||
		!strings.Contains(string(x.body), "those that rejected lists as owner_moved and the events from index 2 on") {
		t.Errorf("got %d %s", x.status, x.body)
	}
	c := connect(t, serve(t, s)+pushURL)
	c.send(`{"type":"events","id":1,"data":[1,2,3]}`)
	if got := c.next(); !strings.HasPrefix(got, `{"type":"error","id":1,"code":"owner_moved"`) ||
		!strings.Contains(got, `"next_index":1`) {
		t.Errorf("got %s", got)
	}
}
