package server

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
)

// TestTestRoute: a declaration and its tests get to the daemon, also of a graph that is not there, and nothing else
// does.
func TestTestRoute(t *testing.T) {
	t.Parallel()
	const both = `"declaration":"graph: g","tests":"cases: []"`
	for body, want := range map[string]struct {
		status           int
		code, call, path string
	}{
		`{` + both + `,"set":{"v":2,"w":"x"}}`: {200, "", "test graph: g by cases: [] with map[v:2 w:x]", "g"},
		`{` + both + `}`:                       {200, "", "test graph: g by cases: [] with map[]", "new_one"},
		`{` + both + `,"dry_run":true}`:        {400, api.CodeInvalidBody, "", "g"},
		``:                                     {400, api.CodeInvalidBody, "", "g"},
		`{` + both + ` }`:                      {400, api.CodeInvalidName, "", "New"},
	} {
		ctl := newFake()
		x := do(t, newServer(t, ctl, Config{}), http.MethodPost, "/v1/graphs/"+want.path+"/test",
			strings.NewReader(body))
		_, calls, _ := ctl.seen()
		if x.status != want.status || x.code(t) != want.code || strings.Join(calls, ";") != want.call {
			t.Errorf("%s: %d %s, and the control was told %q", body, x.status, x.body, calls)
		}
	}
}

// TestCompleteRoute: a declaration gets to the daemon with the cursor, also of a graph that is not there.
func TestCompleteRoute(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		status     int
		code, call string
	}{
		`{"declaration":"graph: g","line":1,"column":3}`:           {200, "", "complete graph: g at 1:3"},
		`{"declaration":"graph: g","line":1,"column":3,"tests":0}`: {400, api.CodeInvalidBody, ""},
	} {
		ctl := newFake()
		x := do(t, newServer(t, ctl, Config{}), http.MethodPost, "/v1/graphs/new_one/complete", strings.NewReader(body))
		_, calls, _ := ctl.seen()
		if x.status != want.status || x.code(t) != want.code || strings.Join(calls, ";") != want.call {
			t.Errorf("%s: %d %s, and the control was told %q", body, x.status, x.body, calls)
		}
	}
}

// M53: tests touch no graph, so the daemon that is asked runs them, whoever runs the graph of that name.
func TestM53TestsStayWhereTheyAreSent(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("secret", 8)), 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := join(t, "a", secret, memory.New()), join(t, "b", secret, memory.New())
	mine := api.Ref{Tenant: "acme", Name: "mine_a"}
	a.own(mine, &checkpoint.Member{ID: "b", Name: "b/1", Peer: b.at})
	root := access.Principal{Tenant: "acme", Subject: "root", Role: access.PlatformAdmin}
	made, err := a.gate.Create(t.Context(), &root, &api.TokenRequest{Name: "ann", Role: "author"})
	if err != nil {
		t.Fatal(err)
	}
	status, text, _ := a.do(http.MethodPost, "/v1/graphs/mine_a/test", `{"declaration":"graph: mine_a","tests":""}`,
		http.Header{"Authorization": {"Bearer " + made.Text}})
	if status != http.StatusOK || !slices.Contains(a.asked(), mine) || b.asked() != nil {
		t.Errorf("%d %s", status, text)
	}
}
