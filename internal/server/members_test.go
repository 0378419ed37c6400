package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/gate"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/server/forward"
)

// joined is a server that is a member, on a world of its own.
type joined struct {
	server *Server
	*world
	t       *testing.T
	store   *memory.Store
	members *forward.Members
	gate    *gate.Gate
	at, url string

	mu     sync.Mutex
	owners map[api.Ref]checkpoint.Member
	sought []api.Ref
}

func join(t *testing.T, id, secret string, store *memory.Store) *joined {
	t.Helper()
	j := &joined{world: newWorld(), t: t, store: store, owners: map[api.Ref]checkpoint.Member{}}
	log := slog.New(slog.DiscardHandler)
	var err error
	if j.members, j.at, err = forward.Listen(t.Context(), "127.0.0.1:0", secret, "", log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.members.CloseIdle)
	if err := j.members.Join(id, j); err != nil {
		t.Fatal(err)
	}
	trail := audit.New(audit.Config{Store: j.store, Log: log})
	if j.gate, err = gate.New(t.Context(), gate.Config{Store: j.store, Required: true, Log: log,
		Trail: trail}); err != nil {
		t.Fatal(err)
	}
	j.server = newServer(t, j, Config{Gate: j.gate, Trail: trail, Members: j.members})
	j.url = serve(t, j.server)
	return j
}

func (j *joined) Elsewhere(g api.Ref) (checkpoint.Member, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sought = append(j.sought, g)
	m, ok := j.owners[g]
	return m, ok
}

func (*joined) AskPart(context.Context, *parts.Call) *parts.Answer { return &parts.Answer{} }

func (*joined) WatchPart(context.Context, *parts.Call) (*parts.Answer, parts.Frames) {
	return &parts.Answer{}, nil
}

func (j *joined) do(method, path, body string, h http.Header) (int, string, http.Header) {
	j.t.Helper()
	req, err := http.NewRequestWithContext(j.t.Context(), method, j.url+path, strings.NewReader(body))
	if err != nil {
		j.t.Fatal(err)
	}
	req.Header = h
	res, err := narrowClient.Do(req)
	if err != nil {
		j.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		j.t.Error(err)
	}
	return res.StatusCode, string(text), res.Header
}

// M53, A7: what another member runs is answered by that one, as who has asked the first: which looks the token up,
// and looks for nothing elsewhere that its bearer may not know of. It goes one step.
func TestM53ForwardedAsTheCaller(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("secret", 8)), 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := join(t, "a", secret, memory.New()), join(t, "b", secret, memory.New())
	mine, theirs := api.Ref{Tenant: "acme", Name: "mine_a"}, api.Ref{Tenant: "other", Name: "theirs_a"}
	at := checkpoint.Member{ID: "b", Name: "b/1", Peer: b.at}
	for _, g := range []api.Ref{mine, {Tenant: "acme", Name: "mine_b"}, theirs} {
		a.owners[g] = at
	}
	root := access.Principal{Tenant: "acme", Subject: "root", Role: access.PlatformAdmin}
	made, err := a.gate.Create(t.Context(), &root, &api.TokenRequest{Name: "ann", Role: "operator",
		Graphs: []string{"*_a"}})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Authorization": {"Bearer " + made.Text}}
	status, text, _ := a.do("POST", "/v1/graphs/mine_a/pause", "", h)
	if asked := b.asked(); status != 200 || !slices.Contains(asked, mine) || a.asked() != nil {
		t.Fatalf("%d %s; b was asked for %v", status, text, asked)
	}
	var who []string
	rows, err := b.store.AuditRows(t.Context(), audit.Query{Tenant: "acme"})
	for i := range rows {
		e, unread := rows[i].Entry()
		if unread != nil {
			t.Error(unread)
		}
		who = append(who, e.Subject+" "+e.From+" "+e.Graph)
	}
	if err != nil || !slices.Contains(who, "ann 127.0.0.1 mine_a") {
		t.Errorf("the owner's audit says %q, %v", who, err)
	}
	a.sought = nil
	missing, missed, _ := a.do("GET", "/v1/graphs/nothing", "", h)
	for _, name := range []string{"theirs_a", "mine_b"} {
		status, text, _ := a.do("GET", "/v1/graphs/"+name, "", h)
		if status != missing || text != strings.ReplaceAll(missed, "nothing", name) {
			t.Errorf("%s is answered with %d %s", name, status, text)
		}
	}
	if slices.ContainsFunc(a.sought, func(g api.Ref) bool { return g.Tenant != "acme" || g.Name == "mine_b" }) ||
		b.asked() != nil {
		t.Errorf("looked for %v", a.sought)
	}
	b.owners[mine] = checkpoint.Member{ID: "a", Peer: a.at}
	status, text, answer := a.do("GET", "/v1/graphs/mine_a", "", h)
	if status != 503 || !strings.Contains(text, "owner_moved") || answer.Get("Retry-After") == "" {
		t.Errorf("in a circle: %d %s", status, text)
	}
	if status, text, _ := b.do("GET", "/v1/graphs/mine_a", "", http.Header{
		"Graphd-Caller": {"eyJ0ZW5hbnQiOiJhY21lIiwicm9sZSI6InBsYXRmb3JtLWFkbWluIn0="}}); status != 401 {
		t.Errorf("a client that says whom it acts as: %d %s", status, text)
	}
	w := httptest.NewRecorder()
	if _, err := a.members.Forward(w, httptest.NewRequest("DELETE", "/v1/graphs/mine_a", nil).WithContext(t.Context()),
		mine, &root, "10.0.0.1"); err != nil || w.Code != 404 {
		t.Errorf("what is no owner's is taken from a member: %d, %v", w.Code, err)
	}
}
