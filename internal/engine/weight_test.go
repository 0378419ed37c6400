package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/dal/sqlite"
	"github.com/graphd/graphd/internal/quota"
)

// heapInUse is what is live on the heap.
func heapInUse() int64 {
	for range 3 { // what a cycle frees of pools and finalizers, the next one sweeps
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// weighAlone runs the test by itself in a process of its own.
func weighAlone(t *testing.T) {
	t.Helper()
	name := regexp.MustCompile("[^/]+").ReplaceAllString(t.Name(), "^$0$$")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run="+name)
	cmd.Env = append(os.Environ(), weighed+"=1")
	said, err := cmd.CombinedOutput()
	if t.Log(string(said)); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
		t.Fatal(err)
	}
}

// weighed says in a process of TestMemoryIsWhatTheHeapHas that it is one.
const weighed = "GRAPHD_TEST_WEIGHED"

// TestMemoryIsWhatTheHeapHas: what a graph says it holds is what the heap has grown by, within three tenths (A4). Each
// case has a process of its own, in which nothing else grows, and nothing that another test has left goes.
func TestMemoryIsWhatTheHeapHas(t *testing.T) {
	t.Parallel()
	scale := 10
	if os.Getenv("GRAPHD_WEIGHT") != "" { // for figures: it takes minutes under the race detector
		scale = 1
	}
	const outputs = "outputs: { o: { from: n, sink: { drop: {} } } }\ndurability: { interval: 1h }\n"
	pad := strings.Repeat("x", 150)
	for _, c := range []struct {
		name, doc string
		n         int
		event     func(i int) string
		part      func(m *api.Memory) int64
	}{
		{"keys", "accumulators: { a: { strategy: sequential } }\nreactor: { key: id, ttl: 24h }\n" +
			"nodes: { n: { expr: '{ id: a.id, twice: a.x * 2 }' } }\nhistory: { keep: 10 }\n" + outputs, 300_000,
			func(i int) string {
				return fmt.Sprintf(`{"id":"device-%07d","x":%d,"at":"2026-01-01T00:00:00Z"}`, i, i)
			},
			func(m *api.Memory) int64 { return m.Keys }},
		{"table", "accumulators: { a: { table: { key: event.id } }, b: {} }\n" +
			"nodes: { n: { expr: 'a[b]' } }\nhistory: { keep: 10 }\n" + outputs, 200_000,
			func(i int) string {
				return fmt.Sprintf(`{"id":%d,"name":"customer %d","note":%q,"limit":%d}`, i, i, pad[:i%150], i)
			}, func(m *api.Memory) int64 { return m.State }},
		{"windows", "accumulators: { a: { time: event.at, window: { tumbling: 1h, late: drop, key: event.id, " +
			"aggregate: { n: count(), mean: mean(event.x), p90: 'quantile(event.x, 0.9)' } } } }\n" +
			"nodes: { n: { expr: a.n } }\nhistory: { keep: 10 }\n" + outputs, 100_000,
			func(i int) string {
				return fmt.Sprintf(`{"id":"s%d","x":%d,"at":%d}`, i/5, 1+i%1000, 1_800_000_000_000+i)
			},
			func(m *api.Memory) int64 { return m.State }},
		{"windows of lists", "accumulators: { a: { window: { count: { size: 100, every: 10 }, key: event.id, " +
			"aggregate: { all: 'collect(event.note, 100)' } } } }\n" +
			"nodes: { n: { expr: 'len(a.all)' } }\nhistory: { keep: 10 }\n" + outputs, 200_000,
			func(i int) string { return fmt.Sprintf(`{"id":"s%d","note":"%06d%s"}`, i%200, i, pad) },
			func(m *api.Memory) int64 { return m.State }},
		{"folds", "accumulators: { a: { fold: { key: event.id, init: { n: 0, last: nil }, " +
			"step: { n: state.n + 1, last: event.note } } } }\n" +
			"nodes: { n: { expr: a.n } }\nhistory: { keep: 10 }\n" + outputs, 200_000,
			func(i int) string { return fmt.Sprintf(`{"id":"k%d","note":%q}`, i, pad[:i%100]) },
			func(m *api.Memory) int64 { return m.State }},
		{"batch", "accumulators: { a: { batch: { interval: 24h }, capacity_bytes: 1000000000 } }\n" +
			"nodes: { n: { expr: 'len(a)' } }\nhistory: { keep: 10 }\n" + outputs, 200_000,
			func(i int) string { return fmt.Sprintf(`{"id":"k%d","note":%q}`, i, pad[:i%100]) },
			func(m *api.Memory) int64 { return m.State }},
		{"queues", "accumulators: { a: { strategy: sequential, capacity: 200000, capacity_bytes: 1000000000 }, " +
			"b: {} }\n" +
			"reactor: { when: all, strategy: sequential }\n" +
			"nodes: { n: { expr: 'a.x + b' } }\nhistory: { keep: 10 }\n" + outputs, 100_000,
			func(i int) string { return fmt.Sprintf(`{"x":%d,"note":%q}`, i, pad) },
			func(m *api.Memory) int64 { return m.Queues }},
		{"records", "accumulators: { a: { strategy: sequential } }\n" +
			"nodes: { n: { expr: '{ id: a.id, note: a.note + \"!\" }' } }\nhistory: { keep: 20000 }\n" + outputs,
			40_000,
			func(i int) string { return fmt.Sprintf(`{"id":%d,"note":%q}`, i, strings.Repeat(pad, 10)) },
			func(m *api.Memory) int64 { return m.Records }},
	} {
		t.Run(c.name, func(t *testing.T) { //nolint:paralleltest // one after the other: each fills a store
			if os.Getenv(weighed) == "" {
				weighAlone(t)
				return
			}
			kinds := newBed(t, memstore.New(), &scripted{})
			store, err := sqlite.Open(t.Context(), t.TempDir()+"/store.db", sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Store: store, Kinds: kinds.e.cfg.Kinds, Log: slog.New(slog.DiscardHandler),
				Quotas: quota.NewBook(nil), PushTimeout: time.Minute,
				ShutdownTimeout: 5 * time.Minute}
			kinds.close()
			b := &bed{t, New(cfg), store}
			if err := b.e.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer b.close()
			g := api.Ref{Tenant: "default", Name: "g"}
			if _, err := b.e.Apply(t.Context(), g, []byte("graph: g\n"+c.doc), api.Change{}); err != nil {
				t.Fatalf("%v %+v", err, err.(*api.Error).Diagnostics)
			}
			before := heapInUse()
			var events []json.RawMessage
			for i := range c.n / scale {
				events = append(events, json.RawMessage(c.event(i)))
				if len(events) < 1000 && i < c.n/scale-1 {
					continue
				}
				if res, err := b.e.Push(t.Context(), g, "a", events); err != nil || res.Accepted != len(events) {
					t.Fatalf("%+v %v", res, err)
				}
				events = nil
			}
			for refused := new(api.Error); ; {
				if _, err := b.e.Checkpoint(t.Context(), g); err == nil {
					break
				} else if !errors.As(err, &refused) || refused.Code != "command_timeout" {
					t.Fatal(err)
				}
			}
			var s api.GraphSummary
			for deadline := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
				// What is on its way to the store yet is on the heap, too, and soon no longer.
				grown := heapInUse() - before
				if s, err = b.e.Graph(t.Context(), g); err != nil {
					t.Fatal(err)
				}
				off := float64(s.Cost.MemoryBytes)/float64(grown) - 1
				text := fmt.Sprintf("the heap has grown by %d, told are %d: %+.0f %%, %+v", grown, s.Cost.MemoryBytes,
					100*off, s.Cost.Memory)
				if off > -0.3 && off < 0.3 {
					t.Log(text)
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(text)
				}
			}
			if own := c.part(&s.Cost.Memory); own < s.Cost.MemoryBytes/2 {
				t.Errorf("%+v", s.Cost.Memory)
			}
		})
	}
}
