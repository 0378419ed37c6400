package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/gate"
	"github.com/graphd/graphd/internal/server/socket"
	"github.com/graphd/graphd/internal/testbed/stall"
)

// dialAs connects as a bearer, "" for none; status is that of the refusal.
func dialAs(t *testing.T, url, text string) (c *client, status int) {
	t.Helper()
	header := http.Header{}
	if text != "" {
		header.Set("Authorization", "Bearer "+text)
	}
	ws, res, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{
		Subprotocols: []string{"graphd.v1+json"}, HTTPClient: narrowClient, HTTPHeader: header,
	})
	if err != nil {
		if res == nil {
			t.Fatal(err)
		}
		return nil, res.StatusCode
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	c = &client{t, ws}
	c.next() // hello
	return c, http.StatusSwitchingProtocols
}

// TestEveryRoleOnEverySocket: each endpoint and each command by each role.
func TestEveryRoleOnEverySocket(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, _, bearers := closedServer(t, w, w.metrics)
	url := serve(t, s)
	for i := range bearers {
		b := &bearers[i]
		// Of no tenant by itself, it has the default one; test/daemon has the sockets of certificates.
		if b.all || b.cert != nil {
			continue
		}
		for _, o := range operations(t) {
			if !strings.HasPrefix(o.path, "/v1/ws/") {
				continue
			}
			want := http.StatusSwitchingProtocols
			switch {
			case b.role == access.NoRole:
				want = http.StatusUnauthorized
			case !b.may(o.needs):
				want = http.StatusForbidden
			}
			target, _ := o.request("mine_a")
			c, got := dialAs(t, url+target, b.text)
			if got != want {
				t.Errorf("%s by %s: %d, want %d", target, b.name, got, want)
			}
			if c != nil && o.id == "reactorSocket" {
				commands(t, w, b, c)
			}
			if c != nil {
				_ = c.ws.CloseNow()
			}
		}
	}
}

// sameAs are the operations that commands are over REST, whose permission they take.
var sameAs = map[string]string{"ForceFire": "fire", "FireWith": "fire", "GetState": "getState", "Pause": "pause",
	"Resume": "resume", "Step": "step", "Drain": "drain", "Checkpoint": "checkpoint"}

// commands gives every command there is.
func commands(t *testing.T, w *world, b *bearer, c *client) {
	t.Helper()
	takes := map[string]string{}
	for _, o := range operations(t) {
		takes[o.id] = o.needs
	}
	for name := range socket.Commands() {
		need := takes[sameAs[name]]
		if need == "" {
			t.Errorf("the command %s is none over REST: say what it takes", name)
		}
		w.asked()
		more := ""
		if name == "FireWith" {
			more = `,"cache":{"a":1}`
		}
		c.send(`{"type":"command","id":1,"command":"` + name + `"` + more + `}`)
		var f struct{ Type, Code string }
		if err := json.Unmarshal([]byte(c.next()), &f); err != nil {
			t.Fatal(err)
		}
		want, code := "result", ""
		if !b.may(need) {
			want, code = "error", api.CodeForbidden
		}
		if f.Type != want || f.Code != code {
			t.Errorf("%s by %s: %+v, want %s %s", name, b.name, f, want, code)
		}
		if asked := w.asked(); len(asked) > 0 && code != "" {
			t.Errorf("%s by %s has reached %v", name, b.name, asked)
		}
	}
}

// TestEventsOfSomeGraphs: the stream of all graphs has those alone that the token is for, and names no other.
func TestEventsOfSomeGraphs(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, _, bearers := closedServer(t, w, w.metrics)
	url := serve(t, s)
	for i := range bearers {
		b := &bearers[i]
		if b.role != access.Viewer || len(b.scope.Graphs) == 0 {
			continue
		}
		c, _ := dialAs(t, url+"/v1/ws/events", b.text)
		c.send(`{"type":"subscribe","id":1,"topics":["health"]}`)
		c.want(`{"type":"result","id":1,"topics":["health"]}`)
		sub := w.sub(0)
		for _, f := range []api.Frame{{Graph: "mine_b", Type: "health", Health: "live"}, {Graph: "mine_b", Type: "gap",
			From: 7, To: 9, Seq: 9, Incarnation: 3}, {Graph: "mine_a", Type: "health", Health: "live"}} {
			sub.frames <- &f
		}
		c.want(`{"type":"gap","graph":"","seq":0,"incarnation":0}`)
		if got := c.next(); !strings.Contains(got, `"graph":"mine_a"`) {
			t.Errorf("got %s", got)
		}
	}
}

// TestRevokedSockets: a revoked token's sockets are closed within five seconds, here and where another
// daemon has revoked it; a ticket opens one socket, of the same token.
func TestRevokedSockets(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, g, _ := closedServer(t, w, w.metrics)
	url := serve(t, s)
	root := access.Principal{Tenant: "acme", Subject: "test", Role: access.PlatformAdmin}
	made, err := g.Create(t.Context(), &root, &api.TokenRequest{Name: "x", Role: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	x := do(t, s, "POST", "/v1/ws-tickets", nil, "Authorization: Bearer "+made.Text)
	var ticket api.Ticket
	if err := json.Unmarshal(x.body, &ticket); err != nil || x.status != http.StatusCreated {
		t.Fatalf("got %d %s", x.status, x.body)
	}
	clients := []*client{}
	for _, target := range []string{pushOf("mine_a"), "/v1/ws/graphs/mine_a/reactor", "/v1/ws/events"} {
		c, _ := dialAs(t, url+target, made.Text)
		clients = append(clients, c)
	}
	byTicket, status := dialAs(t, url+"/v1/ws/events?ticket="+ticket.Ticket, "")
	if byTicket == nil {
		t.Fatalf("the ticket is answered with %d", status)
	}
	clients = append(clients, byTicket)
	if _, status := dialAs(t, url+"/v1/ws/events?ticket="+ticket.Ticket, ""); status != http.StatusUnauthorized {
		t.Errorf("a ticket that was used is answered with %d", status)
	}
	if x := do(t, s, "GET", "/v1/graphs?ticket="+ticket.Ticket, nil); x.status != http.StatusUnauthorized {
		t.Errorf("a ticket is taken for a request: %d", x.status)
	}
	if mute, _ := dialAs(t, url+"/v1/ws/events", made.Text); mute == nil { // it never answers a goodbye
		t.Fatal("no connection")
	}
	began, control := time.Now(), stall.Begin()
	if err := g.Revoke(t.Context(), &root, made.ID); err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, _, err := c.ws.Read(ctx)
		cancel()
		var end websocket.CloseError
		if !errors.As(err, &end) || end.Code != websocket.StatusPolicyViolation {
			t.Errorf("a socket ends with %v", err)
		}
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for s.Stats().WebSockets > 0 && time.Since(began) < patience {
		<-look.C
	}
	control.End().Within(t, "the sockets are closed", 5*time.Second)
}

func pushOf(graph string) string { return "/v1/ws/graphs/" + graph + "/accumulators/a" }

// TestNoSecretsInTheLog: neither a token nor a ticket gets into the log, whatever comes of them.
func TestNoSecretsInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	_, g, bearers := closedServer(t, newFake(), nil)
	s := newServer(t, newFake(), Config{Gate: g, Log: slog.New(slog.NewTextHandler(&log,
		&slog.HandlerOptions{Level: slog.LevelDebug}))})
	for i := range bearers {
		b := &bearers[i]
		if b.text == "" {
			continue
		}
		x := do(t, s, "POST", "/v1/graphs/g/accumulators/a/events", strings.NewReader(`{"panic":true}`),
			"Authorization: Bearer "+b.text)
		y := do(t, s, "GET", "/v1/ws/events?ticket="+b.text, nil)
		z := do(t, s, "GET", "/v1/graphs", nil, "Authorization: Basic "+b.text)
		if secret := b.text[len("gd_")+13:]; strings.Contains(log.String()+string(x.body)+string(y.body)+string(z.body),
			secret) {
			t.Fatal("a secret got out")
		}
	}
	if !strings.Contains(log.String(), "told to") {
		t.Error("nothing was logged of the panic: the test shows nothing")
	}
}

var _ Gate = (*gate.Gate)(nil)
