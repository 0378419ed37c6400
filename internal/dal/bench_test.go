package dal

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// owner commits for one graph.
type owner struct {
	store checkpoint.Store
	next  checkpoint.Commit
}

func newOwner(b testing.TB, s checkpoint.Store, name string) *owner {
	b.Helper()
	id := checkpoint.ID{Tenant: "default", Graph: name}
	head, err := s.Acquire(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return &owner{s, checkpoint.Commit{ID: id, Fence: head.Fence, Seq: head.Seq, Epoch: head.Epoch, At: time.Now(), Meta: make([]byte, 500), KeepFirings: 1000}}
}

func (o *owner) commit(b testing.TB) {
	o.next.Seq++
	o.next.Epoch += int64(max(1, len(o.next.Firings)))
	for i := range o.next.Firings {
		o.next.Firings[i] = checkpoint.Firing{Incarnation: 1, Epoch: o.next.Epoch - int64(len(o.next.Firings)-1-i), Data: o.next.Firings[i].Data}
	}
	if err := o.store.Commit(b.Context(), &o.next); err != nil {
		b.Fatal(err)
	}
}

func cellsOf(n, size int) []checkpoint.Cell {
	cells := make([]checkpoint.Cell, n)
	for i := range cells {
		cells[i] = checkpoint.Cell{Kind: "input", Name: "orderbook", Key: fmt.Sprintf(`"S%d"`, i), Data: bytes.Repeat([]byte{byte(i)}, size)}
	}
	return cells
}

func firingsOf(n, size int) []checkpoint.Firing {
	f := make([]checkpoint.Firing, n)
	for i := range f {
		f[i].Data = make([]byte, size)
	}
	return f
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

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
			o := newOwner(b, s, "market_maker")
			o.next.Cells, o.next.Firings = cellsOf(kind.cells, kind.size), firingsOf(kind.firings, kind.bytes)
			for range 2 { // all cells are there, and the ring is full or on its way
				o.commit(b)
			}
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				start := time.Now()
				o.commit(b)
				took = append(took, time.Since(start))
			}
			report(b, took)
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
			var owners []*owner
			for g := range graphs {
				o := newOwner(b, s, fmt.Sprintf("g%d", g))
				o.next.Cells, o.next.Firings = cellsOf(3, 1000), firingsOf(1, 400)
				owners = append(owners, o)
			}
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, o := range owners {
				wg.Go(func() {
					var mine []time.Duration
					for range left {
						start := time.Now()
						o.commit(b)
						mine = append(mine, time.Since(start))
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, mine...)
				})
			}
			wg.Wait()
			b.StopTimer()
			report(b, took)
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
			o := newOwner(b, s, "market_maker")
			o.next.Cells = cellsOf(kind.n, kind.bytes)
			start := time.Now()
			o.commit(b)
			b.Logf("first commit: %v", time.Since(start))
			b.SetBytes(100 << 20)
			for b.Loop() {
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				s = open(b, path)
				n := 0
				err := s.Load(b.Context(), o.next.ID, func(c checkpoint.Cell) error { n += len(c.Data); return nil })
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
					newOwner(b, s, fmt.Sprintf("g%d", n))
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
		o := newOwner(b, s, "keyed")
		o.next.Cells = cellsOf(1000000, 100)
		start := time.Now()
		o.commit(b)
		b.Logf("commit of a million cells: %v", time.Since(start))
		b.StartTimer()
		if err := s.DeleteDeclaration(b.Context(), o.next.ID, true); err != nil {
			b.Fatal(err)
		}
	}
}
