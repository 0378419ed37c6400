package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/gate"
)

func newServer(t testing.TB, ctl Control, cfg Config) *Server {
	t.Helper()
	if cfg.Gate == nil {
		cfg.Gate = gate.Open()
	}
	if cfg.LogLevel == nil {
		cfg.LogLevel = new(slog.LevelVar)
	}
	cfg.Hosts = append(cfg.Hosts, "example.com", "x", "graphd") // those of requests made by hand
	s, err := New(ctl, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exchange is a request and its answer, held against the document.
type exchange struct {
	status int
	header http.Header
	body   []byte
}

func (x *exchange) code(t *testing.T) string {
	t.Helper()
	if x.status < 400 {
		return ""
	}
	if got := x.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("a %d has the content type %q", x.status, got)
	}
	var p struct {
		Code   string
		Status int
		Type   string
		Title  string
		Detail string
	}
	if err := json.Unmarshal(x.body, &p); err != nil {
		t.Fatalf("problem: %v\n%s", err, x.body)
	}
	if p.Status != x.status || p.Type != "urn:graphd:problem:"+p.Code || p.Title == "" || p.Detail == "" {
		t.Errorf("status %d with the problem %s", x.status, x.body)
	}
	return p.Code
}

// do sends a request to s. headers are "Name: value".
func do(t *testing.T, s *Server, method, target string, body io.Reader, headers ...string) *exchange {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, target, body)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	return send(t, s, req)
}

// send is do for a request that is made already.
func send(t *testing.T, s *Server, req *http.Request) *exchange {
	t.Helper()
	x := exchangeOf(s, req)
	rctx := chi.NewRouteContext()
	if s.router.Match(rctx, req.Method, req.URL.Path) {
		loadDocument().checkAnswer(t, rctx.RoutePattern(), req.Method, x.status, x.header, x.body)
	}
	return x
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	const g = "/v1/graphs/g"
	tests := []struct {
		request string // method and target
		body    string
		headers []string
		status  int
		code    string
		call    string // what the control was last told
		has     string // something in the answer
	}{
		{request: "GET /livez", status: 200, has: `{"status":"ok"}`},
		{request: "GET /readyz", status: 200, has: "uptime_seconds"},
		{request: "GET /healthz", status: 200, has: "uptime_seconds"},
		{request: "GET /version", status: 200, has: `"version":"v1"`},
		{request: "GET /metrics", status: 404, code: "not_found"},
		{request: "GET /openapi.yaml", status: 200, has: "openapi: 3.1.0"},
		{request: "GET /v1/tree", status: 200, has: `"path":"graphd"`},
		{request: "GET /v1/tree?x=1", status: 400, code: "unknown_parameter"},
		{request: "GET /v1/limits", status: 200, has: `"name":"websocket_connections","limit":1024,"used":0`},
		{request: "GET /v1/graphs", status: 200, has: `"graph":"g"`},
		{request: "GET /v1/graphs", headers: []string{"Graphd-Tenant: other"}, status: 200, has: `{"items":[]}`},
		{request: "GET /v1/graphs", headers: []string{"Graphd-Tenant: Bad"}, status: 400, code: "invalid_tenant"},
		{request: "GET /v1/graphs", headers: []string{"Graphd-Tenant: a", "Graphd-Tenant: b"}, status: 400,
			code: "invalid_tenant"},

		{request: "GET " + g, status: 200, call: "graph", has: `"revision":3`},
		{request: "GET " + g, headers: []string{"Graphd-Tenant: other"}, status: 404, code: "graph_not_found"},
		{request: "GET " + g + "/accumulators/a?row=", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/accumulators/a?row=null", status: 400, code: "invalid_parameter"},
		{request: "GET /v1/graphs/none", status: 404, code: "graph_not_found"},
		{request: "GET /v1/graphs/No", status: 404, code: "graph_not_found"},
		{request: "PUT " + g, body: "graph: g", status: 200, has: `"changed":true`},
		{request: "PUT /v1/graphs/h", body: "graph: h", status: 201, has: `"created":true`},
		{request: "PUT /v1/graphs/h?dry_run=1", body: "graph: h", status: 200, has: `"diff":["+ node n"]`},
		{request: "PUT /v1/graphs/h?dryrun=1", body: "graph: h", status: 400, code: "unknown_parameter"},
		{request: "PUT /v1/graphs/h?dry_run=T", body: "graph: h", status: 400, code: "invalid_parameter"},
		{request: "PUT /v1/graphs/h?dry_run=maybe", body: "graph: h", status: 400, code: "invalid_parameter"},
		{request: "PUT /v1/graphs/h?dry_run=1&dry_run=0", body: "graph: h", status: 400, code: "invalid_parameter"},
		{request: "PUT /v1/graphs/h?%zz", body: "graph: h", status: 400, code: "invalid_parameter"},
		{request: "PUT /v1/graphs/H", body: "graph: h", status: 400, code: "invalid_name"},
		{request: "PUT " + g, body: " \n", status: 400, code: "invalid_body"},
		{
			request: "PUT " + g, body: "bad", status: 422, code: "declaration_invalid",
			has: `"errors":[{"line":3,"column":5,`,
		},
		{request: "PUT " + g, body: "graph: g", headers: []string{`If-Match: "3"`}, status: 200},
		{request: "PUT " + g, body: "", headers: []string{`If-Match: 3`}, status: 412, code: "revision_conflict"},
		{request: "PUT " + g, body: "x", headers: []string{`If-Match: "2"`}, status: 412, code: "revision_conflict"},
		{request: "PUT " + g, body: "graph: g", headers: []string{`If-Match: *`}, status: 200},
		{request: "PUT /v1/graphs/h", body: "graph: h", headers: []string{`If-Match: *`}, status: 412,
			code: "revision_conflict"},
		{request: "PUT " + g, body: "x", headers: []string{`If-None-Match: *`}, status: 412, code: "revision_conflict"},
		{request: "PUT " + g, headers: []string{`If-None-Match: 3`}, status: 412, code: "revision_conflict"},
		{request: "DELETE " + g, status: 400, code: "state_choice_required"},
		{request: "DELETE " + g + "?state=yes", status: 400, code: "state_choice_required"},
		{request: "DELETE " + g + "?state=keep", status: 204, call: "delete"},
		{request: "DELETE " + g + "?state=delete", status: 204, call: "delete state"},
		{request: "DELETE /v1/graphs/none?state=keep", status: 404, code: "graph_not_found"},

		{request: "GET " + g, headers: []string{"Accept: application/yaml"}, status: 200,
			has: "# mine\ngraph: g\n"},
		{request: "GET " + g, headers: []string{"Accept: text/html, application/yaml;q=0.9, */*;q=0.8"}, status: 200,
			has: "# mine"},
		{request: "GET " + g, headers: []string{"Accept: application/yaml;q=0.5, application/json"}, status: 200,
			has: `"revision":3`},
		{request: "GET " + g, headers: []string{"Accept: */*"}, status: 200, has: `"revision":3`},
		{request: "GET /v1/graphs/none", headers: []string{"Accept: text/yaml"}, status: 404,
			code: "graph_not_found"},
		{request: "GET " + g + "/revisions", status: 200, has: `"by":{"agent":"graphd/1","host":"127.0.0.1"}`},
		{request: "GET " + g + "/revisions?limit=1", status: 400, code: "unknown_parameter"},
		{request: "GET " + g + "/revisions/2", status: 200, has: `"declaration":"# mine\ngraph: g\n"`},
		{request: "GET " + g + "/revisions/2", headers: []string{"Accept: application/yaml"}, status: 200,
			has: "# mine"},
		{request: "GET " + g + "/revisions/4", status: 404, code: "revision_not_found"},
		{request: "GET " + g + "/revisions/0", status: 400, code: "invalid_parameter"},
		{request: "POST " + g + "/rollback", headers: []string{"User-Agent: ops"}, status: 200, has: `"restored":2`,
			call: "rollback 0 if 0 dry false by ops@192.0.2.1"},
		{request: "POST " + g + "/rollback", body: `{"revision":1,"dry_run":true}`, headers: []string{`If-Match: "3"`},
			status: 200, has: `"dry_run":true`, call: "rollback 1 if 3 dry true by @192.0.2.1"},
		{request: "POST " + g + "/rollback", body: `{"revision":0}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/rollback", body: `{"revison":1}`, status: 400, code: "invalid_body"},
		{request: "POST /v1/graphs/none/rollback", status: 404, code: "graph_not_found"},

		{request: "GET " + g + "/plan", status: 200, has: "nodes"},
		{request: "GET " + g + "/state", status: 200, call: "state "},
		{request: "GET " + g + "/state?key=AAPL", status: 200, call: `state "AAPL"`},
		{request: "GET " + g + "/state?key=%22AAPL%22", status: 200, call: `state "AAPL"`},
		{request: "GET " + g + "/state?key=[%22AAPL%22,+3]", status: 200, call: `state ["AAPL",3]`},
		{request: "GET " + g + "/state?key=" + strings.Repeat("k", 2000), status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings", status: 200, call: `firings {"Limit":0,"Before":"","Key":"","Shard":null}`,
			has: `"next":"12"`},
		{
			request: "GET " + g + "/firings?limit=7&before=99&key=K", status: 200,
			call: `firings {"Limit":7,"Before":"99","Key":"\"K\"","Shard":null}`,
		},
		{request: "GET " + g + "/firings", status: 200, has: `"o":"<b>"`}, // no HTML escapes
		{request: "GET " + g + "/firings?limit=0", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings?limit=1001", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings?limit=", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings?limit=x", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings?before=" + strings.Repeat("9", 25000), status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings/12", status: 200, has: `"cut":{"a":{"taken":true,"events":1,`},
		{request: "GET " + g + "/firings/13", status: 404, code: "firing_not_found"},
		{request: "GET " + g + "/firings/x", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings/-1", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/firings/99999999999999999999", status: 400, code: "invalid_parameter"},
		{request: "GET " + g + "/recovery-events?limit=1", status: 200, has: `"component":"reactor"`},
		{request: "GET " + g + "/recovery-events?key=1", status: 400, code: "unknown_parameter"},
		{request: "GET " + g + "/dead-letters", status: 200, has: `"payload":{"x":1},"payload_encoding":"json"`},
		{request: "GET " + g + "/dead-letters", status: 200, has: `"payload":"{\"x","payload_encoding":"text"`},
		{request: "GET " + g + "/dead-letters", status: 200, has: `"payload":"//4=","payload_encoding":"base64"`},
		{request: "POST " + g + "/dead-letters/l1/replay", status: 200, has: `"accepted":1`},
		{request: "POST " + g + "/dead-letters/l2/replay", status: 404, code: "dead_letter_not_found"},
		{request: "DELETE " + g + "/dead-letters/l1", status: 204},
		{request: "DELETE " + g + "/dead-letters/" + strings.Repeat("l", 200), status: 404,
			code: "dead_letter_not_found"},

		{request: "POST " + g + "/fire", body: `{"mode":"force"}`, status: 200, call: `fire {"mode":"force"}`,
			has: `"cause":"force"`},
		{request: "POST " + g + "/fire", body: `{"mode":"with","cache":{"a":{"x":1}},"replace":false}`, status: 200,
			call: `fire {"mode":"with","cache":{"a":{"x":1}},"replace":false}`},
		{request: "POST " + g + "/fire", status: 400, code: "invalid_body"},
		{request: "POST " + g + "/fire", body: `{"mode":"with"}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/fire", body: `{"mode":"force","cache":{"a":1}}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/fire", body: `{"mode":"now"}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/fire", body: `{"mode":"force","x":1}`, status: 400, code: "invalid_body"},
		{request: "POST " + g + "/fire", body: `{"mode":"force","mode":"with"}`, status: 400, code: "duplicate_key"},
		{request: "POST " + g + "/fire", body: `["force"]`, status: 400, code: "invalid_body"},
		{request: "POST " + g + "/fire", body: `{"mode":1}`, status: 400, code: "invalid_body"},
		{request: "POST " + g + "/fire", body: `{"mode":`, status: 400, code: "invalid_json"},
		{request: "POST " + g + "/fire?x=1", body: `{"mode":"force"}`, status: 400, code: "unknown_parameter"},
		{request: "POST " + g + "/pause", status: 200, call: "pause anonymous@192.0.2.1", has: `"paused":true`},
		{request: "POST " + g + "/pause", body: `{}`, status: 200},
		{request: "POST " + g + "/pause", body: `{"x":1}`, status: 400, code: "invalid_body"},
		{request: "POST " + g + "/resume", status: 200, call: "resume anonymous@192.0.2.1"},
		{request: "POST " + g + "/step", status: 200, call: "step 1"},
		{request: "POST " + g + "/step", body: `{"n":3}`, status: 200, call: "step 3"},
		{request: "POST " + g + "/step", body: `{"n":0}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/step", body: `{"n":1.5}`, status: 400, code: "invalid_body"},
		{request: "POST " + g + "/checkpoint", status: 200, call: "checkpoint", has: `{"checkpoint_epoch":12}`},
		{request: "POST " + g + "/drain", status: 200, call: "drain"},
		{request: "POST " + g + "/restart", status: 200, call: "restart "},
		{request: "POST " + g + "/restart", body: `{"accumulator":null}`, status: 200, call: "restart "},
		{request: "POST " + g + "/restart", body: `{"accumulator":"a"}`, status: 200, call: "restart a"},
		{request: "POST " + g + "/restart", body: `{"accumulator":"A"}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/stop", body: `{"accumulator":"a"}`, status: 200, call: "stop a/"},
		{request: "POST " + g + "/stop", body: `{"output":"o"}`, status: 200, call: "stop /o"},
		{request: "POST " + g + "/start", body: `{"output":"o","accumulator":null}`, status: 200, call: "start /o"},
		{request: "POST " + g + "/start", body: `{"accumulator":"a"}`, status: 200, call: "start a/"},
		{request: "POST " + g + "/stop", status: 422, code: "invalid_body"},
		{request: "POST " + g + "/stop", body: `{"accumulator":"a","output":"o"}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/stop", body: `{"accumulator":"A"}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/start", body: `{"output":"O"}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/start", body: `{"input":"a"}`, status: 400, code: "invalid_body"},
		{request: "POST /v1/graphs/none/stop", body: `{"output":"o"}`, status: 404, code: "graph_not_found"},
		{request: "POST " + g + "/skip-lost", body: `{"accumulator":"a"}`, status: 200, call: "skip a"},
		{request: "POST " + g + "/skip-lost", status: 422, code: "invalid_body"},
		{request: "POST " + g + "/reset", body: `{"confirm":"g"}`, status: 200, call: "reset g"},
		{request: "POST " + g + "/accumulators/a/rewind", body: `{"position":"start","confirm":"g"}`, status: 200,
			call: "rewind a start g"},
		{request: "POST " + g + "/accumulators/a/rewind", body: `{"confirm":"g"}`, status: 422, code: "invalid_body"},
		{request: "POST " + g + "/accumulators/b/rewind", body: `{"position":"start","confirm":"g"}`, status: 404,
			code: "accumulator_not_found"},
		{request: "POST /v1/graphs/none/pause", status: 404, code: "graph_not_found"},

		{request: "GET " + g + "/accumulators", status: 200, has: `"name":"a"`},
		{request: "GET " + g + "/accumulators/a", status: 200, has: `"boundary_type":"any"`},
		{request: "GET " + g + "/accumulators/b", status: 404, code: "accumulator_not_found", has: `"declared":["a"]`},
		{request: "GET " + g + "/accumulators/B!", status: 404, code: "accumulator_not_found"},

		{request: "GET /v1/ws/events", status: 426, code: "upgrade_required"},
		{request: "GET /v1/ws/graphs/none/reactor", status: 404, code: "graph_not_found"},
		{request: "GET /v1/ws/graphs/g/accumulators/b", status: 404, code: "accumulator_not_found"},

		{request: "GET /", status: 200, has: "<title>graphd</title>"},
		{request: "GET /graphs", status: 404, code: "not_found", has: "put /v1 before it"},
		{request: "GET /v1/graphs/", status: 404, code: "not_found", has: "leave the last slash out"},
		{request: "GET /v1/jobs", status: 404, code: "not_found", has: "does not have it yet"},
		{request: "POST /v1/tenants/x", status: 404, code: "not_found", has: "does not have it yet"},
		{request: "GET /v1/nonsense", status: 404, code: "not_found", has: "/openapi.yaml"},
		{request: "GET " + g + "%2Fplan", status: 404, code: "graph_not_found"},
		{request: "POST " + g, status: 405, code: "method_not_allowed"},
		{request: "GET " + g + "/fire", status: 405, code: "method_not_allowed"},
		{request: "OPTIONS /v1/graphs", status: 405, code: "method_not_allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.request, func(t *testing.T) {
			t.Parallel()
			ctl := newFake()
			s := newServer(t, ctl, Config{Version: api.Version{Version: "v1"}})
			method, target, _ := strings.Cut(tt.request, " ")
			x := do(t, s, method, target, strings.NewReader(tt.body), tt.headers...)
			if x.status != tt.status || x.code(t) != tt.code {
				t.Errorf("got %d %s, want %d %s\n%s", x.status, x.code(t), tt.status, tt.code, x.body)
			}
			if !strings.Contains(string(x.body), tt.has) {
				t.Errorf("the answer lacks %s:\n%s", tt.has, x.body)
			}
			_, calls, _ := ctl.seen()
			if tt.call != "" && (len(calls) == 0 || calls[len(calls)-1] != tt.call) {
				t.Errorf("the control was told %q, want %q", calls, tt.call)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{Metrics: func(func(_, _ string) bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "graphd_x 1\n")
		})
	}})
	if got := do(t, s, "GET", "/v1/graphs/g", nil).header.Get("ETag"); got != `"3"` {
		t.Errorf("GET: ETag %q", got)
	}
	if got := do(t, s, "PUT", "/v1/graphs/g", strings.NewReader("graph: g")).header.Get("ETag"); got != `"4"` {
		t.Errorf("PUT: ETag %q", got)
	}
	if got := do(t, s, "PUT", "/v1/graphs/g?dry_run=1", strings.NewReader("graph: g")).header.Get("ETag"); got != "" {
		t.Errorf("a dry run has the ETag %q", got)
	}
	if got := do(t, s, "PATCH", "/v1/graphs/g", nil).header.Get("Allow"); got != "GET, HEAD, PUT, DELETE" {
		t.Errorf("Allow %q", got)
	}
	if x := do(t, s, "HEAD", "/v1/graphs/g", nil); x.status != 200 || x.header.Get("ETag") != `"3"` {
		t.Errorf("HEAD: %d %v", x.status, x.header)
	}
	if x := do(t, s, "GET", "/metrics", nil); x.status != 200 || string(x.body) != "graphd_x 1\n" {
		t.Errorf("metrics: %d %s", x.status, x.body)
	}
}

// TestEngineFailures: a refusal passes as it is, everything else is a 500 that tells nothing.
func TestEngineFailures(t *testing.T) {
	t.Parallel()
	ctl := newFake()
	var log bytes.Buffer
	s := newServer(t, ctl, Config{Log: textLog(&log)})
	ctl.fail = &api.Error{
		Status: 409, Code: "state_forbids", Detail: "not now", Extra: map[string]any{
			"declared": []string{"a"}, "code": "no", "bad": func() {},
		},
	}
	x := do(t, s, "POST", "/v1/graphs/g/pause", nil)
	if want := `{"type":"urn:graphd:problem:state_forbids","title":"Conflict","status":409,"code":"state_forbids",` +
		`"detail":"not now","bad":null,"declared":["a"]}`; string(x.body) != want {
		t.Errorf("got  %s\nwant %s", x.body, want)
	}
	ctl.fail = errors.New("the password is hunter2")
	x = do(t, s, "POST", "/v1/graphs/g/step", nil)
	if x.status != 500 || x.code(t) != "internal" || bytes.Contains(x.body, []byte("hunter2")) {
		t.Errorf("got %d %s", x.status, x.body)
	}
	var p struct{ Instance string }
	if err := json.Unmarshal(x.body, &p); err != nil || p.Instance == "" ||
		!strings.Contains(log.String(), p.Instance) || !strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log does not have the failure under its instance %q:\n%s", p.Instance, &log)
	}
	for _, err := range []error{checkpoint.ErrUnreachable, checkpoint.ErrSlow} {
		ctl.fail = fmt.Errorf("read from hunter2: %w: %w", err, context.DeadlineExceeded)
		x = do(t, s, "POST", "/v1/graphs/g/step", nil)
		if x.status != 503 || x.code(t) != "store_unreachable" || bytes.Contains(x.body, []byte("hunter2")) {
			t.Errorf("%v: got %d %s", err, x.status, x.body)
		}
	}
	ctl.fail = &api.Error{Status: 200, Code: "not_ready", Detail: "not an error status"}
	if x = do(t, s, "POST", "/v1/graphs/g/drain", nil); x.status != 500 {
		t.Errorf("a refusal without an error status answers %d", x.status)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	ctl := newFake()
	s := newServer(t, ctl, Config{})
	ctl.ready = errors.New("the store does not answer")
	if x := do(t, s, "GET", "/readyz", nil); x.status != 503 || x.code(t) != "not_ready" ||
		x.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", x.status, x.body)
	}
	if x := do(t, s, "GET", "/livez", nil); x.status != 200 {
		t.Errorf("livez answers %d while not ready", x.status)
	}
	ctl.ready = nil
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x := do(t, s, "GET", "/healthz", nil); x.status != 503 || x.code(t) != "shutting_down" {
		t.Errorf("got %d %s after shutdown", x.status, x.body)
	}
}

func exchangeOf(h http.Handler, req *http.Request) *exchange {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return &exchange{w.Code, w.Header(), w.Body.Bytes()}
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
