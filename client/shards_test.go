package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/api"
)

// M48: an epoch is asked for by its shard; the first needs no name.
func TestM48FiringOfAShard(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		_, _ = w.Write([]byte(`{"epoch":12,"shard":3}`))
	}))
	defer s.Close()
	c, err := New(Config{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for shard, want := range []string{"/v1/graphs/g/firings/12", "/v1/graphs/g/firings/12?shard=1"} {
		f, err := c.FiringOf(t.Context(), "g", shard, 12)
		if got := <-asked; err != nil || got != want || f.Shard != 3 {
			t.Errorf("shard %d: %s, %+v, %v", shard, got, f, err)
		}
	}
}

// M53: what is followed goes on behind the last frame of each shard, and behind where it began in those of which none
// has come.
func TestM53TailGoesOnInEachShard(t *testing.T) {
	t.Parallel()
	s := &streams{t: t, scripts: []func(context.Context, *websocket.Conn){
		func(ctx context.Context, ws *websocket.Conn) {
			write(ctx, ws, `{"type":"result","id":1,"at":"7:4,1/7:2,2/6:9"}`,
				`{"type":"output","graph":"g","shard":1,"seq":3,"incarnation":7}`,
				`{"type":"gap","graph":"g","seq":8,"incarnation":7,"from":5,"to":8}`)
			_ = ws.Close(websocket.StatusGoingAway, "")
		},
		func(ctx context.Context, ws *websocket.Conn) {
			write(ctx, ws, `{"type":"result","id":1,"at":"7:90,1/7:90,2/6:90,3/1:1"}`,
				`{"type":"output","graph":"g","shard":2,"seq":10,"incarnation":6}`)
			_ = ws.Close(websocket.StatusGoingAway, "")
		},
		func(ctx context.Context, ws *websocket.Conn) {
			write(ctx, ws, `{"type":"error","id":1,"code":"graph_not_found","detail":"x","status":404}`)
		},
	}}
	err := newClient(t, s, "").Tail(t.Context(), "g", TailOptions{Topics: []string{"outputs"}},
		func(*api.Frame) error { return nil })
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Code != "graph_not_found" {
		t.Errorf("ended with %v", err)
	}
	asked := func(since string) string {
		return `/v1/ws/graphs/g/reactor {"type":"subscribe","id":1,"topics":["outputs"]` + since + `}`
	}
	want := []string{asked(""), asked(`,"since":"7:8,1/7:3,2/6:9"`), asked(`,"since":"7:8,1/7:3,2/6:10,3/1:1"`)}
	if d := cmp.Diff(want, s.asked); d != "" {
		t.Errorf("asked: %s", d)
	}
}
