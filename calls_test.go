package graphd_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

const sums = `
graph: sums
accumulators:
  numbers: { strategy: sequential }
nodes:
  sum: { expr: numbers.a + numbers.b }
outputs:
  sums: { from: sum, sink: { drop: {} } }
`

// unheard runs a daemon that listens nowhere, until the test ends.
func unheard(t *testing.T, c graphd.Config) *graphd.Daemon {
	t.Helper()
	c.Store, c.Listen, c.Stdout = "memory:", graphd.ListenNone, io.Discard
	ctx, cancel := context.WithCancel(context.Background())
	d, err := graphd.New(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	if d.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/livez", http.NoBody)); w.Code != 503 {
		t.Errorf("before it runs it answers %d", w.Code)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the daemon did not stop cleanly: %v", err)
		}
	})
	<-d.Ready()
	if err := d.Apply(ctx, []byte(sums)); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCalls: a program looks into its daemon and steers it without a listener, and its changes stand in the audit.
func TestCalls(t *testing.T) {
	t.Parallel()
	d, ctx := unheard(t, graphd.Config{}), t.Context()
	if d.Addr() != "" {
		t.Errorf("it listens on %s", d.Addr())
	}
	fired, err := d.Fire(ctx, "sums", client.FireRequest{
		Mode: "with", Cache: map[string]json.RawMessage{"numbers": json.RawMessage(`{"a":1,"b":2}`)},
	})
	if err != nil || !fired.OK || string(fired.Outputs["sums"]) != "3" {
		t.Errorf("fired: %+v, %v", fired, err)
	}
	if _, err := d.Fire(ctx, "sums", client.FireRequest{Mode: "perhaps"}); client.Code(err) != "invalid_body" {
		t.Errorf("an unknown mode: %v", err)
	}
	if g, err := d.Pause(ctx, "sums"); err != nil || !g.Paused || g.PausedBy != "the program" {
		t.Errorf("paused: %+v, %v", g, err)
	}
	if err := d.Push(ctx, "sums", "numbers", map[string]int{"a": 3, "b": 4}); err != nil {
		t.Error(err)
	}
	if s, err := d.State(ctx, "sums", ""); err != nil || !s.Paused || string(s.Nodes["sum"]) != "3" {
		t.Errorf("state: %+v, %v", s, err)
	}
	enough := errors.New("enough")
	g, err := d.Graph(ctx, "sums")
	if err != nil {
		t.Fatal(err)
	}
	first := (&client.Frame{Incarnation: g.Incarnation, Seq: 1}).Place()
	if _, err := d.Resume(ctx, "sums"); err != nil {
		t.Error(err)
	}
	var frame client.Frame
	err = d.Subscribe(ctx, "sums", []string{"outputs"}, first, func(f *client.Frame) error {
		frame = *f
		return enough
	})
	if !errors.Is(err, enough) || frame.Output != "sums" || string(frame.Value) != "7" {
		t.Errorf("subscribed: %+v, %v", frame, err)
	}
	gone, stop := context.WithCancel(ctx)
	stop()
	if err := d.Subscribe(gone, "", []string{"health"}, "", nil); err != nil {
		t.Errorf("a subscription that was ended: %v", err)
	}
	err = d.Subscribe(ctx, "sums", []string{"outputs"}, first, func(*client.Frame) error {
		return d.Delete(ctx, "sums", true)
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("a graph that is gone: %v", err)
	}
	if _, err := d.Graph(ctx, "sums"); client.Code(err) != "graph_not_found" {
		t.Errorf("got %v", err)
	}
}

// TestHandler: the API is served below a prefix of the program's own server, sockets too.
func TestHandler(t *testing.T) {
	t.Parallel()
	d := unheard(t, graphd.Config{})
	mux := http.NewServeMux()
	mux.Handle("/flows/", http.StripPrefix("/flows", d.Handler()))
	ts := httptest.NewServer(mux)
	defer ts.Close()
	c, err := client.New(client.Config{BaseURL: ts.URL + "/flows"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), "sums", []string{"outputs"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Push(t.Context(), "sums", "numbers", []byte(`{"a":1,"b":1}`)); err != nil || r.Accepted != 1 {
		t.Errorf("pushed: %+v, %v", r, err)
	}
	if f, err := w.Next(t.Context()); err != nil || string(f.Value) != "2" {
		t.Errorf("watched: %+v, %v", f, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestHandlerBeyondLoopback: a daemon without tokens is for this machine alone, whoever serves it (A1).
func TestHandlerBeyondLoopback(t *testing.T) {
	t.Parallel()
	closed, open := unheard(t, graphd.Config{}), unheard(t, graphd.Config{Insecure: true})
	ask := func(d *graphd.Daemon, local net.Addr) int {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/v1/graphs", http.NoBody)
		if local != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
		}
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, r)
		return w.Code
	}
	away, here := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	for _, tt := range []struct {
		d    *graphd.Daemon
		at   net.Addr
		want int
	}{{closed, here, 200}, {closed, away, 403}, {closed, nil, 403}, {open, away, 200}} {
		if got := ask(tt.d, tt.at); got != tt.want {
			t.Errorf("at %v: %d, want %d", tt.at, got, tt.want)
		}
	}
}

// TestListenNoneSpeaksNoTLS: a certificate that nothing would show is a mistake.
func TestListenNoneSpeaksNoTLS(t *testing.T) {
	t.Parallel()
	c := graphd.Config{Store: "memory:", Listen: graphd.ListenNone, TLSCert: "a", TLSKey: "b"}
	_, err := graphd.New(t.Context(), c)
	if !errors.Is(err, graphd.ErrConfig) {
		t.Errorf("got %v", err)
	}
}
