package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// operation is one of the document's.
type operation struct {
	method, path, id, needs string
}

// operations are all of the document's.
func operations(t *testing.T) []operation {
	t.Helper()
	var all []operation
	for path, item := range loadDocument().root["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			o, ok := op.(map[string]any)
			if !ok {
				continue
			}
			needs, _ := o["x-graphd-needs"].(string)
			if list, ok := o["security"].([]any); ok && len(list) == 0 {
				needs = "public"
			}
			if needs == "" {
				t.Errorf("%s %s: the document does not say what it takes", method, path)
			}
			all = append(all, operation{strings.ToUpper(method), path, o["operationId"].(string), needs})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}

// TestPermissionsAreDocumented: the router takes what the document says.
func TestPermissionsAreDocumented(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{})
	takes := map[string]string{}
	for _, r := range s.table() {
		takes[r.method+" "+r.pattern] = r.Permission().String()
	}
	all := operations(t)
	for _, o := range all {
		if takes[o.method+" "+o.path] != o.needs {
			t.Errorf("%s %s takes %q, the document says %q", o.method, o.path, takes[o.method+" "+o.path], o.needs)
		}
	}
	if len(all) != len(takes) {
		t.Errorf("%d routes, %d in the document", len(takes), len(all))
	}
}

// request makes an operation's request about a graph, one that is carried out where it may be.
func (o *operation) request(graph string) (target, body string) {
	target = strings.NewReplacer("{graph}", graph, "{accumulator}", "a", "{epoch}", "12", "{letter}", "l1",
		"{revision}", "2", "{file}", "main.js", "{page}", "codes", "{token}", "aaaaaaaaaaaa", "{member}", "m1",
		"{profile}", "goroutine").Replace(o.path)
	switch o.id {
	case "applyGraph":
		body = "graph: " + graph
	case "deleteGraph":
		target += "?state=keep"
	case "fire":
		body = `{"mode":"force"}`
	case "stopPart", "startPart", "skipLost":
		body = `{"accumulator":"a"}`
	case "reset":
		body = `{"confirm":"x"}`
	case "rewind":
		body = `{"confirm":"x","position":"start"}`
	case "pushEvents":
		body = "1"
	case "testDeclaration":
		body = `{"declaration":"graph: ` + graph + `","tests":"cases: []"}`
	case "completeDeclaration":
		body = `{"declaration":"graph: ` + graph + `","line":1,"column":1}`
	case "replayDeadLetters":
		body = `{"all":true}`
	case "discardDeadLetters":
		body = `{"ids":["l1"]}`
	case "setLogLevel":
		body = `{"level":"warn"}`
	case "agentMessage":
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_graphs","arguments":{}}}`
	case "createToken":
		body = `{"name":"x","role":"viewer"}`
	}
	return target, body
}

// ask sends an operation's request as a bearer, for a tenant.
func (o *operation) ask(t *testing.T, s *Server, b *bearer, tenant, graph string) *exchange {
	t.Helper()
	target, body := o.request(graph)
	req := httptest.NewRequestWithContext(t.Context(), o.method, target, strings.NewReader(body))
	b.show(req)
	if tenant != "" {
		req.Header.Set("Graphd-Tenant", tenant)
	}
	return send(t, s, req)
}

// TestEveryRoleOnEveryRoute: each route by each role, for graphs of its own, those it may not know of and
// those that are not there, in its own tenant, a foreign one and none: nothing is crossed, and what may
// not be known is answered as what is not there.
func TestEveryRoleOnEveryRoute(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, _, bearers := closedServer(t, w, w.metrics)
	for _, o := range operations(t) {
		for i := range bearers {
			b := &bearers[i]
			t.Run(o.method+" "+o.path+" by "+b.name, func(t *testing.T) { cross(t, w, s, &o, b) })
		}
	}
}

func cross(t *testing.T, w *world, s *Server, o *operation, b *bearer) {
	of := strings.Contains(o.path, "{graph}")
	own := ""
	if b.all {
		own = "acme"
	}
	w.asked()
	answers := func(tenant, graph string, status int, code string) *exchange {
		t.Helper()
		x := o.ask(t, s, b, tenant, graph)
		if x.status != status || x.code(t) != code {
			t.Errorf("tenant %q, graph %q: %d %s, want %d %s", tenant, graph, x.status, x.body, status, code)
		}
		return x
	}
	alike := func(x, y *exchange, xName, yName string) {
		t.Helper()
		same := strings.ReplaceAll(string(x.body), xName, yName)
		if x.status != y.status || same != string(y.body) {
			t.Errorf("%s is answered with %d %s, %s with %d %s", xName, x.status, x.body, yName, y.status, y.body)
		}
	}
	switch {
	case o.id == "finishLogin": // a page, for a browser that has begun no login
		if x := o.ask(t, s, b, "", ""); x.status != http.StatusUnauthorized {
			t.Errorf("got %d %s", x.status, x.body)
		}
	case o.needs == "public":
		status := http.StatusOK
		if o.id == "beginLogin" {
			status = http.StatusCreated
		}
		answers("", "mine_a", status, "")
	case b.role == access.NoRole:
		code := api.CodeInvalidToken
		if b.text == "" {
			code = api.CodeUnauthenticated
		}
		for _, tenant := range []string{"", "acme", "other", "nobody"} {
			x := answers(tenant, "mine_a", http.StatusUnauthorized, code)
			if x.header.Get("WWW-Authenticate") == "" {
				t.Error("a 401 says not what is asked for")
			}
		}
	case !b.may(o.needs):
		for _, graph := range []string{"mine_a", "mine_b", "theirs_a", "nowhat_a"} {
			answers(own, graph, http.StatusForbidden, api.CodeForbidden)
		}
	default:
		carried(t, o, b, own, o.ask(t, s, b, own, "mine_a"))
		if of {
			alike(o.ask(t, s, b, own, "theirs_a"), o.ask(t, s, b, own, "nowhat_a"), "theirs_a", "nowhat_a")
		}
		if of && len(b.scope.Graphs) > 0 {
			alike(o.ask(t, s, b, own, "mine_b"), o.ask(t, s, b, own, "nobo_b"), "mine_b", "nobo_b")
		}
	}
	if o.needs != "public" && b.role != access.NoRole && !b.all {
		foreign := answers("other", "theirs_a", http.StatusNotFound, api.CodeTenantNotFound)
		alike(foreign, answers("nobody", "theirs_a", http.StatusNotFound, api.CodeTenantNotFound), "other", "nobody")
	}
	for _, g := range w.asked() {
		if g.Tenant != "acme" || !b.scope.Sees(g.Name) || !b.may(o.needs) {
			t.Errorf("graph %v was reached", g)
		}
	}
}

// is says whether an answer of whoami tells who asks, and of what that may just what the routes let it.
func (b *bearer) is(t *testing.T, x *exchange) {
	t.Helper()
	var who api.WhoAmI
	if err := json.Unmarshal(x.body, &who); err != nil {
		t.Fatal(err)
	}
	var may []string
	for _, need := range []string{"read", "push", "operate", "author", "administer", "platform"} {
		if b.may(need) {
			may = append(may, need)
		}
	}
	if who.Role != b.role.String() || who.Tenant != "acme" || who.Subject == "" || who.Session ||
		who.ReadOnly != b.scope.Reading || !slices.Equal(who.Graphs, b.scope.Graphs) ||
		!slices.Equal(who.Permissions, may) {
		t.Errorf("%s is %s, and may %v", b.name, x.body, may)
	}
}

// carried says whether a request was carried out, and told nothing that the bearer may not know.
func carried(t *testing.T, o *operation, b *bearer, tenant string, x *exchange) {
	t.Helper()
	want := x.status < 300
	switch {
	case strings.HasPrefix(o.path, "/v1/ws/"):
		want = x.status == http.StatusUpgradeRequired // the test's request asks for no upgrade
	case o.id == "revokeToken":
		want = x.code(t) == api.CodeTokenNotFound
	}
	if !want {
		t.Errorf("tenant %q: got %d %s", tenant, x.status, x.body)
	}
	body := string(x.body)
	if !b.all && strings.Contains(body, "theirs") || !b.all && strings.Contains(body, `"used":1`) {
		t.Errorf("it tells of another tenant: %s", body)
	}
	if o.id == "whoAmI" {
		b.is(t, x)
	}
	if len(b.scope.Graphs) > 0 && strings.Contains(body, "mine_b") {
		t.Errorf("it tells of a graph that the token is not for: %s", body)
	}
	lists := []string{"listGraphs", "listMembers", "tree", "metrics"}
	if slices.Contains(lists, o.id) && !strings.Contains(body, "mine_a") {
		t.Errorf("it does not tell of the bearer's own: %s", body)
	}
}
