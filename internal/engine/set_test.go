package engine

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

const factored = `graph: g
vars: { factor: 2 } # of the desk
accumulators: { a: { strategy: sequential } }
nodes: { n: { expr: a * vars.factor } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// M33: a declaration that is applied with a var set is stored with it in its text, so that a rollback brings it back.
func TestM33VarsThatAreSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		put := func(set map[string]string) (api.ApplyResult, error) {
			return b.e.Apply(t.Context(), g, []byte(factored), api.Change{Set: set})
		}
		text := func() string {
			t.Helper()
			now, err := b.e.Revision(t.Context(), g, 0)
			if err != nil {
				t.Fatal(err)
			}
			return now.Declaration
		}
		three := strings.Replace(factored, "factor: 2", "factor: 3", 1)
		if _, err := put(map[string]string{"factor": "3"}); err != nil || text() != three {
			t.Fatalf("%v\n%s", err, text())
		}
		if res, err := put(nil); err != nil || res.Diff[0] != "changed vars.factor: 3 → 2" || text() != factored {
			t.Fatalf("%+v, %v\n%s", res, err, text())
		}
		if _, err := b.e.Rollback(t.Context(), g, 0, api.Change{}); err != nil || text() != three {
			t.Fatalf("%v\n%s", err, text())
		}
		_, err := put(map[string]string{"facter": "3"})
		wantCode(t, err, http.StatusBadRequest, "invalid_parameter", "set: the declaration has no var",
			"did you mean factor?")
		_, err = put(map[string]string{"factor": "much"})
		wantCode(t, err, http.StatusBadRequest, "invalid_parameter", "a whole number is needed")
		_, err = b.e.Apply(t.Context(), g, []byte("include: a.yaml\n"+factored), api.Change{})
		wantCode(t, err, http.StatusUnprocessableEntity, "declaration_invalid")
		if text() != three {
			t.Errorf("what was refused has changed it:\n%s", text())
		}
	})
}
