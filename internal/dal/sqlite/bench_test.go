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

// BenchmarkCommit is one owner that commits as fast as it can; run it with
// -benchtime 2000x. Sizes are those of a commit.
func BenchmarkCommit(b *testing.B) {
	for _, kind := range []struct {
		name           string
		cells, size    int
		firings, bytes int
	}{
		{"small", 3, 1000, 1, 400},
		{"history1000", 3, 1000, 1000, 400},
		{"cells10000", 10000, 100, 1, 400},
		{"cell50MB", 1, 50 << 20, 1, 400},
	} {
		b.Run(kind.name, func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "graphd.db"))
			defer s.Close()
			o := checkpointtest.NewOwner(b, s, "market_maker")
			o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(kind.cells, kind.size),
				checkpointtest.FiringsOf(kind.firings, kind.bytes)
			for range 2 { // all cells are there, and the ring is full or on its way
				o.Commit(b)
			}
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				start := time.Now()
				o.Commit(b)
				took = append(took, time.Since(start))
			}
			checkpointtest.Report(b, took)
		})
	}
}

// BenchmarkCommitGraphs is many graphs that commit at once: how far one fsync is shared.
func BenchmarkCommitGraphs(b *testing.B) {
	for _, graphs := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(graphs), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "graphd.db"))
			defer s.Close()
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			var mu sync.Mutex
			var took []time.Duration
			var owners []*checkpointtest.Owner
			for g := range graphs {
				o := checkpointtest.NewOwner(b, s, fmt.Sprintf("g%d", g))
				o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(3, 1000), checkpointtest.FiringsOf(1, 400)
				owners = append(owners, o)
			}
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, o := range owners {
				wg.Go(func() {
					var mine []time.Duration
					for range left {
						start := time.Now()
						o.Commit(b)
						mine = append(mine, time.Since(start))
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, mine...)
				})
			}
			wg.Wait()
			b.StopTimer()
			checkpointtest.Report(b, took)
		})
	}
}

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
	s := open(b, filepath.Join(b.TempDir(), "graphd.db"))
	defer s.Close()
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
	s := open(b, filepath.Join(b.TempDir(), "graphd.db"))
	defer s.Close()
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
