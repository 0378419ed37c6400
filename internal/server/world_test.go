package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/certificate"
	"github.com/graphd/graphd/internal/certificate/certtest"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/gate"
	"github.com/graphd/graphd/internal/issuer"
	"github.com/graphd/graphd/internal/issuer/issuertest"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/server/agents"
)

// world is a Control with the graphs mine_a and mine_b of the tenant acme, theirs_a of the tenant other
// and free_a of the default one. It remembers which of them it was asked about and gave.
type world struct {
	*fake
	refs []api.Ref

	mu      sync.Mutex
	touched []api.Ref
}

func newWorld() *world {
	w := &world{fake: newFake(), refs: []api.Ref{{Tenant: "acme", Name: "mine_a"}, {Tenant: "acme", Name: "mine_b"},
		{Tenant: "other", Name: "theirs_a"}, {Tenant: "default", Name: "free_a"}}}
	w.known = func(g api.Ref) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.refs, g) {
			return &api.Error{Status: http.StatusNotFound, Code: "graph_not_found",
				Detail: fmt.Sprintf("there is no graph %q", g.Name)}
		}
		w.touched = append(w.touched, g)
		return nil
	}
	return w
}

// asked is what was touched since the last time.
func (w *world) asked() []api.Ref {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.touched
	w.touched = nil
	return all
}

func (w *world) Graphs(_ context.Context, tenant string) (list api.GraphList, err error) {
	list.Items = []api.GraphSummary{}
	for _, g := range w.refs {
		if g.Tenant == tenant {
			s := summary()
			s.Graph, s.Tenant = g.Name, g.Tenant
			list.Items = append(list.Items, s)
			list.Missing = append(list.Missing, api.Missing{Member: "of_" + g.Name, Name: "gw/1",
				Code: "owner_unreachable", Detail: "it does not answer", Graphs: []string{g.Name}})
		}
	}
	return list, nil
}

func (w *world) Apply(ctx context.Context, g api.Ref, _ []byte, c api.Change) (api.ApplyResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched = append(w.touched, g) // it would be made
	return w.applied(ctx, g, "apply", c)
}

func (w *world) Complete(_ context.Context, g api.Ref, _ api.CompletionRequest) (api.Completion, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched = append(w.touched, g) // as it would be by applying
	return api.Completion{Items: []api.Offer{}}, nil
}

func (w *world) Test(_ context.Context, g api.Ref, _ api.TestRequest) (api.TestResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched = append(w.touched, g) // as it would be by applying
	return api.TestResult{Passed: 1, Cases: []api.TestCase{{Case: "a", Line: 1, Passed: true,
		Failures: []api.TestFailure{}}}}, nil
}

// applied changes something, unless it is not to.
func (w *world) applied(ctx context.Context, g api.Ref, what string, c api.Change) (api.ApplyResult, error) {
	s := summary()
	res := api.ApplyResult{Changed: true, Revision: 4, DryRun: c.DryRun, Graph: &s, Diff: []string{"changed nodes.n"}}
	if c.DryRun {
		return res, nil
	}
	if c.Before != nil {
		if err := c.Before(ctx, g, &res); err != nil {
			return api.ApplyResult{}, err
		}
	}
	w.did(what)
	return res, nil
}

func (w *world) did(what string) {
	w.fake.mu.Lock()
	defer w.fake.mu.Unlock()
	w.calls = append(w.calls, what)
}

func (w *world) Rollback(ctx context.Context, g api.Ref, _ int64, c api.Change) (api.ApplyResult, error) {
	if err := w.find(g); err != nil {
		return api.ApplyResult{}, err
	}
	return w.applied(ctx, g, "rollback", c)
}

func (w *world) Backup(ctx context.Context, send func(io.Reader, int64) error) error {
	w.did("backup")
	return w.fake.Backup(ctx, send)
}

func (w *world) Tree(context.Context) []api.TreeNode {
	nodes := []api.TreeNode{{Path: "graphd", State: "running", Since: at}}
	for _, g := range w.refs {
		nodes = append(nodes, api.TreeNode{Path: "graphd/" + g.Tenant + "/" + g.Name + "/reactor", State: "running",
			Since: at})
	}
	return nodes
}

func (w *world) ListMembers(context.Context) ([]api.Member, error) {
	m := api.Member{ID: "m1", Name: "host/1", State: "live", Graphs: []api.Placed{}}
	for _, g := range w.refs {
		m.Graphs = append(m.Graphs, api.Placed{Tenant: g.Tenant, Graph: g.Name, Rank: 1, Group: "mine_b"})
	}
	return []api.Member{m}, nil
}

// metrics tell a line of each graph that may be seen.
func (w *world) metrics(sees func(tenant, graph string) bool) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		if sees == nil {
			_, _ = fmt.Fprintln(rw, "process 1")
		}
		for _, g := range w.refs {
			if sees == nil || sees(g.Tenant, g.Name) {
				_, _ = fmt.Fprintf(rw, "epochs{tenant=%q,graph=%q} 1\n", g.Tenant, g.Name)
			}
		}
	})
}

// bearer is one who asks.
type bearer struct {
	name  string
	text  string // of the token, "" without one
	role  access.Role
	scope access.Scope
	all   bool // of every tenant
	// cert is what is shown in place of a token, nil without one.
	cert *certtest.Issued
}

// show has a request come from the bearer.
func (b *bearer) show(req *http.Request) {
	if b.text != "" {
		req.Header.Set("Authorization", "Bearer "+b.text)
	}
	if b.cert != nil { // as crypto/tls does when the chain is of an authority
		req.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{b.cert.Cert}}}
	}
}

// certified are bearers of certificates, one for each role and some that nothing is given to, and who knows them.
func certified(t *testing.T) (*certificate.Keeper, *certtest.Authority, []bearer) {
	t.Helper()
	a, stranger, dir := certtest.New(t), certtest.New(t), t.TempDir()
	cert, key := a.Named(t, "daemon", "").Write(t, dir)
	ca := filepath.Join(dir, "ca.crt")
	certtest.Put(t, ca, a.PEM())
	const id = "spiffe://acme.example/"
	bearers := []bearer{
		{name: "a certificate that is not listed", cert: a.Named(t, "x", id+"nobody")},
		{name: "a listed name by another authority", cert: stranger.Named(t, "x", id+"viewer")},
	}
	var lines []string
	for _, role := range access.Roles() {
		tenant := "acme"
		if role == access.PlatformAdmin {
			tenant = access.AllTenants
		}
		lines = append(lines, fmt.Sprintf("%s%s=%s@%s", id, role, role, tenant))
		bearers = append(bearers, bearer{name: "the certificate of a " + role.String(), role: role,
			all: role == access.PlatformAdmin, cert: a.Named(t, "x", id+role.String())})
	}
	clients, err := access.ParseGrants(lines)
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := certificate.New(certificate.Config{Cert: cert, Key: key, ClientCA: ca, Optional: true,
		Clients: clients, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return keeper, a, bearers
}

// may says by a table of its own what one may do.
func (b *bearer) may(need string) bool {
	table := map[access.Role][]string{
		access.Viewer:        {"known", "read"},
		access.Pusher:        {"known", "push"},
		access.Operator:      {"known", "read", "push", "operate"},
		access.AuthorRole:    {"known", "read", "push", "operate", "author"},
		access.TenantAdmin:   {"known", "read", "push", "operate", "author", "administer"},
		access.PlatformAdmin: {"known", "read", "push", "operate", "author", "administer", "platform"},
	}
	return need == "public" || slices.Contains(table[b.role], need) &&
		(!b.scope.Reading || need == "known" || need == "read")
}

// issued are bearers of an issuer's tokens, one for each role and one that it gave for others, and who knows them.
func issued(t *testing.T) (*issuer.Issuer, []bearer) {
	t.Helper()
	at := issuertest.Start(t)
	bearers := []bearer{{name: "a token for others", text: at.Token(t, map[string]any{"aud": "others",
		"role": "platform-admin"})}}
	var lines []string
	for _, role := range access.Roles() {
		tenant := "acme"
		if role == access.PlatformAdmin {
			tenant = access.AllTenants
		}
		lines = append(lines, fmt.Sprintf("role=%s=%s@%s", role, role, tenant))
		bearers = append(bearers, bearer{name: "the issuer's token of a " + role.String(), role: role,
			all: role == access.PlatformAdmin, text: at.Token(t, map[string]any{"role": role.String()})})
	}
	guard, err := outbound.New(outbound.Config{Allow: []string{"loopback"}})
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuertest.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	is, err := issuer.New(issuer.Config{URL: at.URL, Audience: issuertest.Audience, Grants: lines,
		Login: issuer.Login{Client: issuertest.Client, SecretFile: secret, Base: "https://graphd.example"},
		Guard: guard, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); is.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	if _, err := is.Whose(t.Context(), bearers[1].text); err != nil { // it waits until there are keys
		t.Fatal(err)
	}
	return is, bearers
}

// closedServer is a server that asks for tokens, and one bearer of each role, wide and narrowed.
func closedServer(t *testing.T, ctl Control, metrics func(func(string, string) bool) http.Handler) (
	*Server, *gate.Gate, []bearer) {
	t.Helper()
	keeper, _, vouched := certified(t)
	is, tokens := issued(t)
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	log := slog.New(slog.DiscardHandler)
	trail := audit.New(audit.Config{Store: store, Log: log})
	g, err := gate.New(t.Context(), gate.Config{Store: store, Required: true, Log: log, Trail: trail,
		Certificates: keeper.Whose, Issuer: is.Whose, SignOn: is, Grants: is.Grants()})
	if err != nil {
		t.Fatal(err)
	}
	root := access.Principal{Tenant: "acme", Subject: "test", Role: access.PlatformAdmin}
	bearers := []bearer{{name: "nobody"}, {name: "a stranger", text: access.Mint(&access.Token{})}}
	for _, role := range access.Roles() {
		for _, scope := range []access.Scope{{}, {Graphs: []string{"*_a"}}, {Reading: true}} {
			if scope.Narrow() && role >= access.TenantAdmin {
				continue
			}
			b := bearer{name: fmt.Sprintf("%s %+v", role, scope), role: role, scope: scope,
				all: role == access.PlatformAdmin}
			made, err := g.Create(t.Context(), &root, &api.TokenRequest{Name: role.String(), Role: role.String(),
				Graphs: scope.Graphs, ReadOnly: scope.Reading})
			if err != nil {
				t.Fatal(err)
			}
			b.text = made.Text
			bearers = append(bearers, b)
		}
	}
	ended := access.Token{Name: "ended", Tenant: "acme", Role: access.TenantAdmin, Created: time.Now().Add(-time.Hour),
		Expires: time.Now().Add(-time.Minute)}
	text := access.Mint(&ended)
	if err := store.AddToken(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	bearers = append(bearers, bearer{name: "one whose token has ended", text: text})
	theirs := "other"
	if _, err := g.Create(t.Context(), &root, &api.TokenRequest{Name: "theirs", Role: "viewer",
		Tenant: &theirs}); err != nil {
		t.Fatal(err)
	}
	bearers = append(append(bearers, vouched...), tokens...)
	return newServer(t, ctl, Config{Gate: g, Metrics: metrics, Trail: trail, Profiles: true,
		Agents: agents.Write}), g, bearers
}
