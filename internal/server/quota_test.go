package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// bounded is a server over an engine, both with quotas.
func bounded(t *testing.T, limits map[string]quota.Limits) *Server {
	t.Helper()
	book := quota.NewBook(limits)
	e := engine.New(engine.Config{Store: memory.New(), Kinds: &builtin.Kinds{Stdout: stdout.NewOutput(io.Discard)},
		Log: textLog(io.Discard), Quotas: book})
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return newServer(t, e, Config{Quotas: book, PushTimeout: 3 * time.Second})
}

// ofTenant is a request of a tenant, held against the document.
func ofTenant(t *testing.T, s *Server, tenant, request, body string) *exchange {
	t.Helper()
	method, target, _ := strings.Cut(request, " ")
	req := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	req.Header.Set("Graphd-Tenant", tenant)
	return send(t, s, req)
}

// TestQuotas: graphs, sockets and events beyond a tenant's quota are refused with what is exceeded, counted and shown;
// nothing is lost of what was not told to be refused; and another tenant is as it was (A11).
func TestQuotas(t *testing.T) {
	t.Parallel()
	s := bounded(t, map[string]quota.Limits{"acme": {Graphs: 2, Sockets: 1, EventsPerSecond: 50}})
	doc := "graph: %s\naccumulators: { a: {} }\nreactor: { strategy: sequential }\n" +
		"outputs: { o: { from: a, sink: { drop: {} } } }\n"
	want := func(x *exchange, status int, code string) *exchange {
		t.Helper()
		if x.status != status || x.code(t) != code {
			t.Errorf("got %d %s, want %d %s", x.status, x.body, status, code)
		}
		return x
	}
	for _, tenant := range []string{"acme", "beta"} {
		for _, name := range []string{"one", "two"} {
			want(ofTenant(t, s, tenant, "PUT /v1/graphs/"+name, fmt.Sprintf(doc, name)), 201, "")
		}
		want(ofTenant(t, s, tenant, "PUT /v1/graphs/one", fmt.Sprintf(doc, "one")), 200, "")
	}
	x := want(ofTenant(t, s, "acme", "PUT /v1/graphs/three", fmt.Sprintf(doc, "three")), 409, "quota_exceeded")
	if !strings.Contains(string(x.body), `"limit":2,"quota":"graphs","used":2`) {
		t.Errorf("which, how much and how much may be: %s", x.body)
	}
	want(ofTenant(t, s, "acme", "PUT /v1/graphs/three?dry_run=1", fmt.Sprintf(doc, "three")), 409, "quota_exceeded")
	want(ofTenant(t, s, "beta", "PUT /v1/graphs/three", fmt.Sprintf(doc, "three")), 201, "")
	want(ofTenant(t, s, "acme", "DELETE /v1/graphs/two?state=delete", ""), 204, "")
	want(ofTenant(t, s, "acme", "PUT /v1/graphs/three", fmt.Sprintf(doc, "three")), 201, "")

	// Events: a second's worth is taken at once, the next as there is room, and the rest is told when.
	push := func(tenant string, events int) (accepted int) {
		t.Helper()
		x := ofTenant(t, s, tenant, "POST /v1/graphs/one/accumulators/a/events",
			"["+strings.Repeat("1,", events-1)+"1]")
		switch code := x.code(t); {
		case tenant != "acme":
			want(x, 200, "")
		case code != "queue_full": // its time may end behind the quota, too
			want(x, 429, "quota_exceeded")
		}
		var told struct {
			Accepted int
			Next     int `json:"next_index"`
		}
		if err := json.Unmarshal(x.body, &told); err != nil || tenant == "acme" &&
			(told.Next != told.Accepted || x.header.Get("Retry-After") == "") {
			t.Errorf("%s (%v)", x.body, err)
		}
		return told.Accepted
	}
	first := push("acme", 2000)
	if first < 50 || first > 1000 {
		t.Errorf("%d were taken at once where 50 may be", first)
	}
	taken := int64(first + push("acme", 12500)) // more than go to the engine at once
	push("beta", 200)
	var sum struct{ Counters api.Counters }
	for until := time.Now().Add(time.Minute); sum.Counters.Received != 14500 ||
		sum.Counters.Rejected != 14500-taken; {
		if err := json.Unmarshal(ofTenant(t, s, "acme", "GET /v1/graphs/one", "").body, &sum); err != nil ||
			time.Now().After(until) {
			t.Fatalf("the books have %+v of %d that were taken (%v)", sum.Counters, taken, err)
		}
	}

	// Sockets.
	url := serve(t, s) + "/v1/ws/events"
	dial := func(tenant string) (status int) {
		t.Helper()
		ws, res, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: []string{api.Subprotocol},
			HTTPClient: narrowClient, HTTPHeader: http.Header{"Graphd-Tenant": {tenant}}})
		if err == nil {
			t.Cleanup(func() { _ = ws.CloseNow() })
		} else if res == nil {
			t.Fatal(err)
		} else if res.Header.Get("Retry-After") == "" {
			t.Errorf("%d does not say when to come again: %v", res.StatusCode, res.Header)
		}
		return res.StatusCode
	}
	got := []int{dial("acme"), dial("acme"), dial("beta"), dial("beta")}
	if fmt.Sprint(got) != "[101 429 101 101]" {
		t.Errorf("sockets: %v", got)
	}
	shown := string(ofTenant(t, s, "acme", "GET /v1/limits", "").body)
	for _, line := range []string{`"quota_graphs","limit":2,"used":2`, `"quota_websockets","limit":1,"used":1`,
		`"quota_events_per_second","limit":50`} {
		if !strings.Contains(shown, line) {
			t.Errorf("limits do not show %s: %s", line, shown)
		}
	}
	if shown := string(ofTenant(t, s, "beta", "GET /v1/limits", "").body); strings.Contains(shown, "quota_") {
		t.Errorf("a tenant without quotas is shown some: %s", shown)
	}
}
