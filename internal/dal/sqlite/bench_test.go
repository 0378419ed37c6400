package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

// benchStore is an empty store in a file, closed with the benchmark.
func benchStore(b *testing.B) checkpoint.Store {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "graphd.db"))
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func BenchmarkCommit(b *testing.B) { checkpointtest.BenchCommit(b, benchStore) }

func BenchmarkCommitGraphs(b *testing.B) { checkpointtest.BenchCommitGraphs(b, benchStore) }

// BenchmarkLoad reads a cache of 100 MB.
func BenchmarkLoad(b *testing.B) {
	for _, kind := range []struct {
		name     string
		n, bytes int
	}{{"1x100MB", 1, 100 << 20}, {"100x1MB", 100, 1 << 20}, {"100000x1KB", 100000, 1 << 10}} {
		b.Run(kind.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "graphd.db")
			s := open(b, path)
			o := checkpointtest.NewOwner(b, s, "market_maker")
			o.Next.Cells = checkpointtest.CellsOf(kind.n, kind.bytes)
			start := time.Now()
			o.Commit(b)
			b.Logf("first commit: %v", time.Since(start))
			b.SetBytes(100 << 20)
			for b.Loop() {
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				s = open(b, path)
				n := 0
				err := s.Load(b.Context(), o.Next.ID, func(c checkpoint.Cell) error { n += len(c.Data); return nil })
				if err != nil || n != kind.n*kind.bytes {
					b.Fatalf("%d bytes, %v", n, err)
				}
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkStart acquires 10,000 graphs, 100 at a time, as a daemon does when it starts.
func BenchmarkStart(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		names := make(chan int)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				for n := range names {
					checkpointtest.NewOwner(b, s, fmt.Sprintf("g%d", n))
				}
			})
		}
		for n := range 10000 {
			names <- n
		}
		close(names)
		wg.Wait()
	}
}

// BenchmarkDelete removes a graph with a million keys: other commits wait that long.
func BenchmarkDelete(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		b.StopTimer()
		o := checkpointtest.NewOwner(b, s, "keyed")
		o.Next.Cells = checkpointtest.CellsOf(1000000, 100)
		start := time.Now()
		o.Commit(b)
		b.Logf("commit of a million cells: %v", time.Since(start))
		b.StartTimer()
		if err := s.DeleteDeclaration(b.Context(), o.Next.ID, true); err != nil {
			b.Fatal(err)
		}
	}
}
