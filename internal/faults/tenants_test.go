package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/testbed"
)

// The graphs of each tenant: one that is pushed to and reads a file, and one that is fed by it, whose outputs are a
// file and a table of a connection. Names and paths are the same for both.
const tenantsGraph = `graph: g
vars: { desk: "${GRAPHD_VAR_DESK}" }
accumulators:
  pushed: { schema: { type: object, required: [who] } }
  read: { source: { file: { path: in.ndjson } } }
reactor: { when: { any: [pushed, read] }, strategy: sequential }
nodes: { n: { expr: '{ "who": pushed?.who, "read": read?.who, "at": vars.desk }' } }
outputs: { out: { from: n, sink: { websocket: {} } }, file: { from: n, sink: { file: { path: out.ndjson } } } }
`

const tenantsFed = `graph: fed
accumulators: { from: { source: { graph: { name: g, output: out } } } }
reactor: { strategy: sequential }
nodes: { n: { expr: '{ "who": from.who, "desk": from.at }' } }
outputs: { file: { from: n, sink: { file: { path: fed.ndjson } } }%s }
`

// tenantsWorld is a daemon with two tenants that have all names in common.
type tenantsWorld struct {
	*process
	dir   string
	args  []string
	admin string
	token map[string]string // by tenant
}

// call answers with what the daemon answers one with a token, as soon as it can: where it is told too late whose the
// token is, and where the lease of a graph was lost for a moment, it has done nothing and asks to be asked again.
func (w *tenantsWorld) call(tenant, token, method, path, body string) (status int, text string) {
	w.t.Helper()
	w.until(method+" "+path+" is answered", stuck, func() bool {
		status, text = w.try(tenant, token, method, path, body)
		return status != http.StatusServiceUnavailable
	})
	return status, text
}

// try is one call.
func (w *tenantsWorld) try(tenant, token, method, path, body string) (status int, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stuck)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "graph:") {
		req.Header.Set("Content-Type", "application/yaml")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if tenant != "" {
		req.Header.Set("Graphd-Tenant", tenant)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func (w *tenantsWorld) must(tenant, method, path, body string) string {
	w.t.Helper()
	token := w.token[tenant]
	if tenant == "" {
		token = w.admin
	}
	status, text := w.call("", token, method, path, body)
	if status/100 != 2 {
		w.t.Fatalf("%s by %q: %d %s\n%s", path, tenant, status, text, w.log)
	}
	return text
}

var tokenText = regexp.MustCompile(`gd_[0-9A-Za-z]+_[0-9A-Za-z]+_[0-9a-zA-Z]+`)

// folder is where a tenant's files are.
func (w *tenantsWorld) folder(tenant string) string {
	return filepath.Join(w.dir, "data", "tenants", tenant, "files")
}

// read is a file of a tenant.
func (w *tenantsWorld) read(tenant, name string) string {
	text, err := os.ReadFile(filepath.Join(w.folder(tenant), name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(text)
}

// begin gives both tenants their files, tokens and graphs.
func (w *tenantsWorld) begin(also string) {
	w.t.Helper()
	w.token = map[string]string{}
	_, text := w.call("", "", "POST", "/v1/tokens", `{"name":"root","role":"platform-admin"}`)
	if w.admin = tokenText.FindString(text); w.admin == "" {
		w.t.Fatalf("no token in %s", text)
	}
	for _, tenant := range []string{"acme", "beta"} {
		if err := os.MkdirAll(w.folder(tenant), 0o700); err != nil {
			w.t.Fatal(err)
		}
		line := fmt.Sprintf("{\"who\":\"of-%s\"}\n", tenant)
		if err := os.WriteFile(filepath.Join(w.folder(tenant), "in.ndjson"), []byte(line), 0o600); err != nil {
			w.t.Fatal(err)
		}
		w.token[tenant] = tokenText.FindString(w.must("", "POST", "/v1/tokens",
			`{"name":"t","role":"tenant-admin","tenant":"`+tenant+`"}`))
		w.must(tenant, "PUT", "/v1/graphs/g", tenantsGraph)
		w.must(tenant, "PUT", "/v1/graphs/fed", fmt.Sprintf(tenantsFed, also))
	}
}

// push pushes to both, what can be used and what cannot, and waits until it is out on the far side.
func (w *tenantsWorld) push(round int) {
	w.t.Helper()
	for tenant := range w.token {
		w.until("the graphs of "+tenant+" run here", stuck, func() bool {
			return !strings.Contains(w.must(tenant, "GET", "/v1/graphs", ""), `"standby"`)
		})
		w.must(tenant, "POST", "/v1/graphs/g/accumulators/pushed/events",
			fmt.Sprintf(`[{"who":"of-%s","round":%d},{"what":"bad-of-%s"}]`, tenant, round, tenant))
	}
	for tenant := range w.token {
		w.until("what was pushed is in the last file of "+tenant, stuck, func() bool {
			return strings.Count(w.read(tenant, "fed.ndjson"), `"of-`+tenant+`"`) >= round
		})
		w.must(tenant, "POST", "/v1/graphs/g/checkpoint", "")
		w.must(tenant, "POST", "/v1/graphs/fed/drain", "")
	}
}

// apart looks at all that a tenant can be told: nothing of it is the other's.
func (w *tenantsWorld) apart() {
	w.t.Helper()
	for tenant, other := range map[string]string{"acme": "beta", "beta": "acme"} {
		for _, path := range []string{"/v1/graphs", "/v1/graphs/g", "/v1/graphs/fed", "/v1/graphs/g/state",
			"/v1/graphs/g/firings", "/v1/graphs/fed/firings", "/v1/graphs/g/firings/1", "/v1/graphs/g/dead-letters",
			"/v1/graphs/g/recovery-events", "/v1/graphs/g/revisions", "/v1/graphs/g/plan",
			"/v1/graphs/g/accumulators/read", "/v1/tree", "/v1/limits", "/v1/tokens", "/v1/audit",
			"/v1/members", "/metrics",
		} {
			status, text := w.call("", w.token[tenant], "GET", path, "")
			if status == http.StatusNotFound && !strings.Contains(path, "members") {
				w.t.Errorf("%s by %s: %d %s", path, tenant, status, text)
			}
			if strings.Contains(text, other) {
				w.t.Errorf("%s tells %s of %s: %s", path, tenant, other, text)
			}
		}
		for _, name := range []string{"out.ndjson", "fed.ndjson"} {
			text := w.read(tenant, name)
			if strings.Contains(text, other) || !strings.Contains(text, "desk-of-"+tenant) {
				w.t.Errorf("the file %s of %s has %s", name, tenant, text)
			}
		}
		status, text := w.call(other, w.token[tenant], "GET", "/v1/graphs/g", "")
		gone, same := w.call("nobody", w.token[tenant], "GET", "/v1/graphs/g", "")
		if status != http.StatusNotFound || status != gone || text != same {
			w.t.Errorf("%s asks for %s: %d %s, and for nobody: %d %s", tenant, other, status, text, gone, same)
		}
	}
}

// TestTenantsAreApart: two tenants with graphs, inputs, outputs, files, variables and connections of the same names, on
// every store: nothing of one is in what the other is told or given, and kill -9 and restarts change nothing (A1, A11).
func TestTenantsAreApart(t *testing.T) {
	for _, store := range []string{"memory", "sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			w := &tenantsWorld{dir: t.TempDir()}
			also, databases := "", map[string]string{}
			switch store {
			case "memory":
				w.args = []string{"--store", "memory:"}
			case "postgres":
				w.args = []string{"--store", testbed.Postgres(t)}
				also = ", rows: { from: n, sink: { postgres: { connection: w, table: results } } }"
			}
			for _, tenant := range []string{"acme", "beta"} {
				w.args = append(w.args, "--tenants", tenant+".variables.GRAPHD_VAR_DESK=desk-of-"+tenant)
				if store == "postgres" {
					databases[tenant] = testbed.Postgres(t)
					w.args = append(w.args, "--tenants", tenant+".connections.w="+databases[tenant])
					execute(t, databases[tenant], "CREATE TABLE results (who text, desk text)")
				}
			}
			w.process = start(t, w.dir, w.args...)
			w.begin(also)
			w.push(1)
			w.apart()
			if store != "memory" {
				w.kill()
				w.process = start(t, w.dir, w.args...)
				w.push(2)
				w.apart()
				if err := w.stop(); err != nil {
					t.Fatal(err)
				}
				w.process = start(t, w.dir, w.args...)
				w.push(3)
				w.apart()
			}
			for tenant, database := range databases {
				other := map[string]string{"acme": "beta", "beta": "acme"}[tenant]
				own, theirs := rowsOf(t, database, tenant), rowsOf(t, database, other)
				if own < 3 || theirs != 0 {
					t.Errorf("the database of %s has %d rows of its own and %d of the other's", tenant, own, theirs)
				}
			}
			w.deleted()
		})
	}
}

// deleted: what one tenant deletes stays the other's.
func (w *tenantsWorld) deleted() {
	w.t.Helper()
	w.must("acme", "DELETE", "/v1/graphs/fed?state=delete", "")
	w.must("acme", "DELETE", "/v1/graphs/g?state=delete", "")
	if text := w.must("acme", "GET", "/v1/graphs", ""); strings.Contains(text, `"fed"`) {
		w.t.Errorf("what was deleted is there: %s", text)
	}
	for _, path := range []string{"/v1/graphs/g", "/v1/graphs/fed", "/v1/graphs/g/firings/1", "/v1/graphs/g/state"} {
		w.must("beta", "GET", path, "")
	}
}

func execute(t *testing.T, database, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), sql)
	if closed := c.Close(t.Context()); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
}

// count is how many rows of a tenant's database tell of a tenant.
func rowsOf(t *testing.T, database, tenant string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	err = c.QueryRow(t.Context(), "SELECT count(*) FROM results WHERE desk LIKE $1", "%"+tenant).Scan(&n)
	if closed := c.Close(t.Context()); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return n
}
