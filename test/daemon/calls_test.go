package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// TestWhyAGraphWaitsForAnAnswer: one look at a graph says what its nodes have called, and for what it waits; a fire
// that is not answered says so too, and has changed nothing.
func TestWhyAGraphWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		if strings.HasSuffix(r.URL.Path, "/failing") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	const doc = `graph: %s
accumulators: { a: { strategy: sequential } }
reactor: { epoch_timeout: %s }
nodes: { n: { http: { url: "%s", body: a, timeout: 1m }, retry: { base: 10ms, max: 10ms } } }
outputs: { o: { from: n, sink: { drop: {} } } }
`
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	d, err := graphd.New(ctx, graphd.Config{
		Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard, AllowOutbound: []string{"loopback"},
		Declarations: map[string][]byte{
			"hangs.yaml": fmt.Appendf(nil, doc, "hangs", "1m", server.URL),
			"fails.yaml": fmt.Appendf(nil, doc, "fails", "1m", server.URL+"/failing"),
			"fired.yaml": fmt.Appendf(nil, doc, "fired", "3s", server.URL+"/failing"),
		},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-d.Ready()
	ask := func(method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, "http://"+d.Addr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status + " " + string(text)
	}
	get := func(path string) string { return ask(http.MethodGet, path, "") }
	for _, graph := range []string{"hangs", "fails"} {
		if said := ask(http.MethodPost, "/v1/graphs/"+graph+"/accumulators/a/events", "[1]"); said[0] != '2' {
			t.Fatal(said)
		}
	}
	until(t, get, "/v1/graphs/hangs", `"health":"live"`, `"code":"awaiting_answer"`, `"node":"n","out":1,"waiting":0`,
		`"awaited_since":"`)
	until(t, get, "/v1/graphs/fails", `"health":"live"`, `"code":"calls_failing"`, `503 Service Unavailable`,
		`"failed_in_row":`)
	said := ask(http.MethodPost, "/v1/graphs/fired/fire", `{"mode":"with","cache":{"a":1}}`)
	for _, part := range []string{"504", `"code":"call_unanswered"`, " to what n asked for: ",
		"503 Service Unavailable"} {
		if !strings.Contains(said, part) {
			t.Errorf("a fire without an answer says %s, and not %s", said, part)
		}
	}
	until(t, get, "/v1/graphs/fired", `"epoch":0,`)
}
