package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
)

// Commits alone, single and grouped, are measured beside the store:
//
//	go test ./internal/dal/postgres -run '^$' -bench 'Commit|CoTransaction|AppendJournal' -benchtime 2000x

// journaled keeps every push in the journal before it is answered.
const journaled = `
graph: journaled
accumulators:
  ticks: { source: { websocket: {} }, strategy: sequential, capacity: 65536 }
durability: { mode: journal }
nodes:
  number: { expr: ticks.n + 0 }
outputs:
  numbers: { from: number, sink: { drop: {} } }
`

// BenchmarkJournaledPush is 64 WebSocket clients with up to 100 unanswered frames of one
// event each, on Postgres and on SQLite: events a second, and the time from a frame to the
// answer that says that a crash loses nothing of it.
func BenchmarkJournaledPush(b *testing.B) {
	b.Run("postgres", func(b *testing.B) { benchJournaled(b, testbed.Postgres(b)) })
	b.Run("sqlite", func(b *testing.B) { benchJournaled(b, "sqlite:"+filepath.Join(b.TempDir(), "graphd.db")) })
}

func benchJournaled(b *testing.B, store string) {
	const clients, window, each = 64, 100, 2000
	addr, stop := serveStore(b, store, map[string][]byte{"journaled.yaml": []byte(journaled)})
	defer stop()
	for b.Loop() {
		var mu sync.Mutex
		var took []time.Duration
		var wg sync.WaitGroup
		began := time.Now()
		for range clients {
			wg.Go(func() {
				mine, err := pushWindowed(b.Context(), addr, each, window)
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				took = append(took, mine...)
				mu.Unlock()
			})
		}
		wg.Wait()
		elapsed := time.Since(began)
		slices.Sort(took)
		if len(took) != clients*each {
			b.Fatalf("%d of %d answers", len(took), clients*each)
		}
		b.ReportMetric(float64(len(took))/elapsed.Seconds(), "events/s")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	}
}

// pushWindowed sends frames of one event each, no more than window unanswered, and answers
// how long each answer took.
func pushWindowed(ctx context.Context, addr string, n, window int) ([]time.Duration, error) {
	conn, _, err := websocket.Dial(ctx, "ws://"+addr+"/v1/ws/graphs/journaled/accumulators/ticks",
		&websocket.DialOptions{Subprotocols: []string{"graphd.v1+json"}})
	if err != nil {
		return nil, err
	}
	defer conn.CloseNow()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	room := make(chan struct{}, window)
	sent := make([]time.Time, n)
	failed := make(chan error, 1)
	go func() { // joined by the last answer, or ended by ctx
		for i := range n {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
			sent[i] = time.Now()
			if err := conn.Write(ctx, websocket.MessageText,
				fmt.Appendf(nil, `{"type":"event","id":%d,"data":{"n":%d}}`, i, i)); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	took := make([]time.Duration, 0, n)
	for len(took) < n {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return took, err
		}
		var a struct {
			Type    string
			ID      int
			Durable bool
		}
		if err := json.Unmarshal(frame, &a); err != nil {
			return took, err
		}
		if a.Type == "hello" {
			continue
		}
		if a.Type != "ack" || !a.Durable {
			return took, fmt.Errorf("not a durable answer: %s", frame)
		}
		took = append(took, time.Since(sent[a.ID]))
		<-room
	}
	return took, <-failed
}

// BenchmarkRestart is a daemon that starts with a graph whose cache is 100 MB: from the
// opening of the store until the graph is live.
func BenchmarkRestart(b *testing.B) {
	b.Run("postgres", func(b *testing.B) { benchRestart(b, testbed.Postgres(b)) })
	b.Run("sqlite", func(b *testing.B) { benchRestart(b, "sqlite:"+filepath.Join(b.TempDir(), "graphd.db")) })
}

func benchRestart(b *testing.B, store string) {
	const inputs, size = 20, 5_000_000
	var doc strings.Builder
	doc.WriteString("graph: large\naccumulators:\n")
	for i := range inputs {
		fmt.Fprintf(&doc, "  a%d: {}\n", i)
	}
	doc.WriteString("nodes:\n  n: { expr: a0.id }\noutputs:\n  o: { from: n, sink: { drop: {} } }\n")
	addr, stop := serveStore(b, store, map[string][]byte{"large.yaml": []byte(doc.String())})
	value := `{"id":1,"text":"` + strings.Repeat("0123456789abcdef", size/16) + `"}`
	for i := range inputs {
		res, err := http.Post(fmt.Sprintf("http://%s/v1/graphs/large/accumulators/a%d/events", addr, i),
			"application/json", strings.NewReader(value))
		if err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode/100 != 2 {
			b.Fatalf("push: %s", res.Status)
		}
	}
	stop()
	for b.Loop() {
		began := time.Now()
		addr, stop := serveStore(b, store, nil)
		untilLive(b, addr, "large")
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "live-ms")
		stop()
	}
}

// untilLive waits until a graph is live.
func untilLive(b *testing.B, addr, graph string) {
	b.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		res, err := http.Get("http://" + addr + "/v1/graphs/" + graph)
		if err != nil {
			continue
		}
		var s struct{ Health string }
		err = json.NewDecoder(res.Body).Decode(&s)
		res.Body.Close()
		if err == nil && s.Health == "live" {
			return
		}
	}
	b.Fatal("the graph is not live after a minute")
}

// serveStore runs a daemon on a store until stop is called.
func serveStore(b *testing.B, store string, declarations map[string][]byte) (addr string, stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d, err := graphd.New(ctx, graphd.Config{Data: b.TempDir(), Store: store, Listen: "127.0.0.1:0", Stdout: io.Discard,
		Declarations: declarations})
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	return d.Addr(), func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}
