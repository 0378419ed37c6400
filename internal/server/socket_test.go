package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
)

const (
	pushURL    = "/v1/ws/graphs/g/accumulators/a"
	reactorURL = "/v1/ws/graphs/g/reactor"
)

// Submit leaves it to who waits to push.
func (f *fake) Submit(_ context.Context, g api.Ref, name string, events []json.RawMessage) (
	func(context.Context) (api.PushResult, error), error) {
	return func(ctx context.Context) (api.PushResult, error) {
		if ctx.Err() != nil {
			return api.PushResult{Full: true}, nil
		}
		return f.Push(ctx, g, name, events)
	}, nil
}

// pipelined is a fake where pushes are decided on one after the other by a
// goroutine, and up to eight wait in a queue.
type pipelined struct {
	*fake
	jobs chan job
}

type job struct {
	ctx    context.Context
	g      api.Ref
	name   string
	events []json.RawMessage
	done   chan struct{}
	r      *api.PushResult
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

func (p *pipelined) Submit(ctx context.Context, g api.Ref, name string, events []json.RawMessage) (
	func(context.Context) (api.PushResult, error), error) {
	if err := p.accumulator(g, name); err != nil {
		return nil, err
	}
	j := job{ctx, g, name, events, make(chan struct{}), new(api.PushResult), new(error)}
	select {
	case p.jobs <- j:
	case <-ctx.Done():
		*j.r = api.PushResult{Full: true}
		close(j.done)
	}
	return func(ctx context.Context) (api.PushResult, error) {
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
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + ln.Addr().String()
}

var narrowClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
	addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
	}
	return c, err
}}}

// connect opens a connection and reads its hello.
func connect(t *testing.T, url string) *client {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{
		Subprotocols: []string{"graphd.v1+json"}, HTTPClient: narrowClient,
	})
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
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatalf("send %.80s: %v", frame, err)
	}
}

// read is the next frame.
func (c *client) read() []byte {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, raw, err := c.ws.Read(ctx)
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
	name := map[string]string{
		"hello": "HelloFrame", "ack": "AckFrame", "error": "ErrorFrame", "result": "ResultFrame",
	}[f.Type]
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
	if err := json.Unmarshal([]byte(raw), &f); err != nil || f.Type != "error" || f.Code != code || f.Detail == "" ||
		string(f.ID) != id {
		c.t.Errorf("got %s, want an error %s for %s", raw, code, id)
	}
}

// wantClose reads up to the end of the connection.
func (c *client) wantClose(code websocket.StatusCode) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		_, raw, err := c.ws.Read(ctx)
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

// patience is how long a test waits for what must come, on a busy machine too.
const patience = 30 * time.Second

// within waits for a signal.
func within(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain: %s", what)
	}
}

// eventually waits for what the server does when it hears of a connection's end.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func ack(id string, accepted, filtered int) string {
	return fmt.Sprintf(`{"type":"ack",%s"accepted":%d,"filtered":%d,"durable":false,"rejected":[]}`, id, accepted,
		filtered)
}

// both runs a test with a Control that decides on pushes when it is asked for the answer, and one that does before.
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
