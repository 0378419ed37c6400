package wsclient

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// serve is a WebSocket server; h has a connection until it returns. It is told the number of
// the connection, from 1.
func serve(t *testing.T, h func(ctx context.Context, c *websocket.Conn, n int64, r *http.Request)) string {
	t.Helper()
	var n atomic.Int64
	var open sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		h(ctx, c, n.Add(1), r)
	}))
	t.Cleanup(func() {
		cancel()
		s.Close()
		open.Wait()
	})
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func source(t *testing.T, c Config) *Source {
	t.Helper()
	c.Guard = outboundtest.Guard(t)
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resumed has its server go on from the position a run starts from.
type resumed struct {
	*Source
	at *atomic.Int64
}

func (r *resumed) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	next := int64(0)
	for _, p := range from {
		next = p.Offset
	}
	r.at.Store(next)
	return r.Source.Run(ctx, from, out)
}

func TestConformance(t *testing.T) {
	var at atomic.Int64
	var open sync.WaitGroup
	url := serve(t, func(ctx context.Context, c *websocket.Conn, _ int64, _ *http.Request) {
		open.Add(1)
		defer open.Done()
		ctx = c.CloseRead(ctx)
		for ctx.Err() == nil {
			if c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"n":%d}`, at.Add(1))) != nil {
				return
			}
		}
	})
	sourcetest.Run(t, sourcetest.Suite{
		Events: 40, Endless: true,
		New: func(t *testing.T) accumulator.Source {
			open.Wait() // the last run's connection
			return &resumed{source(t, Config{URL: url}), &at}
		},
	})
}

// running is a source at work.
type running struct {
	t    *testing.T
	out  *sourcetest.Told
	stop context.CancelFunc
	done chan error
	host string
}

func run(t *testing.T, c Config, room int) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, out: sourcetest.NewTold(room), stop: cancel, done: make(chan error, 1),
		host: strings.Split(c.URL, "/")[2]}
	s := source(t, c)
	go func() { r.done <- s.Run(ctx, nil, r.out) }()
	return r
}

func (r *running) next() string {
	r.t.Helper()
	select {
	case text := <-r.out.Texts:
		if strings.Contains(text, "hunter2") {
			r.t.Errorf("a secret is told: %s", text)
		}
		return strings.ReplaceAll(text, r.host, "HOST")
	case <-time.After(time.Minute):
		r.t.Fatal("nothing more is told")
		return ""
	}
}

func (r *running) want(texts ...string) {
	r.t.Helper()
	var got []string
	for range texts {
		got = append(got, r.next())
	}
	if !slices.Equal(got, texts) {
		r.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(texts, "\n"))
	}
}

func (r *running) end() {
	r.t.Helper()
	r.stop()
	for {
		select {
		case <-r.out.Texts: // what is told while it stops is not looked at
		case err := <-r.done:
			if err != nil {
				r.t.Errorf("Run: %v", err)
			}
			return
		}
	}
}

// A lost connection is told at once, made again, and subscribed to again.
func TestReconnectSubscribesAgain(t *testing.T) {
	url := serve(t, func(ctx context.Context, c *websocket.Conn, n int64, r *http.Request) {
		for range 2 {
			_, text, err := c.Read(ctx)
			if err != nil ||
				c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `"%d %s %s"`, n, r.Header.Get("X-Name"),
					text)) != nil {
				return
			}
		}
		if n == 1 {
			c.Close(websocket.StatusInternalError, "hunter2 went wrong")
			return
		}
		c.Read(ctx)
	})
	r := run(t, Config{
		URL: url + "/?token=hunter2", Subscribe: []string{"all", `{"op":1}`}, Headers: []outbound.Header{
			{Name: "X-Name", Value: "me"},
		},
	}, 100)
	defer r.end()
	r.want("live", `1 "1 me all"`, `2 "1 me {"op":1}"`,
		"disconnected the connection to HOST was lost: it was closed with 1011 (StatusInternalError)",
		"live", `3 "2 me all"`, `4 "2 me {"op":1}"`)
}

// A message over the limit is a dead letter, and the end of the connection.
func TestTooLarge(t *testing.T) {
	url := serve(t, func(ctx context.Context, c *websocket.Conn, n int64, _ *http.Request) {
		if n == 1 {
			c.Write(ctx, websocket.MessageText, []byte(strings.Repeat("1", 1000)))
			c.Write(ctx, websocket.MessageText, []byte(strings.Repeat("1", 1001)))
		}
		c.Read(ctx)
	})
	r := run(t, Config{URL: url, MaxBytes: 1000}, 100)
	defer r.end()
	r.want("live", "1 "+strings.Repeat("1", 1000), "2 too_large 0",
		"disconnected HOST sent a message of more than 1000 bytes; the connection was ended", "live")
}

// M4: a receiver that is held back makes the source stop reading, so that the server's writes
// stop too; the connection lives through it, and nothing is lost.
func TestM4HeldBack(t *testing.T) {
	const messages, size = 600, 64 << 10
	var sent atomic.Int64
	all := make(chan struct{})
	url := serve(t, func(ctx context.Context, c *websocket.Conn, n int64, _ *http.Request) {
		text := []byte(strings.Repeat("1", size))
		reading := c.CloseRead(ctx)
		for range messages {
			if n > 1 || c.Write(reading, websocket.MessageText, text) != nil {
				return
			}
			sent.Add(1)
		}
		close(all)
		<-reading.Done()
	})
	r := run(t, Config{URL: url, Ping: time.Second}, 1)
	defer r.end()
	r.want("live")
	// The server is held up once what it has sent does not grow over several pings.
	held := time.NewTicker(2500 * time.Millisecond)
	defer held.Stop()
	for before := int64(-1); before != sent.Load() || before == 0; {
		before = sent.Load()
		<-held.C
	}
	select {
	case <-all:
		t.Fatal("the server was not held up: all was sent")
	default:
	}
	for i := 1; i <= messages; i++ {
		if got := r.next(); !strings.HasPrefix(got, fmt.Sprintf("%d 1", i)) {
			t.Fatalf("message %d: %.60s", i, got)
		}
	}
}

// A connection that ends without a word, and one that nobody vouches for.
func TestBrokenConnections(t *testing.T) {
	url := serve(t, func(ctx context.Context, c *websocket.Conn, n int64, _ *http.Request) {
		c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, "%d", n))
		if n > 1 {
			c.Read(ctx)
		}
	})
	r := run(t, Config{URL: url}, 100)
	r.want("live", "1 1")
	if got := r.next(); !strings.HasPrefix(got, "disconnected the connection to HOST was lost: ") {
		t.Errorf("got %q", got)
	}
	r.want("live", "2 2")
	r.end()

	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	r = run(t, Config{URL: "wss" + strings.TrimPrefix(s.URL, "https")}, 100)
	defer r.end()
	if got := r.next(); !strings.HasPrefix(got, "disconnected connect to HOST: ") ||
		!strings.Contains(got, "certificate") {
		t.Errorf("got %q", got)
	}
}

// What is no WebSocket, or not allowed, is told and tried again.
func TestRefusedConnections(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "/page":
			fmt.Fprint(w, "hello")
		default:
			http.Error(w, "hunter2", http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	url := "ws" + strings.TrimPrefix(s.URL, "http")
	for path, want := range map[string]string{
		"/":         "HOST answered 401 Unauthorized, not a WebSocket",
		"/page":     "HOST answered 200 OK, not a WebSocket",
		"/metadata": "the address 169.254.169.254 is link-local",
	} {
		r := run(t, Config{URL: url + path}, 100)
		if got := r.next(); !strings.HasPrefix(got, "disconnected ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", path, got, want)
		}
		r.end()
	}
}

// The pauses double up to a minute, and are never less than half of that.
func TestPause(t *testing.T) {
	for failed, most := range map[int]time.Duration{
		0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 6: time.Minute, 60: time.Minute,
	} {
		if a, b := pause(failed, 0), pause(failed, 1); a != most/2 || b != most {
			t.Errorf("%d failed: %v to %v, want %v to %v", failed, a, b, most/2, most)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []Config{{}, {URL: "http://x"}, {URL: "ws:///p"}, {URL: "ws://x", Ping: -1}, {URL: "ws://x"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
