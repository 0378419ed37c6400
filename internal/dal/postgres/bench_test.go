package postgres

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

// BenchmarkCommit is one owner that commits as fast as it can; run it with
// -benchtime 2000x and GRAPHD_TEST_POSTGRES set. Sizes are those of a commit.
func BenchmarkCommit(b *testing.B) {
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
			dsn, schema := newSchema(b)
			s := open(b, dsn, schema)
			defer s.Close()
			o := checkpointtest.NewOwner(b, s, "market_maker")
			o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(kind.cells, kind.size),
				checkpointtest.FiringsOf(kind.firings, kind.bytes)
			for range 12 { // all cells are there, and the ring is full or on its way
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

// BenchmarkCommitGraphs is many graphs that commit at once.
func BenchmarkCommitGraphs(b *testing.B) {
	for _, graphs := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(graphs), func(b *testing.B) {
			dsn, schema := newSchema(b)
			s := open(b, dsn, schema)
			defer s.Close()
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			var owners []*checkpointtest.Owner
			for g := range graphs {
				o := checkpointtest.NewOwner(b, s, fmt.Sprintf("g%d", g))
				o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(3, 1000), checkpointtest.FiringsOf(1, 400)
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
					took = append(took, mine...)
					mu.Unlock()
				})
			}
			wg.Wait()
			checkpointtest.Report(b, took)
		})
	}
}

// BenchmarkCoTransaction is rows that travel with the state: one epoch a commit, and a
// hundred. Each epoch changes two cells and writes one row.
func BenchmarkCoTransaction(b *testing.B) {
	for _, upsert := range []bool{false, true} {
		for _, epochs := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("upsert=%v/%d", upsert, epochs), func(b *testing.B) {
				dsn, schema := newSchema(b)
				s := open(b, dsn, schema)
				defer s.Close()
				table := schema + ".quotes"
				query(b, dsn, "CREATE TABLE "+table+" (id bigint PRIMARY KEY, symbol text, mid double precision)")
				o := checkpointtest.NewOwner(b, s, "market_maker")
				o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(2, 200), checkpointtest.FiringsOf(epochs, 300)
				id := int64(0)
				fill := func() {
					rows := checkpoint.SinkRows{
						Table: checkpoint.Table{Output: "quotes", Name: table, Columns: []string{"id", "symbol", "mid"},
							Upsert: upsert, Conflict: []string{"id"}},
					}
					for range epochs {
						id++
						row := id
						if upsert {
							row %= 1000
						}
						rows.Rows = append(rows.Rows, []boundary.Value{
							boundary.Int(row), boundary.String("AAPL"), boundary.Float(100.25),
						})
					}
					o.Next.Rows = []checkpoint.SinkRows{rows}
				}
				for range 12 {
					fill()
					o.Commit(b)
				}
				took := make([]time.Duration, 0, b.N)
				for b.Loop() {
					fill()
					start := time.Now()
					o.Commit(b)
					took = append(took, time.Since(start))
				}
				checkpointtest.Report(b, took)
				b.ReportMetric(float64(b.N*epochs)/b.Elapsed().Seconds(), "epochs/s")
			})
		}
	}
}

// BenchmarkAppendJournal is pushes that share an append.
func BenchmarkAppendJournal(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dsn, schema := newSchema(b)
			s := open(b, dsn, schema)
			defer s.Close()
			o := checkpointtest.NewOwner(b, s, "market_maker")
			seq := int64(0)
			for b.Loop() {
				list := make([]checkpoint.JournalEntry, n)
				for i := range list {
					seq++
					list[i] = checkpoint.JournalEntry{Seq: seq, At: time.Now(), Data: make([]byte, 120)}
				}
				if err := s.AppendJournal(b.Context(), o.Next.ID, o.Next.Fence, list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkLoad reads a state of 100 MB: in one cell, and in a hundred thousand.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dsn, schema := newSchema(b)
			s := open(b, dsn, schema)
			defer s.Close()
			o := checkpointtest.NewOwner(b, s, "market_maker")
			o.Next.Cells = checkpointtest.CellsOf(n, 100_000_000/n)
			o.Commit(b)
			for b.Loop() {
				size := 0
				if err := s.Load(b.Context(), o.Next.ID, func(c checkpoint.Cell) error {
					size += len(c.Data)
					return nil
				}); err != nil || size < 99_000_000 {
					b.Fatalf("%d bytes, %v", size, err)
				}
			}
		})
	}
}
