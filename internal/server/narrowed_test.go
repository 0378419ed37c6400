package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// TestNarrowedOverTheAPI: an author narrowed to *_a neither applies nor goes back to what names a graph outside, and
// hears the same of one that is there and of one that is not (A11).
func TestNarrowedOverTheAPI(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	s, _, bearers := closedServer(t, e, nil)
	var author *bearer
	for i := range bearers {
		if b := &bearers[i]; b.role == access.AuthorRole && len(b.scope.Graphs) > 0 {
			author = b
		}
	}
	reads := func(name string) string {
		return "graph: mine_a\naccumulators: { a: { source: { graph: { name: " + name + ", output: o } } } }\n" +
			"outputs: { p: { from: a, sink: { drop: {} } } }\n"
	}
	plain := "graph: theirs_b\naccumulators: { a: {} }\noutputs: { o: { from: a, sink: { drop: {} } } }\n"
	for _, of := range [][2]string{{"theirs_b", plain}, {"mine_a", reads("theirs_b")}, {"mine_a", reads("other_a")}} {
		g := api.Ref{Tenant: "acme", Name: of[0]}
		if _, err := e.Apply(t.Context(), g, []byte(of[1]), api.Change{}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(method, target, body string) string {
		req := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		author.show(req)
		x := send(t, s, req)
		if x.status != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d %s", method, target, x.status, x.body)
		}
		return string(x.body)
	}
	for _, target := range []string{"/v1/graphs/mine_a", "/v1/graphs/mine_a?dry_run=true"} {
		there, none := ask(http.MethodPut, target, reads("theirs_b")), ask(http.MethodPut, target, reads("theirs_z"))
		if strings.ReplaceAll(there, "theirs_b", "theirs_z") != none || !strings.Contains(there, "denied") {
			t.Errorf("%s: %s and %s", target, there, none)
		}
	}
	for _, body := range []string{`{"revision":1}`, `{"revision":1,"dry_run":true}`, `{}`} {
		if text := ask(http.MethodPost, "/v1/graphs/mine_a/rollback", body); !strings.Contains(text, "denied") {
			t.Errorf("back by %s: %s", body, text)
		}
	}
}

// TestNarrowedLists: who is narrowed to some graphs hears neither of others that a daemon has not told of, nor of a
// daemon that runs nothing else.
func TestNarrowedLists(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, _, bearers := closedServer(t, w, nil)
	narrow := 0
	for i := range bearers {
		b := &bearers[i]
		if b.role < access.Viewer || b.role == access.Pusher || b.all {
			continue
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/graphs", nil)
		b.show(req)
		x := send(t, s, req)
		var list api.GraphList
		if err := json.Unmarshal(x.body, &list); err != nil || x.status != http.StatusOK {
			t.Fatalf("%s: %d %s", b.name, x.status, x.body)
		}
		want := "mine_a mine_b"
		if len(b.scope.Graphs) > 0 {
			narrow, want = narrow+1, "mine_a"
		}
		var missing []string
		for _, m := range list.Missing {
			missing = append(missing, m.Graphs...)
		}
		if got := strings.Join(missing, " "); got != want || len(list.Missing) != len(missing) {
			t.Errorf("%s is told of %+v, want %s", b.name, list.Missing, want)
		}
	}
	if narrow == 0 {
		t.Error("nobody was narrowed")
	}
}
