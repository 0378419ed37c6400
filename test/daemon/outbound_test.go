package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// lines collects what is written to it. Safe for concurrent use.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// outboundDaemon runs a graph that polls one server and posts to another; both need the
// secret, and there is a try at a denied address.
func outboundDaemon(t *testing.T, allow []string) (get func(path string) string, log *lines, posted *atomic.Int64) {
	t.Helper()
	posted = &atomic.Int64{}
	var n atomic.Int64
	polled := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer hunter2" && strings.HasSuffix(r.URL.Path, "hunter2") {
			fmt.Fprintf(w, `{"n":%d}`, n.Add(1))
		}
	}))
	t.Cleanup(polled.Close)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Token") == "hunter2" && r.Header.Get("Graphd-Firing-Id") != "" {
			posted.Add(1)
		}
	}))
	t.Cleanup(hook.Close)
	t.Setenv("GRAPHD_VAR_SECRET", "hunter2")
	log = &lines{}
	doc := fmt.Appendf(nil, `graph: out
accumulators:
  a:
    source:
      poll:
        http: "%s/${GRAPHD_VAR_SECRET}"
        every: 10ms
        headers: { Authorization: "Bearer ${GRAPHD_VAR_SECRET}" }
    strategy: sequential
  b: { source: { poll: { http: "http://169.254.169.254/${GRAPHD_VAR_SECRET}", every: 10ms } } }
reactor: { warm_timeout: 10ms }
outputs:
  hook: { from: a, sink: { http: { url: "%s/${GRAPHD_VAR_SECRET}", headers: { X-Token: "${GRAPHD_VAR_SECRET}" } } } }
  away: { from: a, sink: { http: { url: "http://10.0.0.1/${GRAPHD_VAR_SECRET}" } } }
`, polled.URL, hook.URL)
	d := startDaemon(t, graphd.Config{
		Store: "memory:", AllowOutbound: allow,
		Declarations: map[string][]byte{"out.yaml": doc}, // the operator's own
		Log:          slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	<-d.ready
	get = func(path string) string {
		t.Helper()
		_, body := d.send(http.MethodGet, path, "")
		return string(body)
	}
	return get, log, posted
}

// until looks until a page says something.
func until(t *testing.T, get func(string) string, path string, says ...string) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for {
		page := get(path)
		missing := ""
		for _, text := range says {
			if !strings.Contains(page, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("%s does not say %q: %s", path, missing, page)
		}
	}
}

// A daemon on loopback calls loopback and nothing else that is not public; what is denied is
// told and counted, and no secret is shown anywhere.
func TestOutboundOfALoopbackDaemon(t *testing.T) {
	get, log, posted := outboundDaemon(t, nil)
	until(t, get, "/v1/graphs/out", "169.254.169.254 is link-local", "10.0.0.1 is private", `"epoch":3`)
	until(t, get, "/v1/limits", `"outbound_calls"`)
	until(t, get, "/metrics", "graphd_outbound_calls", `graphd_source_stale_seconds{accumulator="a"`)
	if strings.Contains(get("/metrics"), "graphd_outbound_denied_total 0\n") {
		t.Error("what was denied is not counted")
	}
	until(t, func(string) string { return fmt.Sprint(posted.Load() > 2) }, "", "true")
	for _, path := range []string{
		"/v1/graphs", "/v1/graphs/out", "/v1/graphs/out/plan", "/v1/graphs/out/recovery-events",
		"/v1/graphs/out/firings", "/v1/graphs/out/dead-letters", "/v1/tree", "/metrics",
	} {
		if page := get(path); strings.Contains(page, "hunter2") {
			t.Errorf("%s shows a secret: %s", path, page)
		}
	}
	if text := log.String(); strings.Contains(text, "hunter2") {
		t.Errorf("the log shows a secret: %s", text)
	}
}

func TestOutboundNone(t *testing.T) {
	get, _, posted := outboundDaemon(t, []string{"none"})
	until(t, get, "/v1/graphs/out", "127.0.0.1 is loopback", "169.254.169.254 is link-local")
	if posted.Load() != 0 {
		t.Error("a denied call was made")
	}
	_, err := graphd.New(t.Context(), graphd.Config{
		Store: "memory:", Listen: "127.0.0.1:0", AllowOutbound: []string{"http://x"},
	})
	if err == nil || !strings.Contains(err.Error(), "http://x") {
		t.Errorf("got %v", err)
	}
}
