package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/gate"
	"github.com/graphd/graphd/internal/server/socket"
)

// audited is a server whose audit can be made to fail, and a bearer who may do everything.
type audited struct {
	*world
	s     *Server
	store *checkpointtest.Faulty
	trail *audit.Trail
	root  bearer
	ended access.Token // one that can be revoked
	// seenEntries is how many written has told of.
	seenEntries int
}

func newAudited(t *testing.T) *audited {
	t.Helper()
	a := &audited{world: newWorld(), store: checkpointtest.NewFaulty(memory.New(), nil)}
	t.Cleanup(func() { _ = a.store.Close() })
	log := slog.New(slog.DiscardHandler)
	a.trail = audit.New(audit.Config{Store: a.store, Log: log})
	g, err := gate.New(t.Context(), gate.Config{Store: a.store, Required: true, Log: log, Trail: a.trail})
	if err != nil {
		t.Fatal(err)
	}
	who := access.Principal{Tenant: "acme", Subject: "test", Role: access.PlatformAdmin}
	made, err := g.Create(t.Context(), &who, &api.TokenRequest{Name: "root", Role: "platform-admin"})
	if err != nil {
		t.Fatal(err)
	}
	a.root = bearer{name: "root", text: made.Text, role: access.PlatformAdmin, all: true}
	a.ended = access.Token{ID: "aaaaaaaaaaaa", Tenant: "acme", Name: "old", Role: access.Viewer}
	if err := a.store.AddToken(t.Context(), a.ended); err != nil {
		t.Fatal(err)
	}
	a.s = newServer(t, a.world, Config{Gate: g, Trail: a.trail})
	a.written(t)
	return a
}

// written is what has been written to all chains since the last time.
func (a *audited) written(t *testing.T) (all []audit.Entry) {
	t.Helper()
	a.trail.Settle(t.Context())
	chains, err := a.store.AuditChains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chains {
		rows, err := a.store.AuditRows(t.Context(), audit.Query{Tenant: c.Tenant})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			e, err := rows[i].Entry()
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == audit.Result && rows[max(0, i-1)].Seq != e.Of {
				t.Errorf("a result of %d behind entry %d", e.Of, rows[i-1].Seq)
			}
			all = append(all, e)
		}
	}
	n := a.seenEntries
	a.seenEntries = len(all)
	return all[n:]
}

// changes says whether an operation of the document changes something.
func (o *operation) changes() bool {
	return o.method != http.MethodGet && o.id != "testDeclaration" && o.id != "completeDeclaration" &&
		!slices.Contains([]string{"push", "known", "public"}, o.needs)
}

// TestEveryChangeIsAudited: each operation of the document that changes something leaves an intent and its result,
// and all others leave nothing (A13).
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, o := range operations(t) {
		if strings.HasPrefix(o.path, "/v1/ws/") {
			continue
		}
		a := newAudited(t)
		x := o.ask(t, a.s, &a.root, "acme", "mine_a")
		all := a.written(t)
		if !o.changes() {
			if len(all) != 0 {
				t.Errorf("%s %s leaves %+v", o.method, o.path, all)
			}
			continue
		}
		seen++
		if x.status >= 300 || len(all) != 2 || all[0].Kind != audit.Intent || all[1].Kind != audit.Result ||
			all[1].Outcome != audit.OK {
			t.Errorf("%s %s: %d %s, and the audit has %+v", o.method, o.path, x.status, x.body, all)
			continue
		}
		e := all[0]
		if e.Subject != "root" || e.Role != "platform-admin" || e.From != "192.0.2.1" || e.Operation == "" ||
			strings.Contains(o.path, "{graph}") && (e.Graph != "mine_a" || e.Tenant != "acme") {
			t.Errorf("%s %s: %+v", o.method, o.path, e)
		}
	}
	if seen < 20 {
		t.Errorf("only %d operations change something: the search for them is broken", seen)
	}
}

// TestNoChangeWithoutAudit: none of them takes effect while the audit cannot be written.
func TestNoChangeWithoutAudit(t *testing.T) {
	t.Parallel()
	for _, o := range operations(t) {
		if !o.changes() {
			continue
		}
		a := newAudited(t)
		before, _ := a.store.Tokens(t.Context(), "")
		a.store.Script(checkpointtest.OpAppendAudit, slices.Repeat([]checkpointtest.Fault{
			{Outcome: checkpointtest.Fail}}, 10)...)
		x := o.ask(t, a.s, &a.root, "acme", "mine_a")
		if x.status != http.StatusServiceUnavailable || x.code(t) != api.CodeAuditUnwritable {
			t.Errorf("%s %s: %d %s", o.method, o.path, x.status, x.body)
		}
		if _, calls, _ := a.seen(); len(calls) > 0 {
			t.Errorf("%s %s has taken effect: %v", o.method, o.path, calls)
		}
		after, _ := a.store.Tokens(t.Context(), "")
		revoked := func(k access.Token) bool { return !k.Revoked.IsZero() }
		if len(after) != len(before) || slices.ContainsFunc(after, revoked) {
			t.Errorf("%s %s has changed the tokens", o.method, o.path)
		}
	}
}

// TestCommandsAreAudited: so it is with the commands of a socket.
func TestCommandsAreAudited(t *testing.T) {
	t.Parallel()
	for name, need := range socket.Commands() {
		for _, failing := range []bool{false, true} {
			a := newAudited(t)
			c, _ := dialAs(t, serve(t, a.s)+"/v1/ws/graphs/free_a/reactor", a.root.text)
			_, before, _ := a.seen()
			if failing {
				a.store.Script(checkpointtest.OpAppendAudit, checkpointtest.Fault{Outcome: checkpointtest.Fail})
			}
			more := ""
			if name == "FireWith" {
				more = `,"cache":{"a":1}`
			}
			c.send(`{"type":"command","id":1,"command":"` + name + `"` + more + `}`)
			var f struct{ Type, Code string }
			if err := json.Unmarshal([]byte(c.next()), &f); err != nil {
				t.Fatal(err)
			}
			_, calls, _ := a.seen()
			all := a.written(t)
			changes := need >= access.Operate
			switch {
			case failing && changes && (f.Code != api.CodeAuditUnwritable || len(calls) > len(before)):
				t.Errorf("%s without an audit: %+v, done %v", name, f, calls)
			case !failing && changes && (f.Type != "result" || len(all) != 2 || all[0].Kind != audit.Intent ||
				all[0].From != "127.0.0.1" || all[1].Outcome != audit.OK):
				t.Errorf("%s: %+v, and the audit has %+v", name, f, all)
			case !changes && len(all) != 0:
				t.Errorf("%s leaves %+v", name, all)
			}
		}
	}
}

// TestResultIsOwed: a result that cannot be written is written later, and the change is answered as what it is.
func TestResultIsOwed(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	fails := checkpointtest.Fault{Outcome: checkpointtest.Fail}
	a.store.Script(checkpointtest.OpAppendAudit, checkpointtest.Fault{}, fails, fails)
	o := operation{method: "POST", path: "/v1/graphs/{graph}/pause"}
	if x := o.ask(t, a.s, &a.root, "acme", "mine_a"); x.status != http.StatusOK {
		t.Errorf("%d %s", x.status, x.body)
	}
	if all := a.written(t); len(all) != 1 || all[0].Kind != audit.Intent { // the third append fails in it
		t.Errorf("got %+v", all)
	}
	if all := a.written(t); len(all) != 1 || all[0].Kind != audit.Result || all[0].Outcome != audit.OK {
		t.Errorf("got %+v", all)
	}
}

// TestDenialsAreFolded: who is denied something is written down, and a flood of it is a few entries: the first, those
// at ten, a hundred and so on, and one of the rest.
func TestDenialsAreFolded(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	stranger := bearer{text: access.Mint(&access.Token{})}
	o := operation{method: "POST", path: "/v1/graphs/{graph}/pause"}
	for range 500 {
		o.ask(t, a.s, &stranger, "", "mine_a")
	}
	for i := range 300 { // of many addresses
		a.trail.Denied(audit.Actor{Subject: fmt.Sprint("unknown@", i)}, "GET /v1/graphs", "", api.CodeUnauthenticated)
	}
	all := a.written(t)
	if len(all) < 2 || len(all) > 30 {
		t.Fatalf("%d entries", len(all))
	}
	if i := slices.IndexFunc(all, func(e audit.Entry) bool { return e.Subject == "unknown@192.0.2.1" }); i < 0 ||
		all[i].Kind != audit.Denied || all[i].Code != api.CodeInvalidToken || all[i].Tenant != audit.Daemon ||
		all[i].Operation != "POST /v1/graphs/{graph}/pause" || all[i].Graph != "mine_a" {
		t.Errorf("got %+v", all)
	}
	a.trail.Close(t.Context())
	sum := int64(0)
	for _, e := range append(all, a.written(t)...) {
		sum += e.Count
	}
	if sum != 800 || a.trail.DeniedTotal() != 800 {
		t.Errorf("%d denials are told of, and %d counted", sum, a.trail.DeniedTotal())
	}
}

// TestNamesOfNothingAreFolded: commands for graphs that are not there cost a chain no more than denials do, and are
// told of as such (A12, A13).
func TestNamesOfNothingAreFolded(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	o := operation{method: "POST", path: "/v1/graphs/{graph}/pause"}
	for i := range 200 {
		if x := o.ask(t, a.s, &a.root, "acme", fmt.Sprint("none_", i)); x.code(t) != api.CodeGraphNotFound {
			t.Fatalf("%d %s", x.status, x.body)
		}
	}
	a.trail.Close(t.Context())
	all := a.written(t)
	if len(all) != 2 || all[0].Kind != audit.Denied || all[0].Code != api.CodeGraphNotFound ||
		all[0].Tenant != "acme" || all[0].Subject != "root" || all[0].Graph != "none_0" ||
		all[0].Operation != "pause" || all[1].Count != 199 {
		t.Errorf("got %+v", all)
	}
}

// TestKnownCallersAreNamed: who shows a good token for a tenant that it is not for, or one that has ended, is told of
// by its name, in its own tenant's chain (A11, A13).
func TestKnownCallersAreNamed(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	made := do(t, a.s, "POST", "/v1/tokens", strings.NewReader(`{"name":"spy","role":"viewer"}`),
		"Authorization: Bearer "+a.root.text, "Graphd-Tenant: acme")
	var token api.NewToken
	if err := json.Unmarshal(made.body, &token); err != nil {
		t.Fatal(err)
	}
	a.written(t)
	denied := func(code, tenant string) {
		t.Helper()
		x := do(t, a.s, "GET", "/v1/graphs", nil, "Authorization: Bearer "+token.Text, "Graphd-Tenant: "+tenant)
		all := a.written(t)
		if x.code(t) != code || len(all) != 1 || all[0].Kind != audit.Denied || all[0].Subject != "spy" ||
			all[0].Token != token.ID || all[0].Tenant != "acme" || all[0].Code != code {
			t.Errorf("%d %s, and the audit has %+v", x.status, x.body, all)
		}
	}
	denied(api.CodeTenantNotFound, "other")
	do(t, a.s, "DELETE", "/v1/tokens/"+token.ID, nil, "Authorization: Bearer "+a.root.text, "Graphd-Tenant: acme")
	a.written(t)
	denied(api.CodeInvalidToken, "acme")
}

// TestAuditIsRead: a tenant's administrator reads its chain, one of all every chain; what is sent can be verified.
func TestAuditIsRead(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	pause := operation{method: "POST", path: "/v1/graphs/{graph}/pause"}
	for range 3 {
		pause.ask(t, a.s, &a.root, "acme", "mine_a")
	}
	made := do(t, a.s, "POST", "/v1/tokens", strings.NewReader(`{"name":"ta","role":"tenant-admin"}`),
		"Authorization: Bearer "+a.root.text, "Graphd-Tenant: acme")
	var token api.NewToken
	if err := json.Unmarshal(made.body, &token); err != nil {
		t.Fatal(err)
	}
	get := func(target, text string, status int) []byte {
		t.Helper()
		x := do(t, a.s, "GET", target, nil, "Authorization: Bearer "+text)
		if x.status != status {
			t.Errorf("%s: %d %s", target, x.status, x.body)
		}
		return x.body
	}
	for target, want := range map[string]int{"/v1/audit": 8, "/v1/audit?chain=acme": 8, "/v1/audit?limit=3": 3,
		"/v1/audit?after=6": 2, "/v1/audit?subject=nobody": 0, "/v1/audit?graph=mine_a": 6,
		"/v1/audit?since=2099-01-01T00:00:00Z": 0} {
		body := get(target, token.Text, 200)
		v := audit.VerifyOpen("acme")
		n := 0
		for line := range bytes.Lines(body) {
			var r audit.Row
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			if err := v.Next(&r); err != nil {
				t.Error(err)
			}
			n++
		}
		if n != want {
			t.Errorf("%s: %d entries, want %d: %s", target, n, want, body)
		}
	}
	for _, target := range []string{"/v1/audit?chain=other", "/v1/audit?chain=*", "/v1/audit?chain=default"} {
		get(target, token.Text, 404)
		get(target, a.root.text, 200)
	}
	if body := get("/v1/audit/chains", token.Text, 200); bytes.Count(body, []byte(`"tenant"`)) != 1 {
		t.Errorf("the tenant's chains: %s", body)
	}
	if body := get("/v1/audit/chains", a.root.text, 200); bytes.Count(body, []byte(`"tenant"`)) < 2 {
		t.Errorf("all chains: %s", body)
	}
	get("/v1/audit?since=yesterday", token.Text, 400)
	get("/v1/audit?limit=0", token.Text, 400)
	get("/v1/audit?since=", token.Text, 400) // a variable of a script that is not set
	get("/v1/audit?after=", token.Text, 400)
}
