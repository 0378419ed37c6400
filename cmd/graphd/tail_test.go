package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// watch is the fake daemon's stream: hello, the answer to subscribe, and every kind of
// frame. Then it is silent; the graph "removed" is removed, and the first stream of the
// graph "lost" is lost behind its first frame.
func (d *daemon) watch(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("graph")
	d.mu.Lock()
	d.tails++
	first := d.tails == 1
	d.mu.Unlock()
	switch {
	case name == "market_makr", name == "removed" && !first:
		refuse(w, http.StatusNotFound, "graph_not_found", "there is no graph "+name, nil)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"graphd.v1+json"}})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }() // the usual end is below
	ctx := r.Context()
	var request struct {
		Type   string          `json:"type"`
		ID     json.RawMessage `json:"id"`
		Topics []string        `json:"topics"`
		Since  string          `json:"since"`
		Where  string          `json:"where"`
		Sample int             `json:"sample"`
	}
	if wsjson.Write(ctx, conn, map[string]any{
		"type": "hello", "server_time": now, "limits": map[string]int{},
	}) != nil ||
		wsjson.Read(ctx, conn, &request) != nil {
		return
	}
	d.mu.Lock()
	d.log = append(d.log, strings.TrimSpace(request.Type+" "+strings.Join(request.Topics, ",")+" "+request.Since+
		" "+request.Where+strings.Repeat(" sample", min(1, request.Sample))))
	d.mu.Unlock()
	if wsjson.Write(ctx, conn, map[string]any{"type": "result", "id": request.ID, "topics": request.Topics}) != nil {
		return
	}
	for _, f := range frames() {
		if wsjson.Write(ctx, conn, f) != nil || name == "lost" && first {
			return
		}
	}
	if name == "removed" {
		_ = conn.Close(websocket.StatusGoingAway, "the graph is gone")
		return
	}
	<-conn.CloseRead(ctx).Done()
}

func frames() []api.Frame {
	failed := failedFiring().Firing
	s := state()
	return []api.Frame{
		{Type: "output", Graph: "market_maker", Seq: 1, Incarnation: 7, Output: "signals", Epoch: 1042,
			Value: raw(`{"side":"buy","edge":0.9}`)},
		{Type: "output", Graph: "market_maker", Seq: 2, Incarnation: 7, Output: "signals", Epoch: 1043,
			Key: raw(`"AAPL"`), Value: raw(`"<b>"`)},
		{Type: "firing", Graph: "market_maker", Seq: 3, Incarnation: 7, Firing: &failed},
		{Type: "gap", Graph: "market_maker", Seq: 9, Incarnation: 7, From: 4, To: 9},
		{Type: "health", Graph: "market_maker", Seq: 10, Incarnation: 7, Health: "degraded",
			Reason: &api.Reason{Code: "accumulator_restarting", Detail: "pricing"}},
		{Type: "health", Graph: "market_maker", Seq: 11, Incarnation: 7, Health: "live"},
		{Type: "state", Graph: "market_maker", Seq: 12, Incarnation: 7, State: &s},
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	for _, tc := range []struct{ name, args string }{
		{"tail", "tail market_maker -n 7"},
		{"tail_all", "tail -n 2"},
		{"tail_json", "tail market_maker -n 2 -o json"},
		{"tail_yaml", "tail market_maker -n 2 -o yaml"},
		{"tail_unknown", "tail market_makr"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(tc.args)
			golden(t, tc.name, transcript(args, command(t.Context(), server, "", args...)))
		})
	}
}

// A graph that is removed ends its tail, with the exit code of what is not found.
func TestTailRemoved(t *testing.T) {
	t.Parallel()
	r := command(t.Context(), newDaemon(t).Server, "", "tail", "removed")
	if r.code != 3 || strings.Count(r.stdout, "\n") != len(frames()) || !strings.Contains(r.stderr, "graph_not_found") {
		t.Errorf("got %+v", r)
	}
}

// A lost connection is made again, behind the last frame that was printed.
func TestTailGoesOn(t *testing.T) {
	t.Parallel()
	daemon := newDaemon(t)
	r := command(t.Context(), daemon.Server, "", "tail", "lost", "-n", "3")
	if r.code != 0 || strings.Count(r.stdout, "\n") != 3 || !strings.Contains(r.stderr, "the connection was lost") {
		t.Errorf("got %+v", r)
	}
	if got := daemon.requests(); len(got) != 4 || got[3] != "subscribe outputs,health 7:1" {
		t.Errorf("got %v, want a second subscription since 7:1", got)
	}
}

func TestTailSubscribes(t *testing.T) {
	t.Parallel()
	daemon := newDaemon(t)
	r := command(t.Context(), daemon.Server, "", "tail", "market_maker", "--topics", "outputs,firings", "--since",
		"7:41", "--where", "value > 1", "-n", "1")
	if r.code != 0 {
		t.Fatalf("got %+v", r)
	}
	if s := command(t.Context(), daemon.Server, "", "tail", "market_maker", "--sample", "4", "-n", "1"); s.code != 0 {
		t.Fatalf("got %+v", s)
	}
	want := []string{"GET /v1/ws/graphs/market_maker/reactor", "subscribe outputs,firings 7:41 value > 1",
		"GET /v1/ws/graphs/market_maker/reactor", "subscribe outputs,health   sample"}
	if d := cmp.Diff(want, daemon.requests()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// An interrupt is how a tail usually ends: it is no failure.
func TestTailInterrupted(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := 0
	out := writerFunc(func(b []byte) (int, error) {
		if lines += bytes.Count(b, []byte("\n")); lines == len(frames()) {
			cancel() // no more frames come: the tail waits
		}
		return len(b), nil
	})
	var talk bytes.Buffer
	term := terminal.New(strings.NewReader(""), out, &talk, func(string) string { return "" })
	if code := run(ctx, term, []string{"tail", "quiet", "--server", server.URL}); code != 0 || talk.Len() > 0 ||
		lines != len(frames()) {
		t.Errorf("got exit %d, %d lines, %q; want 0 and all frames", code, lines, talk.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
