package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/engine"
)

const (
	pushURL    = "/v1/ws/graphs/g/accumulators/a"
	reactorURL = "/v1/ws/graphs/g/reactor"
)

// pipelined makes a fake a Pipeline: pushes are decided on one after the other by a
// goroutine, and up to eight wait in a queue.
type pipelined struct {
	*fake
	jobs chan job
}

type job struct {
	ctx    context.Context
	g      engine.Ref
	name   string
	events []json.RawMessage
	done   chan struct{}
	r      *engine.PushResult
	err    *error
}

// newPipelined starts the goroutine; the test's end joins it.
func newPipelined(t *testing.T) *pipelined {
	p := &pipelined{newFake(), make(chan job, 8)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for j := range p.jobs {
			*j.r, *j.err = p.Push(j.ctx, j.g, j.name, j.events)
			close(j.done)
		}
	}()
	t.Cleanup(func() { close(p.jobs); <-done })
	return p
}

func (p *pipelined) Submit(ctx context.Context, g engine.Ref, name string, events []json.RawMessage) (func(context.Context) (engine.PushResult, error), error) {
	if err := p.accumulator(g, name); err != nil {
		return nil, err
	}
	j := job{ctx, g, name, events, make(chan struct{}), new(engine.PushResult), new(error)}
	select {
	case p.jobs <- j:
	case <-ctx.Done():
		*j.r = engine.PushResult{Full: true}
		close(j.done)
	}
	return func(ctx context.Context) (engine.PushResult, error) {
		<-j.done // the push itself ends with its context
		return *j.r, *j.err
	}, nil
}

// client is one connection of a test.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

// narrow is a listener whose connections have small buffers, so that backpressure is
// felt after little.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
	}
	return c, err
}

// serve runs s on loopback until the test ends.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln = narrow{ln}
	done := make(chan error)
	go func() { done <- s.Serve(context.Background(), ln) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + ln.Addr().String()
}

var narrowClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
	}
	return c, err
}}}

// connect opens a connection and reads its hello.
func connect(t *testing.T, url string) *client {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: []string{"graphd.v1+json"}, HTTPClient: narrowClient})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(64 << 20)
	t.Cleanup(func() { _ = ws.CloseNow() })
	c := &client{t, ws}
	hello := c.next()
	loadDocument().validate(t, "/components/schemas/HelloFrame", []byte(hello))
	if ws.Subprotocol() != "graphd.v1+json" {
		t.Errorf("subprotocol %q", ws.Subprotocol())
	}
	return c
}

func (c *client) send(frame string) {
	c.t.Helper()
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatalf("send %.80s: %v", frame, err)
	}
}

// read is the next frame.
func (c *client) read() []byte {
	c.t.Helper()
	_, raw, err := c.ws.Read(c.t.Context())
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return raw
}

// next is the next frame, held against the document.
func (c *client) next() string {
	c.t.Helper()
	raw := c.read()
	var f struct{ Type string }
	if err := json.Unmarshal(raw, &f); err != nil {
		c.t.Fatalf("frame %s: %v", raw, err)
	}
	name := map[string]string{"hello": "HelloFrame", "ack": "AckFrame", "error": "ErrorFrame", "result": "ResultFrame"}[f.Type]
	if name == "" {
		name = "WatchFrame"
	}
	loadDocument().validate(c.t, "/components/schemas/"+name, raw)
	return string(raw)
}

func (c *client) want(frames ...string) {
	c.t.Helper()
	for _, want := range frames {
		if got := c.next(); got != want {
			c.t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// wantError reads an error frame.
func (c *client) wantError(id, code string) {
	c.t.Helper()
	var f struct {
		Type, Code, Detail string
		ID                 json.RawMessage
	}
	raw := c.next()
	if err := json.Unmarshal([]byte(raw), &f); err != nil || f.Type != "error" || f.Code != code || f.Detail == "" || string(f.ID) != id {
		c.t.Errorf("got %s, want an error %s for %s", raw, code, id)
	}
}

// wantClose reads up to the end of the connection.
func (c *client) wantClose(code websocket.StatusCode) {
	c.t.Helper()
	for {
		_, raw, err := c.ws.Read(c.t.Context())
		if err == nil {
			c.t.Logf("before the close: %.200s", raw)
			continue
		}
		if got := websocket.CloseStatus(err); got != code {
			c.t.Errorf("closed with %d (%v), want %d", got, err, code)
		}
		return
	}
}

// eventually waits for what the server does when it hears of a connection's end.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func ack(id string, accepted, filtered int) string {
	return fmt.Sprintf(`{"type":"ack",%s"accepted":%d,"filtered":%d,"durable":false,"rejected":[]}`, id, accepted, filtered)
}

// both runs a test with a Control that is a Pipeline, and with one that is not.
func both(t *testing.T, test func(t *testing.T, ctl Control, f *fake)) {
	t.Run("push", func(t *testing.T) {
		t.Parallel()
		f := newFake()
		test(t, f, f)
	})
	t.Run("pipeline", func(t *testing.T) {
		t.Parallel()
		p := newPipelined(t)
		test(t, p, p.fake)
	})
}

func TestPushSocket(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		c := connect(t, serve(t, newServer(t, ctl, Config{}))+pushURL)
		for _, frame := range []string{
			`{"type":"event","id":1,"data":{"x":1}}`,
			`{"type":"event","id":"two","data":{"filter":true}}`,
			` { "data" : [ {"x":3} , 4 ] , "type" : "events" } `,
			`{"type":"event","id":4,"data":[1,[2]]}`,
			`{"type":"events","id":5,"data":[]}`,
			`{"type":"events","id":6,"data":[7,{"a":1,"a":2},8]}`,
			`{"type":"event","id":7,"data":null}`,
			`{"type":"event","id":8,"data":1e999}`,
		} {
			c.send(frame)
		}
		c.want(ack(`"id":1,`, 1, 0), ack(`"id":"two",`, 1, 1), ack(``, 2, 0), ack(`"id":4,`, 1, 0), ack(`"id":5,`, 0, 0))
		if got := c.next(); !strings.HasPrefix(got, `{"type":"ack","id":6,"accepted":2,"filtered":0,"durable":false,"rejected":[{"index":1,"code":"duplicate_key",`) {
			t.Errorf("got %s", got)
		}
		c.want(ack(`"id":7,`, 1, 0))
		if got := c.next(); !strings.HasPrefix(got, `{"type":"ack","id":8,"accepted":0,"filtered":0,"durable":false,"rejected":[{"index":0,"code":"number_out_of_range",`) {
			t.Errorf("got %s", got)
		}
		got, _, _ := f.seen()
		diff(t, []string{`{"x":1}`, `{"x":3}`, "4", "[1,[2]]", "7", "8", "null"}, got)
	})
}

// TestBadFrames: a bad frame is told in its place and counts as a rejected event, and the
// connection goes on; one after the other without end closes it.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		c := connect(t, serve(t, newServer(t, ctl, Config{}))+pushURL)
		bad := []struct{ frame, id, code string }{
			{``, ``, "invalid_json"},
			{`nonsense`, ``, "invalid_json"},
			{`{"type":"event","id":1,"data":}`, ``, "invalid_json"},
			{`{"type":"event","id":1,"data":NaN}`, ``, "invalid_json"},
			{"{\"type\":\"event\",\"id\":1,\"data\":\"\xff\"}", ``, "invalid_utf8"},
			{`{"type":"event","id":1,"data":` + strings.Repeat("[", 9999) + `}`, ``, "too_deep"},
			{`[]`, ``, "invalid_frame"},
			{`{"type":"event","id":2,"id":3,"data":1}`, `2`, "duplicate_key"},
			{`{"type":"event","id":{},"data":1}`, ``, "invalid_frame"},
			{`{"type":"event","id":"` + strings.Repeat("x", 70) + `","data":1}`, ``, "invalid_frame"},
		}
		more := []struct{ frame, id, code string }{
			{`{"type":"event","id":4}`, `4`, "invalid_frame"},
			{`{"type":"events","id":5,"data":{}}`, `5`, "invalid_frame"},
			{`{"type":"event","id":6,"data":1,"cache":{}}`, `6`, "invalid_frame"},
			{`{"type":"event","id":7,"data":1,"dat":2}`, `7`, "invalid_frame"},
			{`{"type":"command","id":8,"command":"Pause"}`, `8`, "unknown_type"},
			{`{"id":9,"data":1}`, `9`, "unknown_type"},
			{`{"type":1,"data":1}`, ``, "unknown_type"},
		}
		for _, b := range bad {
			c.send(b.frame)
			c.wantError(b.id, b.code)
		}
		c.send(`{"type":"event","id":10,"data":1}`)
		c.want(ack(`"id":10,`, 1, 0))
		for _, b := range more {
			c.send(b.frame)
			c.wantError(b.id, b.code)
		}
		if _, _, rejected := f.seen(); len(rejected) != len(bad)+len(more) {
			t.Errorf("%d bodies counted as rejected, want %d: %q", len(rejected), len(bad)+len(more), rejected)
		}
		for range 16 - len(more) {
			c.send(`{`)
		}
		c.wantClose(websocket.StatusPolicyViolation)
	})
}

func TestSocketRefusals(t *testing.T) {
	t.Parallel()
	url := serve(t, newServer(t, newFake(), Config{Origins: []string{"https://ops.example.com"}, MaxBody: 1000}))
	dial := func(path, origin string, subprotocols ...string) (int, string) {
		t.Helper()
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		ws, resp, err := websocket.Dial(t.Context(), url+path, &websocket.DialOptions{Subprotocols: subprotocols, HTTPHeader: h})
		if err == nil {
			_ = ws.CloseNow()
			return resp.StatusCode, ""
		}
		if resp == nil {
			t.Fatal(err)
		}
		var p struct{ Code string }
		_ = json.NewDecoder(resp.Body).Decode(&p)
		return resp.StatusCode, p.Code
	}
	const sub = "graphd.v1+json"
	tests := []struct {
		path, origin string
		subprotocols []string
		status       int
		code         string
	}{
		{pushURL, "", []string{sub}, 101, ""},
		{pushURL, "", []string{"x", sub}, 101, ""},
		{pushURL, "", nil, 400, "subprotocol_required"},
		{pushURL, "", []string{"graphd.v2+json"}, 400, "subprotocol_required"},
		{reactorURL, url, []string{sub}, 101, ""},
		{reactorURL, "https://ops.example.com", []string{sub}, 101, ""},
		{reactorURL, "https://evil.example.com", []string{sub}, 403, "cross_origin"},
		{reactorURL, "null", []string{sub}, 403, "cross_origin"},
		{"/v1/ws/events", "", []string{sub}, 101, ""},
		{"/v1/ws/events?x=1", "", []string{sub}, 400, "unknown_parameter"},
		{"/v1/ws/graphs/none/reactor", "", []string{sub}, 404, "graph_not_found"},
		{"/v1/ws/graphs/g/accumulators/b", "", []string{sub}, 404, "accumulator_not_found"},
	}
	for _, tt := range tests {
		if status, code := dial(tt.path, tt.origin, tt.subprotocols...); status != tt.status || code != tt.code {
			t.Errorf("%s from %q with %q: got %d %s, want %d %s", tt.path, tt.origin, tt.subprotocols, status, code, tt.status, tt.code)
		}
	}

	c := connect(t, url+pushURL)
	c.send(`{"type":"event","data":"` + strings.Repeat("x", 2000) + `"}`)
	c.wantClose(websocket.StatusMessageTooBig)
	c = connect(t, url+pushURL)
	if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	c.wantClose(websocket.StatusPolicyViolation)
}

func TestSocketLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{MaxSockets: 2})
	url := serve(t, s)
	one, two := connect(t, url+pushURL), connect(t, url+reactorURL)
	third, _, err := websocket.Dial(t.Context(), url+pushURL, &websocket.DialOptions{Subprotocols: []string{"graphd.v1+json"}})
	if err != nil {
		t.Fatal(err)
	}
	(&client{t, third}).wantClose(websocket.StatusTryAgainLater)
	if n := s.Stats().WebSockets; n != 2 {
		t.Errorf("%d connections are counted", n)
	}
	if err := one.ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	two.send(`{"type":"command","id":1,"command":"Checkpoint"}`) // still served
	two.want(`{"type":"result","id":1,"checkpoint_epoch":12}`)
	eventually(t, "the closed connection counts no more", func() bool { return s.Stats().WebSockets < 2 })
	connect(t, url+pushURL)
}

// TestBackpressure: while the accumulator is full nothing is dropped; the client's
// writes stop, and when there is room again every frame is acknowledged, in order. // M4
func TestBackpressure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		f.full, f.free = true, 10
		c := connect(t, serve(t, newServer(t, ctl, Config{}))+pushURL)
		const n = 400
		pad := strings.Repeat("x", 10_000) // 4 MB: more than all buffers on the way
		sent := make(chan error, 1)
		go func() {
			for i := range n {
				if err := c.ws.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"type":"event","id":%d,"data":[%d,"%s"]}`, i, i, pad)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := range 10 {
			c.want(ack(fmt.Sprintf(`"id":%d,`, i), 1, 0))
		}
		select {
		case err := <-sent:
			t.Fatalf("all frames were taken from the client while the accumulator was full: %v", err)
		case <-f.started: // the eleventh is being pushed
		}
		f.open()
		for i := 10; i < n; i++ {
			if got, want := string(c.read()), ack(fmt.Sprintf(`"id":%d,`, i), 1, 0); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		got, _, _ := f.seen()
		for i, e := range got {
			if !strings.HasPrefix(e, fmt.Sprintf("[%d,", i)) {
				t.Fatalf("event %d is %.20s", i, e)
			}
		}
		if len(got) != n {
			t.Errorf("%d events, want %d", len(got), n)
		}
	})
}

// TestGoneWhileFull: a client that goes while its push is held up leaves nothing behind,
// whether the server still reads from it or not.
func TestGoneWhileFull(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		f.full = true
		s := newServer(t, ctl, Config{PingInterval: 2 * time.Second})
		url := serve(t, s)
		one, many := connect(t, url+pushURL), connect(t, url+pushURL)
		one.ws.CloseRead(t.Context()) // answers pings
		many.ws.CloseRead(t.Context())
		one.send(`{"type":"events","id":1,"data":[1,2,3]}`)
		<-f.started
		for range 400 { // more than the server reads ahead
			many.send(`{"type":"event","data":1}`)
		}
		_, _ = one.ws.CloseNow(), many.ws.CloseNow()
		eventually(t, "the connections end", func() bool { return s.Stats().WebSockets == 0 })
	})
}

// TestSocketShutdown: every connection is closed with 1001, what was taken is acknowledged
// before, and nothing is left running. // M38
func TestSocketShutdown(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, ctl Control, f *fake) {
		f.full, f.free = true, 2
		s := newServer(t, ctl, Config{})
		url := serve(t, s)
		pusher, watcher := connect(t, url+pushURL), connect(t, url+reactorURL)
		pusher.send(`{"type":"events","id":1,"data":[1,2,3]}`)
		<-f.started
		watcher.send(`{"type":"subscribe","id":1,"topics":["outputs"]}`)
		watcher.want(`{"type":"result","id":1,"topics":["outputs"]}`)
		done := make(chan error)
		go func() { done <- s.Shutdown(t.Context()) }()
		pusher.want(ack(`"id":1,`, 2, 0))
		pusher.wantClose(websocket.StatusGoingAway)
		watcher.wantClose(websocket.StatusGoingAway)
		if err := <-done; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if n := s.Stats().WebSockets; n != 0 {
			t.Errorf("%d connections are left", n)
		}
		<-f.sub(0).closed
		if err := s.hub.Watch(httptest.NewRecorder(), upgradeRequest(), engine.Ref{}, ""); err == nil {
			t.Error("a connection is admitted after the shutdown")
		}
	})
}

func upgradeRequest() *http.Request {
	r := httptest.NewRequest("GET", "/v1/ws/events", nil)
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": "graphd.v1+json",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
		r.Header.Set(name, value)
	}
	return r
}

// TestSocketPanic: a panic while pushing or commanding ends that connection alone.
func TestSocketPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, newFake(), Config{Log: textLog(&log)})
	url := serve(t, s)
	other, c := connect(t, url+pushURL), connect(t, url+pushURL)
	c.send(`{"type":"event","id":1,"data":{"panic":true}}`)
	c.wantClose(websocket.StatusInternalError)
	other.send(`{"type":"event","id":1,"data":1}`)
	other.want(ack(`"id":1,`, 1, 0))
}

func TestCommands(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := connect(t, serve(t, newServer(t, f, Config{}))+reactorURL)
	state, _ := json.Marshal(fakeState())
	tests := []struct{ frame, call, answer string }{
		{`{"type":"command","id":1,"command":"ForceFire"}`, `fire {"mode":"force"}`, `{"type":"result","id":1,"epoch":13,"ok":true,"error":null,"cause":"force","outputs":{"o":1}}`},
		{`{"type":"command","id":1,"command":"ForceFire","key":"K"}`, `fire {"mode":"force","key":"K"}`, ``},
		{`{"type":"command","id":2,"command":"FireWith","cache":{"a":1},"replace":false}`, `fire {"mode":"with","cache":{"a":1},"replace":false}`, ``},
		{`{"type":"command","id":3,"command":"GetState"}`, `state `, `{"type":"result","id":3,` + string(state[1:])},
		{`{"type":"command","id":3,"command":"GetState","key":["A", 1]}`, `state ["A",1]`, ``},
		{`{"type":"command","id":4,"command":"Pause"}`, `pause anonymous@127.0.0.1`, ``},
		{`{"type":"command","id":5,"command":"Resume"}`, `resume anonymous@127.0.0.1`, ``},
		{`{"type":"command","id":6,"command":"Step"}`, `step 1`, ``},
		{`{"type":"command","id":6,"command":"Step","n":4}`, `step 4`, ``},
		{`{"type":"command","id":7,"command":"Drain"}`, `drain`, ``},
		{`{"type":"command","command":"Checkpoint"}`, `checkpoint`, `{"type":"result","checkpoint_epoch":12}`},
	}
	for _, tt := range tests {
		c.send(tt.frame)
		got := c.next()
		if !strings.HasPrefix(got, `{"type":"result"`) || tt.answer != "" && got != tt.answer {
			t.Errorf("%s: got  %s\nwant %s", tt.frame, got, tt.answer)
		}
		if _, calls, _ := f.seen(); calls[len(calls)-1] != tt.call {
			t.Errorf("%s: the control was told %q, want %q", tt.frame, calls[len(calls)-1], tt.call)
		}
	}
	bad := []struct{ frame, code string }{
		{`{"type":"command","id":1,"command":"Explode"}`, "unknown_command"},
		{`{"type":"command","id":1}`, "unknown_command"},
		{`{"type":"command","id":1,"command":"Pause","n":1}`, "invalid_frame"},
		{`{"type":"command","id":1,"command":"Step","n":"x"}`, "invalid_body"},
		{`{"type":"command","id":1,"command":"Step","n":0}`, "invalid_body"},
		{`{"type":"command","id":1,"command":"FireWith"}`, "invalid_body"},
		{`{"type":"command","id":1,"command":"FireWith","cache":{"a":1,"a":2}}`, "duplicate_key"},
		{`{"type":"event","id":1,"data":1}`, "unknown_type"},
		{`{"type":"subscribe","id":1}`, "unknown_topic"},
		{`{"type":"subscribe","id":1,"topics":["all"]}`, "unknown_topic"},
		{`{"type":"subscribe","id":1,"topics":["state"],"since":7}`, "invalid_frame"},
		{`{"type":"subscribe","id":1,"topics":["state"],"since":"bad"}`, "bad_since"},
		{`{"type":"subscribe","id":1,"topics":["state"],"n":1}`, "invalid_frame"},
	}
	for _, tt := range bad {
		c.send(tt.frame)
		c.wantError("1", tt.code)
	}
	f.fail = &engine.Error{Status: 409, Code: "state_forbids", Detail: "not now", Extra: map[string]any{"declared": []string{"a"}}}
	c.send(`{"type":"command","id":9,"command":"Drain"}`)
	c.want(`{"type":"error","id":9,"code":"state_forbids","detail":"not now","status":409,"declared":["a"]}`)
	f.fail = errors.New("hunter2")
	c.send(`{"type":"command","id":9,"command":"Drain"}`)
	c.wantError("9", "internal")
}

func TestWatch(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := serve(t, newServer(t, f, Config{}))
	c := connect(t, url+reactorURL)
	c.send(`{"type":"subscribe","id":1,"topics":["outputs","firings","health","state"],"since":"7:41"}`)
	c.want(`{"type":"result","id":1,"topics":["outputs","firings","health","state"]}`)
	sub := f.sub(0)
	if sub.since != "7:41" || len(sub.topics) != 4 {
		t.Errorf("subscribed to %v since %q", sub.topics, sub.since)
	}
	fired, state := firing(), fakeState()
	frames := []*engine.Frame{
		{Type: "gap", Graph: "g", Seq: 44, Incarnation: 7, From: 42, To: 44},
		{Type: "output", Graph: "g", Seq: 45, Incarnation: 7, Output: "o", Epoch: 12, Key: json.RawMessage(`"K"`), FiringID: "f", Value: json.RawMessage(`{"a":"<"}`)},
		{Type: "output", Graph: "g", Seq: 46, Incarnation: 7, Output: "o", Epoch: 13, Value: json.RawMessage(`null`)},
		{Type: "firing", Graph: "g", Seq: 47, Incarnation: 7, Epoch: 12, Firing: &fired},
		{Type: "health", Graph: "g", Seq: 48, Incarnation: 7, Health: "degraded", Reason: &engine.Reason{Code: "c", Detail: "d"}},
		{Type: "health", Graph: "g", Seq: 49, Incarnation: 7, Health: "live"},
		{Type: "state", Graph: "g", Seq: 50, Incarnation: 7, State: &state},
	}
	for round := range 2 {
		for _, frame := range frames {
			sub.frames <- frame
			if round == 0 { // one at a time, then all at once
				c.wantFrame(frame)
			}
		}
	}
	for _, frame := range frames {
		c.wantFrame(frame)
	}
	c.send(`{"type":"command","id":2,"command":"Checkpoint"}`)
	c.want(`{"type":"result","id":2,"checkpoint_epoch":12}`)

	// A second subscription takes the place of the first.
	c.send(`{"type":"subscribe","id":3,"topics":["health"]}`)
	c.want(`{"type":"result","id":3,"topics":["health"]}`)
	<-sub.closed
	f.sub(1).frames <- frames[5]
	c.wantFrame(frames[5])
	close(f.sub(1).frames) // the graph is removed
	c.wantError("", "graph_ended")
	c.wantClose(websocket.StatusGoingAway)
	<-f.sub(1).closed
}

// wantFrame reads a frame that must be as encoding/json would write it.
func (c *client) wantFrame(f *engine.Frame) {
	c.t.Helper()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		c.t.Fatal(err)
	}
	c.want(strings.TrimSpace(want.String()))
}

func TestWatchAll(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := connect(t, serve(t, newServer(t, f, Config{}))+"/v1/ws/events")
	c.send(`{"type":"command","id":1,"command":"Pause"}`)
	c.wantError("1", "unknown_type")
	c.send(`{"type":"subscribe","id":2,"topics":["health"]}`)
	c.want(`{"type":"result","id":2,"topics":["health"]}`)
	for i := range 1000 { // more than one write's worth
		f.sub(0).frames <- &engine.Frame{Type: "health", Graph: "x", Seq: int64(i), Incarnation: 1, Health: "live"}
	}
	for i := range 1000 {
		if got, want := string(c.read()), fmt.Sprintf(`{"type":"health","graph":"x","seq":%d,"incarnation":1,"health":"live"}`, i); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// TestFragments: a message in pieces is one frame.
func TestFragments(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, newServer(t, newFake(), Config{}))+pushURL)
	w, err := c.ws.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range strings.SplitAfter(`{"type":"event","id":1,"data":[1,2,3]}`, ",") {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.want(ack(`"id":1,`, 1, 0))
}
