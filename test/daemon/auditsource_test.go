package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// sent sends a body with a token, as a tenant where one is named.
func (d *daemon) sent(token, tenant, method, path, body string) (status int, answer string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
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
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// token makes one.
func (d *daemon) token(by, role, tenant string) string {
	d.t.Helper()
	var made struct{ Token string }
	status, body := d.sent(by, "", "POST", "/v1/tokens",
		fmt.Sprintf(`{"name":"of %s %s","role":%q,"tenant":%q}`, tenant, role, role, tenant))
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated || made.Token == "" {
		d.t.Fatalf("a token: %d %s", status, body)
	}
	return made.Token
}

const auditGraph = `graph: %s
accumulators: { a: { source: { audit: { every: 100ms%s } }, strategy: sequential } }
nodes: { n: { expr: '{ "seq": a.seq, "tenant": a.entry.tenant, "what": a.entry.operation }' } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// seen are the entries that a graph has had in its epochs, oldest first.
func (d *daemon) seen(token, tenant, graph string) (list []auditSeen) {
	d.t.Helper()
	status, body := d.sent(token, tenant, "GET", "/v1/graphs/"+graph+"/firings?limit=1000", "")
	var page struct {
		Items []struct{ Outputs struct{ O auditSeen } }
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
		return nil // it is not there yet, or not yet here
	}
	for _, f := range page.Items {
		list = append(list, f.Outputs.O)
	}
	slices.Reverse(list)
	return list
}

type auditSeen struct {
	Seq          int64
	Tenant, What string
}

// A11, A13: the audit is an input of graphs that administrators apply: a tenant's of its own entries, a platform's of
// any chain. An author is refused, with every chain, and whoever is refused is not told which tenants there are.
// Reading goes on where it was behind a restart.
func TestAuditAsASource(t *testing.T) {
	t.Parallel()
	cfg := graphd.Config{Data: t.TempDir()}
	d := startDaemon(t, cfg)
	root := d.token("", "platform-admin", "*")
	admin, author, other := d.token(root, "tenant-admin", "acme"), d.token(root, "author", "acme"),
		d.token(root, "tenant-admin", "beta")
	put := func(token, tenant, graph, more string) (int, string) {
		return d.sent(token, tenant, "PUT", "/v1/graphs/"+graph, fmt.Sprintf(auditGraph, graph, more))
	}
	refusal := ""
	for _, tt := range []struct{ token, more string }{
		{author, ""}, {author, ", chain: acme"}, {author, ", chain: '*'"}, {author, ", chain: beta"},
		{admin, ", chain: '*'"}, {admin, ", chain: beta"}, {admin, ", chain: default"}, {admin, ", chain: nosuch"},
	} {
		status, body := put(tt.token, "", "watch", tt.more)
		if status != http.StatusUnprocessableEntity || !strings.Contains(body, `"denied"`) ||
			refusal != "" && body != refusal {
			t.Errorf("%s is answered %d %s", tt.more, status, body)
		}
		refusal = body
	}
	for _, tt := range []struct{ token, tenant, graph, more string }{
		{admin, "", "watch", ""}, {other, "", "watch", ", chain: beta"}, {root, "acme", "daemons", ", chain: '*'"},
	} {
		if status, body := put(tt.token, tt.tenant, tt.graph, tt.more); status != http.StatusCreated {
			t.Fatalf("%+v: %d %s", tt, status, body)
		}
	}
	// Who may not apply it may not change it either, nor go back to it.
	if status, _ := put(author, "", "watch", ", start: latest"); status != http.StatusUnprocessableEntity {
		t.Errorf("an author changes it: %d", status)
	}
	plain := "graph: watch\naccumulators: { a: {} }\noutputs: { o: { from: a, sink: { drop: {} } } }\n"
	if status, body := d.sent(author, "", "PUT", "/v1/graphs/watch", plain); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	back := func(token string) int {
		status, _ := d.sent(token, "", "POST", "/v1/graphs/watch/rollback", `{"revision":1}`)
		return status
	}
	if status := back(author); status != http.StatusUnprocessableEntity {
		t.Errorf("an author goes back to it: %d", status)
	}
	if status := back(admin); status != http.StatusOK {
		t.Errorf("an administrator goes back to it: %d", status)
	}
	d.sent("gd_nothing", "", "GET", "/v1/graphs", "") // a login that is refused
	for _, tt := range []struct{ token, tenant, graph, chain, what string }{
		{admin, "acme", "watch", "acme", "rollback"}, {other, "beta", "watch", "beta", "apply"},
		{root, "acme", "daemons", "*", "GET /v1/graphs"},
	} {
		d.until(tt.chain+" is told of "+tt.what, func() bool {
			for _, e := range d.seen(tt.token, tt.tenant, tt.graph) {
				if e.What == tt.what {
					return true
				}
			}
			return false
		})
	}
	d.stop()
	d = startDaemon(t, cfg)
	var list []auditSeen
	d.until("acme is told of a checkpoint after the restart", func() bool {
		d.sent(admin, "", "POST", "/v1/graphs/watch/checkpoint", "")
		list = d.seen(admin, "", "watch")
		return len(list) > 0 && list[len(list)-1].What == "checkpoint"
	})
	for i, e := range list {
		// It has begun anew where an administrator went back to it, and nowhere else.
		if e.Tenant != "acme" || i > 0 && e.Seq != list[i-1].Seq+1 && e.Seq != 1 {
			t.Errorf("acme's graph has seen %+v behind %+v", e, list[max(0, i-1)])
		}
	}
	for _, e := range d.seen(other, "", "watch") {
		if e.Tenant != "beta" {
			t.Errorf("beta's graph has seen %+v", e)
		}
	}
}
