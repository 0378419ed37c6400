package main

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
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// BenchmarkGuests runs epochs with two guests of a millisecond or so each: one after the other in the graph's own
// goroutine, in a pool of one thread, and in one of two:
//
//	go test ./bench -run '^$' -bench Guests
func BenchmarkGuests(b *testing.B) {
	const events, turns = 300, 1_000_000
	folder := b.TempDir()
	module, input := filepath.Join(folder, "sums.wasm"), filepath.Join(folder, "a.ndjson")
	program := wasmtest.Program{Funcs: []wasmtest.Func{wasmtest.SumTo("sum")}}
	lines := strings.Repeat(fmt.Sprintln(turns), events)
	for file, text := range map[string][]byte{module: program.Bytes(), input: []byte(lines)} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, lane := range map[string]string{
		"inline": "event_loop: {}", "threads=1": "pool: { max_threads: 1 }", "threads=2": "pool: { max_threads: 2 }",
	} {
		d, err := graphd.ParseDeclaration(fmt.Appendf(nil, `graph: heavy
accumulators: { a: { strategy: sequential } }
lanes: { beside: { %s } }
nodes:
  n: { wasm: { module: %[2]q, function: sum, timeout: 10s }, inputs: [a], lane: beside }
  m: { wasm: { module: %[2]q, function: sum, timeout: 10s }, inputs: [a], lane: beside }
outputs: { o: { from: n, sink: { drop: {} } }, p: { from: m, sink: { drop: {} } } }
`, lane, module), "")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := d.Run(b.Context(), graphd.RunConfig{
					Inputs: map[string]string{"a": input}, Stdout: io.Discard,
				})
				if err != nil || s.Events != events || s.Outputs != 2*events {
					b.Fatalf("%v, %+v", err, s)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*events), "µs/epoch")
		})
	}
}

// BenchmarkCalls has a daemon call a server that takes 20 ms for each answer, for events of many keys, with so many
// calls at once:
//
//	go test ./bench -run '^$' -bench Calls -benchtime 1x
func BenchmarkCalls(b *testing.B) {
	const latency = 20 * time.Millisecond
	var out, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n := out.Add(1); ; {
			if m := most.Load(); m >= n || most.CompareAndSwap(m, n) {
				break
			}
		}
		defer out.Add(-1)
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(latency)
		_, _ = io.WriteString(w, `{"risk":7}`)
	}))
	b.Cleanup(server.Close)
	for _, concurrency := range []int{1, 64} {
		b.Run(fmt.Sprint("concurrency=", concurrency), func(b *testing.B) {
			events := 50 * concurrency
			most.Store(0)
			for b.Loop() {
				call(b, server.URL, concurrency, events)
			}
			b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(most.Load()), "calls-at-once")
		})
	}
}

// call has a daemon take so many events, and waits for what comes of them.
func call(b *testing.B, url string, concurrency, events int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	doc := fmt.Sprintf(`graph: scored
accumulators: { a: { strategy: sequential, source: { generator: { expr: '{ "id": i }', count: %d } } } }
reactor: { key: id }
nodes: { n: { http: { url: %q, body: a, concurrency: %d } }, risk: { expr: n.risk } }
outputs: { o: { from: risk, sink: { go: { name: told } } } }
`, events, url, concurrency)
	done, came := make(chan struct{}), 0
	told := func(_ context.Context, batch []graphd.Message) error {
		if came += len(batch); came == events {
			close(done)
		}
		return nil
	}
	d, err := graphd.New(ctx, graphd.Config{Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard,
		AllowOutbound: []string{"loopback"}, Log: slog.New(slog.DiscardHandler),
		Registry:     graphd.Registry{Sinks: map[string]graphd.SinkFunc{"told": told}},
		Declarations: map[string][]byte{"scored.yaml": []byte(doc)}})
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case <-done:
	case err := <-ended:
		b.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
