package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// TestForeignIsMissingInTheEngine: over the real engine each operation of the document answers for a graph that another
// tenant has as for one that nobody has, and no list tells of it (A11). What it would change is not changed.
func TestForeignIsMissingInTheEngine(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	s, _, bearers := closedServer(t, e, nil)
	theirs := api.Ref{Tenant: "other", Name: "theirs_a"}
	for _, g := range []api.Ref{theirs, {Tenant: "acme", Name: "mine_a"}} {
		doc := "graph: " + g.Name + "\naccumulators: { a: {} }\noutputs: { o: { from: a, sink: { drop: {} } } }\n"
		if _, err := e.Apply(t.Context(), g, []byte(doc), api.Change{}); err != nil {
			t.Fatal(err)
		}
	}
	was, err := e.Graph(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, o := range operations(t) {
		for i := range bearers {
			b := &bearers[i]
			if o.needs == "public" || o.id == "metrics" || b.role == access.NoRole || !b.may(o.needs) {
				continue
			}
			own := ""
			if b.all {
				own = "acme"
			}
			if !strings.Contains(o.path, "{graph}") {
				if b.all || o.method != http.MethodGet || strings.HasPrefix(o.path, "/v1/ws/") {
					continue
				}
				if x := o.ask(t, s, b, own, ""); strings.Contains(string(x.body), "theirs_a") {
					t.Errorf("%s by %s tells of it: %s", o.id, b.name, x.body)
				}
				continue
			}
			compared++
			alike(t, fmt.Sprintf("%s by %s", o.id, b.name), o.ask(t, s, b, own, "theirs_a"),
				o.ask(t, s, b, own, "nobody_a"))
			for _, name := range []string{"theirs_a", "nobody_a"} { // what an author has made is the author's own
				_ = e.Delete(t.Context(), api.Ref{Tenant: "acme", Name: name}, true)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d answers were compared", compared)
	}
	is, err := e.Graph(t.Context(), theirs)
	if err != nil || is.Revision != was.Revision || is.Incarnation != was.Incarnation || is.Paused ||
		is.Counters != was.Counters || is.Epoch != was.Epoch {
		t.Errorf("it was %+v, and is %+v (%v)", was, is, err)
	}
}

// alike holds the answer about theirs_a against that about nobody_a.
func alike(t *testing.T, what string, foreign, missing *exchange) {
	t.Helper()
	same := strings.ReplaceAll(string(foreign.body), "theirs_a", "nobody_a") == string(missing.body)
	applied := strings.HasPrefix(what, "apply")
	// What completes a text takes one of a graph that is not there yet.
	found := foreign.status < 400 && !applied && !strings.HasPrefix(what, "completeDeclaration")
	if foreign.status != missing.status || found || !applied && !same || foreign.status >= 400 && !same {
		t.Errorf("%s: of another tenant %d %s, of nobody %d %s", what, foreign.status, foreign.body, missing.status,
			missing.body)
	}
	for name := range foreign.header {
		if _, there := missing.header[name]; !there {
			t.Errorf("%s: the header %s is there for the foreign graph alone", what, name)
		}
	}
}
