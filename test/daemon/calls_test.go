package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	d := startDaemon(t, graphd.Config{
		Store: "memory:", AllowOutbound: []string{"loopback"},
		Declarations: map[string][]byte{
			"hangs.yaml": fmt.Appendf(nil, doc, "hangs", "1m", server.URL),
			"fails.yaml": fmt.Appendf(nil, doc, "fails", "1m", server.URL+"/failing"),
			"opens.yaml": []byte(strings.Replace(fmt.Sprintf(doc, "opens", "1m", server.URL+"/failing"), "body: a,",
				"body: a, breaker: { failures: 2, open: 10m },", 1)),
			"fired.yaml": fmt.Appendf(nil, doc, "fired", "3s", server.URL+"/failing"),
		},
		Log: slog.New(slog.DiscardHandler),
	})
	<-d.ready
	ask := func(method, path, body string) string {
		t.Helper()
		status, data := d.send(method, path, body)
		return fmt.Sprintf("%d %s", status, data)
	}
	get := func(path string) string { return ask(http.MethodGet, path, "") }
	for _, graph := range []string{"hangs", "fails", "opens"} {
		if said := ask(http.MethodPost, "/v1/graphs/"+graph+"/accumulators/a/events", "[1]"); said[0] != '2' {
			t.Fatal(said)
		}
	}
	until(t, get, "/v1/graphs/hangs", `"health":"live"`, `"code":"awaiting_answer"`, `"node":"n","out":1,"waiting":0`,
		`"awaited_since":"`)
	until(t, get, "/v1/graphs/fails", `"health":"live"`, `"code":"calls_failing"`, `503 Service Unavailable`,
		`"failed_in_row":`)
	until(t, get, "/v1/graphs/hangs/why-not", `"sentence":"the next epoch waits for an answer to node n: 1 call on `+
		`the way, 0 that wait to begin"`, `"code":"waits_for_answer"`, `"node":"n"`)
	until(t, get, "/v1/graphs/opens/why-not", `"code":"breaker_open"`, `node n calls nobody for a while, since the `+
		`last tries have failed: `, `503 Service Unavailable`)
	said := ask(http.MethodPost, "/v1/graphs/fired/fire", `{"mode":"with","cache":{"a":1}}`)
	for _, part := range []string{"504", `"code":"call_unanswered"`, " to what n asked for: ",
		"503 Service Unavailable"} {
		if !strings.Contains(said, part) {
			t.Errorf("a fire without an answer says %s, and not %s", said, part)
		}
	}
	until(t, get, "/v1/graphs/fired", `"epoch":0,`)
}
