package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/agents"
)

// withHeaders sends every request with some headers.
type withHeaders struct {
	http.RoundTripper
	of http.Header
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.of)
	return w.RoundTripper.RoundTrip(r)
}

// agentOf is an agent of the protocol's own client at a server, with headers "Name: value".
func agentOf(t *testing.T, s http.Handler, headers ...string) *mcp.ClientSession {
	t.Helper()
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	h := http.Header{}
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		h.Set(name, value)
	}
	as := &http.Client{Transport: withHeaders{at.Client().Transport, h}}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: at.URL + "/mcp", HTTPClient: as}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// called is what a tool answered; code is that of a refusal.
func called(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (text, code string) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for _, part := range r.Content {
		text += part.(*mcp.TextContent).Text
	}
	if r.IsError {
		var p struct{ Code string }
		if err := json.Unmarshal([]byte(text), &p); err != nil || p.Code == "" {
			t.Fatalf("%s: a refusal without a code: %s", tool, text)
		}
		code = p.Code
	}
	return text, code
}

func names(t *testing.T, c *mcp.ClientSession) (all []string) {
	t.Helper()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
	}
	return all
}

// TestToolsDoWhatTheirRoutesDo: each tool, through the protocol's own client, reaches the route behind it with all that
// it was given, and answers what that answers.
func TestToolsDoWhatTheirRoutesDo(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := agentOf(t, newServer(t, f, Config{Agents: agents.Write}))
	type args = map[string]any
	seen := map[string]bool{}
	for _, tt := range []struct {
		tool string
		args args
		call string // what the control was told; "" where nothing is told to it
		has  string
	}{
		{"list_graphs", args{}, "", `"items":[{"graph":"g","health":"live"`},
		{"list_graphs", args{"match": "x*"}, "", `{"items":[],"graphs":0}`},
		{"list_graphs", args{"health": "failed"}, "", `{"items":[],"graphs":0}`},
		{"describe_graph", args{"graph": "g"}, "", `"revision":3`},
		{"why", args{"graph": "g", "epoch": 12}, "", `"epoch":12`},
		{"why_not", args{"graph": "g", "output": "o", "since": "10m"}, "", `"graph":"g"`},
		{"list_firings", args{"graph": "g", "key": "k"}, "", `"cause":"criteria"`},
		{"get_firing", args{"graph": "g", "epoch": 12}, "", `"epoch":12`},
		{"get_state", args{"graph": "g"}, "", `"cache"`},
		{"list_keys", args{"graph": "g", "search": "k", "sort": "key"}, "", `"waiting":2`},
		{"get_accumulator", args{"graph": "g", "accumulator": "a"}, "", `"name":"a"`},
		{"list_dead_letters", args{"graph": "g", "code": "bad_value"}, "", `"items"`},
		{"list_recovery_events", args{"graph": "g"}, "", `"items"`},
		{"get_plan", args{"graph": "g"}, "", `{`},
		{"get_declaration", args{"graph": "g"}, "", `graph:`},
		{"list_revisions", args{"graph": "g"}, "", `"items"`},
		{"get_revision", args{"graph": "g", "revision": 2}, "", `graph`},
		{"get_limits", args{}, "", `"items"`},
		{"validate_declaration", args{"graph": "g", "declaration": "graph: g"}, "", `"dry_run":true`},
		{"push_events", args{"graph": "g", "accumulator": "a", "events": []any{1, args{"x": 2}}}, "", `"accepted":2`},
		{"push_events", args{"graph": "g", "accumulator": "a", "events": 7, "idempotency_key": "k1"}, "",
			`"accepted":1`},
		{"push_events", args{"graph": "g", "accumulator": "a", "events": 7, "idempotency_key": "k1"}, "",
			`"accepted":1`},
		{"test_declaration", args{"graph": "new", "declaration": "graph: new", "tests": "cases: []",
			"set": args{"v": 1}}, "test graph: new by cases: [] with map[v:1]", `is 2, expected 3`},
		{"fire_graph", args{"graph": "g", "mode": "with", "cache": args{"a": 5}, "replace": false}, "fire", `"epoch"`},
		{"pause_graph", args{"graph": "g"}, "pause", `"graph":"g"`},
		{"resume_graph", args{"graph": "g"}, "resume", `"graph":"g"`},
		{"step_graph", args{"graph": "g", "n": 3}, "step 3", `"graph":"g"`},
		{"checkpoint_graph", args{"graph": "g"}, "checkpoint", `"checkpoint_epoch"`},
		{"drain_graph", args{"graph": "g"}, "drain", `"graph":"g"`},
		{"restart_graph", args{"graph": "g", "accumulator": "a"}, "restart a", `"graph":"g"`},
		{"stop_part", args{"graph": "g", "output": "o"}, "stop", `"graph":"g"`},
		{"start_part", args{"graph": "g", "accumulator": "a"}, "start", `"graph":"g"`},
		{"replay_dead_letters", args{"graph": "g", "ids": []string{"l1"}, "preview": true}, "", `"letters"`},
		{"discard_dead_letters", args{"graph": "g", "all": true, "limit": 5}, "", `"letters"`},
		{"apply_declaration", args{"graph": "g", "declaration": "graph: g", "if_revision": 3,
			"set": args{"v": 1}}, "", `"revision"`},
		{"roll_back", args{"graph": "g", "revision": 2}, "rollback", `"revision"`},
		{"rewind_accumulator", args{"graph": "g", "accumulator": "a", "position": "start", "confirm": "g"}, "rewind a",
			`"graph":"g"`},
		{"reset_graph", args{"graph": "g", "confirm": "g"}, "reset", `"graph":"g"`},
		{"skip_lost", args{"graph": "g", "accumulator": "a"}, "skip", `"revision"`},
		{"delete_graph", args{"graph": "g", "state": "keep"}, "delete", `{"done":true}`},
	} {
		seen[tt.tool] = true
		_, before, _ := f.seen()
		text, code := called(t, c, tt.tool, tt.args)
		_, after, _ := f.seen()
		if code != "" || !strings.Contains(text, tt.has) {
			t.Errorf("%s: got %s %s, want %s", tt.tool, code, text, tt.has)
		}
		if got := strings.Join(after[len(before):], "; "); !strings.Contains(got, tt.call) {
			t.Errorf("%s: the graph was told %q, want %q", tt.tool, got, tt.call)
		}
	}
	for _, name := range names(t, c) {
		if !seen[name] {
			t.Errorf("%s is tried nowhere", name)
		}
	}
	if events, _, _ := f.seen(); !slices.Equal(events, []string{"1", `{"x":2}`, "7"}) {
		t.Errorf("the events are %q, and what is sent again under a key is taken once", events)
	}
}

// TestToolsRefuseAsRoutesDo: what a route refuses is the tool's error, in the same form, and what a call has wrong is
// told before anything is asked.
func TestToolsRefuseAsRoutesDo(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{Agents: agents.Read})
	c := agentOf(t, s)
	type args = map[string]any
	for _, tt := range []struct {
		tool string
		args args
		code string
	}{
		{"describe_graph", args{"graph": "nothing"}, api.CodeGraphNotFound},
		{"describe_graph", args{"graph": "../../version"}, api.CodeGraphNotFound},
		{"describe_graph", args{"graph": ".."}, api.CodeInvalidParameter},
		{"describe_graph", args{}, api.CodeInvalidParameter},
		{"describe_graph", args{"graph": 7}, api.CodeInvalidParameter},
		{"describe_graph", args{"graph": "g", "shard": "one"}, api.CodeInvalidParameter},
		{"describe_graph", args{"graph": "g", "key": "k"}, api.CodeUnknownParameter},
		{"get_accumulator", args{"graph": "g", "accumulator": "b"}, api.CodeAccumulatorNotFound},
		{"list_firings", args{"graph": "g", "limit": 5000}, api.CodeInvalidParameter},
		{"why", args{"graph": "g", "epoch": 1, "key": "k"}, api.CodeInvalidParameter},
		{"validate_declaration", args{"graph": "g", "declaration": "bad"}, api.CodeDeclarationInvalid},
		{"pause_graph", args{"graph": "g"}, api.CodeForbidden},
	} {
		if text, code := called(t, c, tt.tool, tt.args); code != tt.code {
			t.Errorf("%s of %v: got %s, want %s", tt.tool, tt.args, text, tt.code)
		}
	}
	if text, _ := called(t, c, "validate_declaration", args{"graph": "g",
		"declaration": "bad"}); !strings.Contains(text,
		`"line":3`) || !strings.Contains(text, `"line":4`) {
		t.Errorf("not every mistake is told: %s", text)
	}
	asked := do(t, s, "GET", "/v1/graphs/nothing", nil)
	if text, _ := called(t, c, "describe_graph", args{"graph": "nothing"}); text != string(asked.body) {
		t.Errorf("the tool says %s, the route %s", text, asked.body)
	}
}

// TestAgentsAreWhoTheyAre: an agent has what its token has, in its tenant, and is listed the tools that it may use;
// what
// it may not do is refused, and stands in the audit, as over REST.
func TestAgentsAreWhoTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s, _, bearers := closedServer(t, w, w.metrics)
	reading := 0
	for i := range bearers {
		b := &bearers[i]
		if b.text == "" || b.role == access.NoRole || b.all {
			continue
		}
		c := agentOf(t, s, "Authorization: Bearer "+b.text)
		all := names(t, c)
		for tool, needs := range map[string]string{"why": "read", "push_events": "push", "pause_graph": "operate",
			"apply_declaration": "author", "validate_declaration": "author"} {
			if slices.Contains(all, tool) != b.may(needs) {
				t.Errorf("%s is listed %s: %v", b.name, tool, !b.may(needs))
			}
		}
		w.asked()
		text, code := called(t, c, "pause_graph", map[string]any{"graph": "mine_a"})
		if (code == "") != b.may("operate") || code != "" && code != api.CodeForbidden {
			t.Errorf("%s pauses: %s", b.name, text)
		}
		if touched := w.asked(); len(touched) > 0 != b.may("operate") {
			t.Errorf("%s reaches %v", b.name, touched)
		}
		want := api.CodeGraphNotFound
		if !b.may("read") {
			want = api.CodeForbidden
		}
		if _, code := called(t, c, "describe_graph", map[string]any{"graph": "theirs_a"}); code != want {
			t.Errorf("%s finds another tenant's graph: %s", b.name, code)
		}
		reading++
	}
	if reading < 5 {
		t.Fatalf("only %d bearers were tried", reading)
	}
	for _, header := range []string{"", "Authorization: Bearer gd_nothing"} {
		var more []string
		if header != "" {
			more = []string{header}
		}
		x := do(t, s, "POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), more...)
		if x.status != http.StatusUnauthorized {
			t.Errorf("with %q: %d %s", header, x.status, x.body)
		}
	}
	s.cfg.Trail.Close(t.Context()) // denials are written some at a time
	admin := slices.IndexFunc(bearers, func(b bearer) bool { return b.role == access.TenantAdmin && b.text != "" })
	x := do(t, s, "GET", "/v1/audit?limit=1000", nil, "Authorization: Bearer "+bearers[admin].text)
	if !strings.Contains(string(x.body), `POST /v1/graphs/{graph}/pause`) ||
		!strings.Contains(string(x.body), `"pause"`) {
		t.Error("the audit does not have what agents were denied and did")
	}
}
