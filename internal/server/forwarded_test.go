package server

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/testbed/stall"
)

func (j *joined) own(g api.Ref, m *checkpoint.Member) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if delete(j.owners, g); m != nil {
		j.owners[g] = *m
	}
}

// ends is how a connection is closed by the other side.
func (c *client) ends() (websocket.StatusCode, string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		_, _, err := c.ws.Read(ctx)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			c.t.Fatal("the connection is not closed")
		}
		return websocket.CloseStatus(err), err.Error()
	}
}

// M53: a WebSocket about what another member runs gets to that one, as who has connected, and ends when its token
// does, when the graph moves away from whoever has it, and with the daemon that forwards it: the next one gets to the
// graph again.
func TestM53SocketsReachTheOwner(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("secret", 8)), 0o600); err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	a, b := join(t, "a", secret, store), join(t, "b", secret, store)
	mine := api.Ref{Tenant: "acme", Name: "mine_a"}
	atA, atB := checkpoint.Member{ID: "a", Peer: a.at}, checkpoint.Member{ID: "b", Name: "b/1", Peer: b.at}
	a.own(mine, &atB)
	root := access.Principal{Tenant: "acme", Subject: "root", Role: access.PlatformAdmin}
	made, err := a.gate.Create(t.Context(), &root, &api.TokenRequest{Name: "ann", Role: "operator",
		Graphs: []string{"mine_*"}})
	if err != nil {
		t.Fatal(err)
	}
	reach := func(target string) *client {
		t.Helper()
		c, status := dialAs(t, a.url+target, made.Text)
		if c == nil {
			t.Fatalf("%s is answered with %d", target, status)
		}
		if !slices.Contains(b.asked(), mine) || a.asked() != nil {
			t.Errorf("%s is not the owner's", target)
		}
		return c
	}
	const watch = "/v1/ws/graphs/mine_a/reactor"
	pushing := reach(pushOf("mine_a"))
	pushing.send(`{"type":"events","id":1,"data":[1,2,3]}`)
	if got := pushing.next(); !strings.Contains(got, `"accepted":3`) {
		t.Errorf("a push is answered with %s", got)
	}
	if status, text, _ := a.do("GET", watch, "", nil); status != 401 || strings.Contains(text, "owner") {
		t.Errorf("without a token: %d %s", status, text)
	}
	if c, status := dialAs(t, a.url+"/v1/ws/graphs/theirs_a/reactor", made.Text); c != nil || status != 404 {
		t.Errorf("what the token does not name is answered with %d", status)
	}

	here := reach(watch)
	b.own(mine, &atA) // it has moved, and b knows
	if code, said := here.ends(); code != websocket.StatusServiceRestart || !strings.Contains(said, "owner_moved") {
		t.Errorf("a graph that has moved away: %s", said)
	}
	b.own(mine, nil)
	there := reach(watch)
	a.own(mine, &checkpoint.Member{ID: "c", Peer: b.at}) // a knows of another owner
	there.ends()
	a.own(mine, &atB)

	revoked := reach(watch)
	control := stall.Begin()
	if err := a.gate.Revoke(t.Context(), &root, made.ID); err != nil {
		t.Fatal(err)
	}
	revoked.ends()
	control.End().Within(t, "it has ended behind its token", 5*time.Second)
	if made, err = a.gate.Create(t.Context(), &root, &api.TokenRequest{Name: "bob", Role: "operator"}); err != nil {
		t.Fatal(err)
	}
	c := join(t, "c", secret, store)
	c.own(mine, &atB)
	atC, _ := dialAs(t, c.url+watch, made.Text)
	direct, _ := dialAs(t, b.url+watch, made.Text)
	last := reach(watch)
	if atC == nil || direct == nil {
		t.Fatal("not let in")
	}
	c.members.CloseSockets()
	atC.ends()
	b.server.hub.Close() // it stops, and a does not
	if code, said := direct.ends(); code != websocket.StatusGoingAway {
		t.Errorf("who is connected to an owner that stops is told %s", said)
	}
	if code, said := last.ends(); code != websocket.StatusServiceRestart || !strings.Contains(said, "owner_moved") {
		t.Errorf("who is connected to another is told %s", said)
	}
}
