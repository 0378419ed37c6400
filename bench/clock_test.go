package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// BenchmarkClock is W2 and W3 live, under either clock: a whole engine with the memory store that has its
// files to catch up with. GOMAXPROCS=1 makes the two comparable: under the event clock less is done at
// one time. For instructions, under callgrind:
//
//	go test -c ./bench && ./bench.test -test.run '^$' -test.bench Clock/w3/event -test.benchtime 1x
func BenchmarkClock(b *testing.B) {
	const events = 200_000
	for _, wl := range workloads()[1:] {
		for _, clock := range []string{"arrival", "event"} {
			b.Run(wl.name+"/"+clock, func(b *testing.B) {
				f, err := wl.prepare(b.TempDir(), events)
				if err != nil {
					b.Fatal(err)
				}
				doc := clocked(&wl, f, clock)
				b.ReportAllocs()
				for b.Loop() {
					catchUp(b, doc, int64(f.events))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*f.events), "ns/event")
			})
		}
	}
}

// clocked is a workload's declaration under a clock, over its files.
func clocked(wl *workload, f *files, clock string) []byte {
	doc := append([]byte("clock: "+clock+"\n"), wl.declaration...)
	for i, in := range wl.inputs {
		doc = bytes.ReplaceAll(doc, []byte("path: "+in.name+".ndjson"), fmt.Appendf(nil, "path: %q", f.paths[i]))
	}
	if wl.name == "w2" {
		doc = bytes.ReplaceAll(doc, []byte("} } }\n  price"), []byte("} }, time: event.ts }\n  price"))
		doc = bytes.ReplaceAll(doc, []byte("} } }\nreactor"), []byte("} }, time: event.ts }\nreactor"))
	}
	return doc
}

// catchUp runs the graph until it has taken in all its events.
func catchUp(b *testing.B, doc []byte, events int64) {
	b.Helper()
	e := engine.New(engine.Config{Store: memory.New(), Kinds: &builtin.Kinds{Stdout: stdout.NewOutput(io.Discard)},
		Log: slog.New(slog.DiscardHandler)})
	if err := e.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	ref := api.Ref{Tenant: "default", Name: "w"}
	doc = append([]byte("# w\n"), doc...)
	for _, n := range []string{"w2", "w3"} {
		doc = bytes.ReplaceAll(doc, []byte("graph: "+n), []byte("graph: w"))
	}
	if _, err := e.Apply(b.Context(), ref, doc, api.Change{}); err != nil {
		b.Fatalf("%v\n%s", err, doc)
	}
	for {
		s, err := e.Graph(b.Context(), ref)
		if err != nil {
			b.Fatal(err)
		}
		if s.Counters.Received >= events {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
