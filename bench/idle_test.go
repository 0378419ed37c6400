package main

import (
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// BenchmarkIdleGraph is what the heap keeps of a graph that gets nothing:
//
//	go test ./bench -run '^$' -bench IdleGraph -benchtime 2000x -memprofile idle.prof -memprofilerate 512
func BenchmarkIdleGraph(b *testing.B) {
	ctx := b.Context()
	kinds := &builtin.Kinds{Stdout: stdout.NewOutput(io.Discard)}
	kinds.Keep()
	e := engine.New(engine.Config{Store: memory.New(), Kinds: kinds, MaxGraphs: b.N + 1,
		Log: slog.New(slog.DiscardHandler)})
	if err := e.Open(ctx); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	}()
	apply := func(i int) {
		name := "g" + strconv.Itoa(i)
		_, err := e.Apply(ctx, api.Ref{Tenant: "default", Name: name},
			[]byte(strings.Replace(idleGraph, "NAME", name, 1)), api.Change{})
		if err != nil {
			b.Fatal(err)
		}
	}
	apply(b.N) // what the first one makes is not its own
	before := inUse()
	b.ResetTimer()
	for i := range b.N {
		apply(i)
	}
	b.StopTimer()
	b.ReportMetric(float64(inUse()-before)/float64(b.N), "B-kept/graph")
}

// inUse is what the heap has after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
