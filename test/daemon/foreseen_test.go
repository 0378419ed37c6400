package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// M26: where epochs go by the times of events the calls of several instants are on their way at once: a server that
// answers none before it has all of them answers. It is so for what is pushed, for what a source reads, and in shards.
func TestCallsOverlapAcrossInstants(t *testing.T) {
	t.Parallel()
	const events = 12
	for _, tc := range []struct{ name, source, shards string }{
		{"pushed", "", ""},
		{"read", "source: { file: { path: in.ndjson } },", ""},
		{"pushed to shards", "", ", shards: 2"},
		{"read by shards", "source: { file: { path: in.ndjson } },", ", shards: 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			asked, all := map[string]int{}, make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				if asked[string(body)]++; len(asked) == events && asked[string(body)] == 1 {
					close(all)
				}
				mu.Unlock()
				select {
				case <-all:
					_, _ = w.Write(body)
				case <-r.Context().Done():
				}
			}))
			t.Cleanup(server.Close)
			files := t.TempDir()
			var lines []string
			for n := range events {
				lines = append(lines, fmt.Sprintf(`{"k":"k%d","n":%d,"at":"2026-01-01T00:00:%02dZ"}`, n, n, n))
			}
			if err := os.WriteFile(filepath.Join(files, "in.ndjson"), []byte(strings.Join(lines, "\n")+"\n"),
				0o600); err != nil {
				t.Fatal(err)
			}
			d := startDaemon(t, graphd.Config{
				Store: "memory:", AllowOutbound: []string{"loopback"}, FilesDir: files,
				Log: slog.New(slog.DiscardHandler),
			})
			<-d.ready
			ask := func(method, path, body string) string {
				t.Helper()
				status, data := d.send(method, path, body)
				return fmt.Sprintf("%d %s", status, data)
			}
			if said := ask(http.MethodPut, "/v1/graphs/g", fmt.Sprintf(`graph: g
accumulators: { a: { %s time: event.at, strategy: sequential } }
reactor: { key: k%s }
nodes: { n: { http: { url: "%s", body: a.n, safe: true, concurrency: %d, timeout: 1m } } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, tc.source, tc.shards, server.URL, events)); said[0] != '2' {
				t.Fatal(said)
			}
			if tc.source == "" {
				if said := ask(http.MethodPost, "/v1/graphs/g/accumulators/a/events",
					"["+strings.Join(lines, ",")+"]"); said[0] != '2' {
					t.Fatal(said)
				}
			}
			until(t, func(path string) string { return ask(http.MethodGet, path, "") }, "/v1/graphs/g",
				fmt.Sprintf(`"consumed":%d,`, events))
			mu.Lock()
			defer mu.Unlock()
			for body, times := range asked {
				if times != 1 {
					t.Errorf("it was asked %d times for %s", times, body)
				}
			}
		})
	}
}

// M42: a push whose events wait for their turn behind calls is told that, and not of a queue that is full.
func TestAPushBehindCallsIsToldOfThem(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	d := startDaemon(t, graphd.Config{
		Store: "memory:", AllowOutbound: []string{"loopback"}, PushTimeout: 200 * time.Millisecond,
		Log: slog.New(slog.DiscardHandler),
		Declarations: map[string][]byte{"g.yaml": fmt.Appendf(nil, `graph: g
accumulators: { a: { time: event.at, strategy: sequential } }
reactor: { key: k }
nodes: { n: { http: { url: "%s", body: a.k, timeout: 1m } } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, server.URL)},
	})
	<-d.ready
	said := ""
	d.until("that it waits behind calls", func() bool {
		status, body := d.send(http.MethodPost, "/v1/graphs/g/accumulators/a/events",
			`[{"k":"a","at":"2026-01-01T00:00:00Z"},{"k":"b","at":"2026-01-01T00:00:01Z"}]`)
		said = fmt.Sprintf("%d %s", status, body)
		return strings.Contains(said, `the events waited for their turn (awaiting_answer: what comes before waits for `+
			`answers to node n, of which `)
	})
	if !strings.HasPrefix(said, "429 ") || !strings.Contains(said, `"code":"queue_full"`) {
		t.Error(said)
	}
}
