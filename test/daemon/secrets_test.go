package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/trace/tracetest"
)

// secretGraph calls with what a file has, fails once in a function that panics, and has a dead letter of its sink.
const secretGraph = `graph: payments
accumulators: { cards: { strategy: sequential } }
nodes:
  sum: { expr: cards.amount + 1 }
  risk: { go: { name: risk }, inputs: [cards] }
outputs:
  hook:
    from: sum
    on_error: dead_letter
    retry: { attempts: 1 }
    sink: { http: { url: '%s', headers: { Authorization: 'Bearer ${file:%s}', X-Kind: %s } } }
  risks: { from: risk, sink: { websocket: {} } }
`

// A2: secrets that declarations and the configuration name stand in no answer, no page, no frame, no log, no trace, no
// metric and no dump of goroutines, whatever fails, a panic too; what events hold is told to who may read the graph,
// and neither to the log nor to metrics, traces, dumps and pages. What a support bundle has, cmd/graphd holds.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	secrets, payloads := map[string]string{}, map[string]string{}
	plant := func(in map[string]string, where string) string {
		in[where] = "planted-" + strings.ReplaceAll(where, " ", "-") + "-5c1d"
		return in[where]
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	header, second := write("header", plant(secrets, "header")), write("second", plant(secrets, "changed header"))
	database := write("database", "postgres://u:"+plant(secrets, "password in a file")+"@127.0.0.1:1/x")
	otlp := write("otlp", plant(secrets, "header of the collector"))
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization")) // a server that tells it back
	}))
	defer hook.Close()
	c := tracetest.Start(t, nil)
	var log lines
	d := startDaemon(t, graphd.Config{Data: filepath.Join(dir, "data"), SecretsDir: dir, Pprof: true,
		Connections: []string{"db=postgres://u:" + plant(secrets, "password of a connection") + "@127.0.0.1:1/x",
			"filed=file:" + database}, AllowOutbound: []string{"loopback"},
		OTLPEndpoint: c.URL, OTLPHeaders: []string{"X-Key=file:" + otlp}, TraceRatio: 1, LogLevel: new(slog.LevelVar),
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Registry: graphd.Registry{Nodes: map[string]graphd.NodeFunc{"risk": func(in map[string]any) (any, error) {
			if card, ok := in["cards"].(map[string]any); ok && fmt.Sprint(card["amount"]) == "8" {
				panic("the function has failed")
			}
			return 1, nil
		}}}})
	root := d.token("", "platform-admin", "*")
	secrets["token"] = root
	document := func(file, kind string) string {
		return fmt.Sprintf(secretGraph, strings.Replace(hook.URL, "127.0.0.1", "localhost", 1), file, kind)
	}
	texts := map[string]string{}   // what may tell of events
	outside := map[string]string{} // what may not
	ask := func(into map[string]string, method, path, body string) (status int) {
		t.Helper()
		status, text := d.sent(root, "", method, path, body)
		into[fmt.Sprintf("%s %s %d", method, path, len(into))] = text
		return status
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, d.base+"/v1/ws/events", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + root}}, Subprotocols: []string{"graphd.v1+json"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageText,
		[]byte(`{"type":"subscribe","id":1,"topics":["outputs","firings","health"]}`)); err != nil {
		t.Fatal(err)
	}
	if status := ask(texts, "PUT", "/v1/graphs/payments", document(header, "a")); status != http.StatusCreated {
		t.Fatalf("%v", texts)
	}
	for _, body := range []string{`{"amount":7,"card":"` + plant(payloads, "event") + `"}`,
		`{"amount":"` + plant(payloads, "bad event") + `"}`, `{"amount":8}`} {
		ask(texts, "POST", "/v1/graphs/payments/accumulators/cards/events", body)
	}
	d.until("the hook has refused a value", func() bool {
		_, text := d.sent(root, "", "GET", "/v1/graphs/payments/dead-letters", "")
		return strings.Contains(text, "http_418")
	})
	for _, path := range []string{"/v1/graphs/payments?dry_run=1", "/v1/graphs/payments"} {
		if status := ask(texts, "PUT", path, document(second, "b")); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	ask(texts, "PUT", "/v1/graphs/payments", strings.Replace(document(header, "c"), "cards.amount + 1",
		"'${file:"+header+"}'", 1)) // misplaced: a mistake that is told
	ask(texts, "PUT", "/v1/graphs/polled", "graph: polled\naccumulators: { rows: { source: { poll: { connection: "+
		"filed, sql: SELECT 1 AS id, key: id, every: 100ms } } } }\n"+
		"outputs: { o: { from: rows, sink: { drop: {} } } }\n")
	d.until("the database is away", func() bool {
		_, text := d.sent(root, "", "GET", "/v1/graphs/polled", "")
		return strings.Contains(text, `"disconnected"`)
	})
	ask(texts, "POST", "/v1/graphs/payments/fire", `{"mode":"force"}`)
	for _, path := range []string{"", "/plan", "/state", "/firings", "/firings/1", "/firings/2", "/firings/3",
		"/recovery-events", "/dead-letters", "/revisions", "/revisions/1", "/accumulators", "/accumulators/cards"} {
		ask(texts, "GET", "/v1/graphs/payments"+path, "")
	}
	for _, path := range []string{"/v1/graphs", "/v1/graphs/polled", "/v1/graphs/polled/recovery-events", "/v1/tree",
		"/v1/limits", "/v1/members", "/v1/tokens", "/v1/audit", "/v1/audit/chains", "/v1/log-level", "/readyz",
		"/healthz", "/version", "/metrics", "/login", "/openapi.yaml", "/debug/pprof/heap?debug=1"} {
		if status := ask(outside, "GET", path, ""); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	_, outside["dump"] = d.sent(root, "", "GET", "/debug/pprof/goroutine?debug=2", "")
	_, texts["failed"] = d.sent(root, "", "GET", "/v1/graphs/payments/firings/3", "")
	if dump := outside["dump"]; !strings.Contains(dump, "goroutine ") {
		t.Errorf("no dump: %.200s", dump)
	}
	for frames := 0; frames < 6; frames++ {
		_, data, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		texts["frames"] += string(data) + "\n"
	}
	c.Await(ctx, t, "epoch payments", nil)
	c.Await(ctx, t, "sink hook", nil)
	d.stop()
	for _, s := range c.Spans() {
		outside["traces"] += s.String() + "\n"
	}
	outside["log"] = log.String()
	if c.Headers().Get("X-Key") != secrets["header of the collector"] {
		t.Error("the test is void: the collector was not sent its header")
	}
	if failed := texts["failed"]; !strings.Contains(failed, "the function has failed") {
		t.Errorf("the test is void: nothing has panicked: %s", failed)
	}
	for place, text := range texts {
		stand(t, place, text, secrets)
	}
	for place, text := range outside {
		stand(t, place, text, secrets)
		stand(t, place, text, payloads)
	}
}

// stand fails the test where a text has what it must not have.
func stand(t *testing.T, place, text string, planted map[string]string) {
	t.Helper()
	for where, secret := range planted {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s tells the %s: …%s", place, where, text[max(0, i-80):min(len(text), i+len(secret)+20)])
		}
	}
}
