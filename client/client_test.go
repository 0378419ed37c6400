package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) {
	leaks.Main(m, http.DefaultTransport.(*http.Transport).CloseIdleConnections)
}

// recorder answers every request with the same and remembers the last.
type recorder struct {
	mu      sync.Mutex
	request string
	status  int
	answer  string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.request = fmt.Sprint(req.Method, " ", req.URL.RequestURI())
	for _, h := range []string{"Graphd-Tenant", "If-Match", "Idempotency-Key", "Accept", "Content-Type"} {
		if v := req.Header.Get(h); v != "" {
			r.request += " " + h + ":" + v
		}
	}
	if len(body) > 0 {
		r.request += " " + string(body)
	}
	w.WriteHeader(max(r.status, 200))
	_, _ = io.WriteString(w, r.answer)
}

func newClient(t *testing.T, h http.Handler, tenant string) *Client {
	t.Helper()
	ts := httptest.NewServer(h)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		ts.Close()
	})
	c, err := New(Config{BaseURL: ts.URL + "/", Tenant: tenant})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRoutes: every method sends the request it stands for, and every route of the document has a method.
func TestRoutes(t *testing.T) {
	t.Parallel()
	r := &recorder{answer: "{}"}
	c := newClient(t, r, "acme")
	ctx := t.Context()
	only := func(_ any, err error) error { return err }
	tests := []sent{
		{"livez", "GET /livez", func() error { return only(c.Live(ctx)) }},
		{"readyz", "GET /readyz", func() error { return only(c.Ready(ctx)) }},
		{"healthz", "GET /healthz", func() error { return only(c.Health(ctx)) }},
		{"version", "GET /version", func() error { return only(c.Version(ctx)) }},
		{"metrics", "GET /metrics", func() error { return only(c.Metrics(ctx)) }},
		{"openapi", "GET /openapi.yaml", func() error { return only(c.OpenAPI(ctx)) }},
		{"tree", "GET /v1/tree", func() error { return only(c.Tree(ctx)) }},
		{"limits", "GET /v1/limits", func() error { return only(c.Limits(ctx)) }},
		{"listGraphs", "GET /v1/graphs", func() error { return only(c.Graphs(ctx)) }},
		{"getGraph", "GET /v1/graphs/g", func() error { return only(c.Graph(ctx, "g")) }},
		{"getGraph", "GET /v1/graphs/a%2Fb", func() error { return only(c.Graph(ctx, "a/b")) }},
		{"applyGraph", "PUT /v1/graphs/g Content-Type:application/yaml graph: g", func() error {
			return only(c.Apply(ctx, "g", []byte("graph: g"), 0, false))
		}},
		{"applyGraph", `PUT /v1/graphs/g?dry_run=1 If-Match:"3" Content-Type:application/yaml graph: g`, func() error {
			return only(c.Apply(ctx, "g", []byte("graph: g"), 3, true))
		}},
		{"getGraph", "GET /v1/graphs/g Accept:application/yaml", func() error { return only(c.Declaration(ctx, "g")) }},
		{"listRevisions", "GET /v1/graphs/g/revisions", func() error { return only(c.Revisions(ctx, "g")) }},
		{"getRevision", "GET /v1/graphs/g/revisions/7", func() error { return only(c.Revision(ctx, "g", 7)) }},
		{"testDeclaration", `POST /v1/graphs/g/test Content-Type:application/json ` +
			`{"declaration":"graph: g","tests":"cases: []","set":{"v":2}}`, func() error {
			return only(c.Test(ctx, "g", []byte("graph: g"), []byte("cases: []"), map[string]any{"v": 2}))
		}},
		{"completeDeclaration", `POST /v1/graphs/g/complete Content-Type:application/json ` +
			`{"declaration":"graph: g\n","line":2,"column":1}`, func() error {
			return only(c.Complete(ctx, "g", []byte("graph: g\n"), 2, 1))
		}},
		{"rollback", "POST /v1/graphs/g/rollback Content-Type:application/json {}", func() error {
			return only(c.Rollback(ctx, "g", 0, false))
		}},
		{"rollback", `POST /v1/graphs/g/rollback Content-Type:application/json {"dry_run":true,"revision":7}`,
			func() error { return only(c.Rollback(ctx, "g", 7, true)) }},
		{"deleteGraph", "DELETE /v1/graphs/g?state=delete", func() error { return c.Delete(ctx, "g", true) }},
		{"getPlan", "GET /v1/graphs/g/plan", func() error { return only(c.Plan(ctx, "g")) }},
		{"getState", "GET /v1/graphs/g/state", func() error { return only(c.State(ctx, "g", "")) }},
		{"getState", "GET /v1/graphs/g/state?key=a%26b", func() error { return only(c.State(ctx, "g", "a&b")) }},
		{"listFirings", "GET /v1/graphs/g/firings?before=9&key=k&limit=5", func() error {
			return only(c.Firings(ctx, "g", api.Query{Limit: 5, Before: "9", Key: "k"}))
		}},
		{"getFiring", "GET /v1/graphs/g/firings/12", func() error { return only(c.Firing(ctx, "g", 12)) }},
		{"listRecoveryEvents", "GET /v1/graphs/g/recovery-events", func() error {
			return only(c.RecoveryEvents(ctx, "g", api.Query{}))
		}},
		{"listDeadLetters", "GET /v1/graphs/g/dead-letters?code=c&limit=1&where=epoch+%3E+1", func() error {
			return only(c.DeadLetters(ctx, "g", api.LetterQuery{Limit: 1, LetterChoice: fewLetters}))
		}},
		{"replayDeadLetters", `POST /v1/graphs/g/dead-letters/replay Content-Type:application/json {"all":true}`,
			func() error { return only(c.ReplayDeadLetters(ctx, "g", api.LettersRequest{All: true})) }},
		{"discardDeadLetters", `POST /v1/graphs/g/dead-letters/discard Content-Type:application/json {"ids":["a"]}`,
			func() error { return only(c.DiscardDeadLetters(ctx, "g", api.LettersRequest{IDs: []string{"a"}})) }},
		{"replayDeadLetter", "POST /v1/graphs/g/dead-letters/l1/replay", func() error {
			return only(c.ReplayDeadLetter(ctx, "g", "l1"))
		}},
		{"discardDeadLetter", "DELETE /v1/graphs/g/dead-letters/l1", func() error {
			return c.DiscardDeadLetter(ctx, "g", "l1")
		}},
		{"fire", `POST /v1/graphs/g/fire Content-Type:application/json {"mode":"force"}`, func() error {
			return only(c.Fire(ctx, "g", api.FireRequest{Mode: "force"}))
		}},
		{"pause", "POST /v1/graphs/g/pause", func() error { return only(c.Pause(ctx, "g")) }},
		{"resume", "POST /v1/graphs/g/resume", func() error { return only(c.Resume(ctx, "g")) }},
		{"step", `POST /v1/graphs/g/step Content-Type:application/json {"n":3}`, func() error {
			return only(c.Step(ctx, "g", 3))
		}},
		{"checkpoint", "POST /v1/graphs/g/checkpoint", func() error { return only(c.Checkpoint(ctx, "g")) }},
		{"drain", "POST /v1/graphs/g/drain", func() error { return only(c.Drain(ctx, "g")) }},
		{"restart", `POST /v1/graphs/g/restart Content-Type:application/json {"accumulator":null}`, func() error {
			return only(c.Restart(ctx, "g", ""))
		}},
		{"restart", `POST /v1/graphs/g/restart Content-Type:application/json {"accumulator":"a"}`, func() error {
			return only(c.Restart(ctx, "g", "a"))
		}},
		{"stopPart", `POST /v1/graphs/g/stop Content-Type:application/json {"accumulator":"a"}`, func() error {
			return only(c.StopPart(ctx, "g", api.Part{Accumulator: "a"}))
		}},
		{"startPart", `POST /v1/graphs/g/start Content-Type:application/json {"output":"o"}`, func() error {
			return only(c.StartPart(ctx, "g", api.Part{Output: "o"}))
		}},
		{"skipLost", `POST /v1/graphs/g/skip-lost Content-Type:application/json {"accumulator":"a"}`, func() error {
			return only(c.SkipLost(ctx, "g", "a"))
		}},
		{"reset", `POST /v1/graphs/g/reset Content-Type:application/json {"confirm":"g"}`, func() error {
			return only(c.Reset(ctx, "g"))
		}},
		{"rewind", `POST /v1/graphs/g/accumulators/a/rewind Content-Type:application/json {"confirm":"g",` +
			`"position":"start"}`, func() error { return only(c.Rewind(ctx, "g", "a", "start")) }},
		{"backup", "POST /v1/backup", func() error { return only(c.Backup(ctx, io.Discard)) }},
		{"listAccumulators", "GET /v1/graphs/g/accumulators", func() error { return only(c.Accumulators(ctx, "g")) }},
		{"getAccumulator", "GET /v1/graphs/g/accumulators/a", func() error {
			return only(c.Accumulator(ctx, "g", "a"))
		}},
		{"getAccumulator", "GET /v1/graphs/g/accumulators/a?row=k", func() error {
			return only(c.Row(ctx, "g", "a", "k"))
		}},
		{"pushEvents", "POST /v1/graphs/g/accumulators/a/events Content-Type:application/x-ndjson 1\n2", func() error {
			return only(c.Push(ctx, "g", "a", []byte("1\n2")))
		}},
		{"pushEvents", "POST /v1/graphs/g/accumulators/a/events Idempotency-Key:k Content-Type:application/x-ndjson 1",
			func() error { return only(c.PushOnce(ctx, "g", "a", []byte("1"), "k")) }},
	}
	tests = append(append(append(tests, tokenCalls(ctx, c)...), memberCalls(ctx, c)...), whyCalls(ctx, c)...)
	covered := map[string]bool{}
	for _, tt := range tests {
		covered[tt.operation] = true
		if err := tt.call(); err != nil {
			t.Errorf("%s: %v", tt.operation, err)
		}
		target, rest, _ := strings.Cut(strings.TrimPrefix(tt.want, strings.Fields(tt.want)[0]+" "), " ")
		want := strings.TrimSuffix(strings.Fields(tt.want)[0]+" "+target+" Graphd-Tenant:acme "+rest, " ")
		if r.request != want {
			t.Errorf("%s: sent %q, want %q", tt.operation, r.request, want)
		}
	}
	allCovered(t, covered)
}

func TestProblem(t *testing.T) {
	t.Parallel()
	r := &recorder{status: 422, answer: `{"type":"urn:x","title":"Unprocessable Entity","status":422,
		"code":"declaration_invalid","detail":"1 mistake","declared":["a"],
		"errors":[{"line":3,"column":5,"path":"p","code":"unknown_name","text":"no b","suggest":"a"}]}`}
	c := newClient(t, r, "")
	_, err := c.Apply(t.Context(), "g", nil, 0, false)
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || p.Status != 422 || p.Code != "declaration_invalid" || len(p.Errors) != 1 || p.Errors[0].Suggest != "a" ||
		!cmp.Equal(p.Declared, []string{"a"}) {
		t.Errorf("got %+v", err)
	}
	if got := err.Error(); got != "declaration_invalid: 1 mistake" {
		t.Errorf("got %q", got)
	}

	// A push that was partly refused tells both.
	r.status, r.answer = 429, `{"title":"Too Many Requests","status":429,"code":"queue_full","detail":"full",`+
		`"next_index":3,"accepted":2,"filtered":1,"durable":false,"rejected":[{"index":2,"code":"c","detail":"d"}]}`
	res, err := c.Push(t.Context(), "g", "a", []byte("1"))
	if p, ok := errors.AsType[*api.Problem](err); !ok || *p.NextIndex != 3 || res.Accepted != 2 || res.Filtered != 1 ||
		len(res.Rejected) != 1 {
		t.Errorf("got %+v, %+v", res, err)
	}

	r.status, r.answer = 502, "<html>bad gateway</html>"
	if _, err := c.Graphs(t.Context()); !strings.Contains(err.Error(), "not a graphd daemon's: 502 Bad Gateway") {
		t.Errorf("got %v", err)
	}
	r.status, r.answer = 200, "<html>"
	if _, err := c.Graphs(t.Context()); err == nil || !strings.Contains(err.Error(), "not what a graphd daemon says") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.NotFoundHandler())
	ts.Close() // its port is free now
	c, err := New(Config{BaseURL: ts.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		func() error { _, err := c.Graphs(t.Context()); return err }(),
		c.Tail(t.Context(), "g", TailOptions{Topics: []string{"outputs"}}, nil),
	} {
		if _, ok := errors.AsType[*Unreachable](err); !ok ||
			!strings.HasPrefix(err.Error(), "no daemon at "+ts.URL+": start one with 'graphd serve'") {
			t.Errorf("got %v", err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := c.Graphs(ctx); err == nil || err.Error() != "enough" {
		t.Errorf("got %v", err)
	}
	for _, url := range []string{"", "localhost:8080", "ftp://x", "http://"} {
		if _, err := New(Config{BaseURL: url}); err == nil {
			t.Errorf("%q is taken for an address", url)
		}
	}
}

// streams is a daemon whose connections each do what a script says.
type streams struct {
	t       *testing.T
	mu      sync.Mutex
	asked   []string
	scripts []func(ctx context.Context, ws *websocket.Conn)
}

func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if len(s.scripts) == 0 {
		s.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"graph_not_found","detail":"gone","status":404}`)
		return
	}
	script := s.scripts[0]
	s.scripts = s.scripts[1:]
	s.mu.Unlock()
	if script == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"too_many_connections","detail":"later","status":503}`)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{api.Subprotocol}})
	if err != nil {
		s.t.Error(err)
		return
	}
	defer func() { _ = ws.CloseNow() }()
	write(r.Context(), ws, `{"type":"hello"}`)
	_, raw, err := ws.Read(r.Context())
	if err != nil {
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path+" "+string(raw))
	s.mu.Unlock()
	script(r.Context(), ws)
}

func write(ctx context.Context, ws *websocket.Conn, frames ...string) {
	for _, f := range frames {
		_ = ws.Write(ctx, websocket.MessageText, []byte(f)) // the test's end shows it
	}
}

// TestTail: a lost stream is taken up again behind the last frame, until the graph is gone.
func TestTail(t *testing.T) {
	t.Parallel()
	const subscribed = `{"type":"result","id":1}`
	s := &streams{t: t, scripts: []func(context.Context, *websocket.Conn){
		func(ctx context.Context, ws *websocket.Conn) {
			write(ctx, ws, subscribed, `{"type":"output","graph":"g","seq":1,"incarnation":7,"output":"o","value":1}`,
				`{"type":"later","x":1}`, `{"type":"output","graph":"g","seq":2,"incarnation":7}`)
		}, // and cut
		nil,
		func(ctx context.Context, ws *websocket.Conn) {
			write(ctx, ws, subscribed, `{"type":"gap","graph":"g","seq":3,"incarnation":7,"from":3,"to":9}`)
			_ = ws.Close(websocket.StatusGoingAway, "")
		},
		func(ctx context.Context, ws *websocket.Conn) {
			write(ctx, ws, subscribed, `{"type":"health","graph":"g","seq":10,"incarnation":7,"health":"live"}`,
				`{"type":"error","code":"graph_ended","detail":"x"}`)
			_ = ws.Close(websocket.StatusGoingAway, "")
		},
	}}
	c := newClient(t, s, "")
	var got []string
	lost := 0
	err := c.Tail(t.Context(), "g", TailOptions{Topics: []string{"outputs", "health"}, Since: "7:0",
		Where: "value != 1", Lost: func(err error, wait time.Duration) {
			if err == nil || wait <= 0 || wait > maxWait {
				t.Errorf("lost: %v, %v", err, wait)
			}
			lost++
		}}, func(f *api.Frame) error {
		got = append(got, fmt.Sprintf("%s %d", f.Type, f.Seq))
		return nil
	})
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Code != "graph_not_found" {
		t.Errorf("ended with %v", err)
	}
	if d := cmp.Diff([]string{"output 1", "output 2", "gap 3", "health 10"}, got); d != "" || lost != 4 {
		t.Errorf("%d losses, %s", lost, d)
	}
	asked := func(since string) string {
		return `/v1/ws/graphs/g/reactor {"type":"subscribe","id":1,"topics":["outputs","health"],"since":"` + since +
			`","where":"value != 1"}`
	}
	if d := cmp.Diff([]string{asked("7:0"), asked("7:2"), asked("7:9")}, s.asked); d != "" {
		t.Errorf("asked: %s", d)
	}
}

// TestTailEnds: each's error and the end of the context end it; a refused subscription does at once.
func TestTailEnds(t *testing.T) {
	t.Parallel()
	endless := func(ctx context.Context, ws *websocket.Conn) {
		write(ctx, ws, `{"type":"result","id":1}`, `{"type":"output","graph":"g","seq":1,"incarnation":7}`)
		_, _, _ = ws.Read(ctx)
	}
	refused := func(ctx context.Context, ws *websocket.Conn) {
		write(ctx, ws, `{"type":"error","id":1,"code":"unknown_topic","detail":"x","status":422}`)
		_, _, _ = ws.Read(ctx)
	}
	s := &streams{t: t, scripts: []func(context.Context, *websocket.Conn){endless, endless, refused}}
	c := newClient(t, s, "")
	o := TailOptions{Topics: []string{"outputs"}}
	enough := errors.New("enough")
	if err := c.Tail(t.Context(), "", o, func(*api.Frame) error { return enough }); err != enough {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Tail(ctx, "g", o, func(*api.Frame) error { cancel(); return nil }); err != nil {
		t.Errorf("got %v", err)
	}
	err := c.Tail(t.Context(), "g", o, nil)
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Code != "unknown_topic" || p.Status != 422 {
		t.Errorf("got %v", err)
	}
	if want := `/v1/ws/events {"type":"subscribe","id":1,"topics":["outputs"]}`; s.asked[0] != want {
		t.Errorf("asked %s, want %s", s.asked[0], want)
	}
}

func TestDeadLetterPayload(t *testing.T) {
	t.Parallel()
	r := &recorder{
		answer: `{"items":[{"id":"l","payload":"//4=","payload_encoding":"base64"},{"id":"m","payload":{"x":1},` +
			`"payload_encoding":"json"}]}`,
	}
	c := newClient(t, r, "")
	page, err := c.DeadLetters(t.Context(), "g", api.LetterQuery{})
	if err != nil || len(page.Items) != 2 || string(page.Items[0].Payload) != `"//4="` ||
		page.Items[0].PayloadEncoding != "base64" || !json.Valid(page.Items[1].Payload) {
		t.Errorf("%v %+v", err, page)
	}
}
