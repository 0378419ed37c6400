package checkpointtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// BenchCommit is one owner that commits as fast as it can; run it with -benchtime 2000x. Sizes
// are those of a commit. open makes an empty store and has it closed.
func BenchCommit(b *testing.B, open func(b *testing.B) checkpoint.Store) {
	for _, kind := range []struct {
		name           string
		cells, size    int
		firings, bytes int
	}{
		{"small", 3, 1000, 1, 400},
		{"history100", 3, 1000, 100, 400},
		{"cells10000", 10000, 100, 1, 400},
		{"cell50MB", 1, 50 << 20, 1, 400},
	} {
		b.Run(kind.name, func(b *testing.B) {
			o := NewOwner(b, open(b), "market_maker")
			o.Next.Cells, o.Next.Firings = CellsOf(kind.cells, kind.size), FiringsOf(kind.firings, kind.bytes)
			for range 12 { // all cells are there, and the ring is full or on its way
				o.Commit(b)
			}
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				start := time.Now()
				o.Commit(b)
				took = append(took, time.Since(start))
			}
			Report(b, took)
		})
	}
}

// BenchCommitGraphs is many graphs that commit at once: how far they share what a commit costs.
func BenchCommitGraphs(b *testing.B, open func(b *testing.B) checkpoint.Store) {
	for _, graphs := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(graphs), func(b *testing.B) {
			s := open(b)
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			var owners []*Owner
			for g := range graphs {
				o := NewOwner(b, s, fmt.Sprintf("g%d", g))
				o.Next.Cells, o.Next.Firings = CellsOf(3, 1000), FiringsOf(1, 400)
				owners = append(owners, o)
			}
			var mu sync.Mutex
			var took []time.Duration
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
			Report(b, took)
		})
	}
}

// Report tells how long commits took.
func Report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}
