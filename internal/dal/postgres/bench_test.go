package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

// benchStore is an empty store, closed with the benchmark; it takes GRAPHD_TEST_POSTGRES.
func benchStore(b *testing.B) checkpoint.Store {
	b.Helper()
	dsn, schema := newSchema(b)
	s := open(b, dsn, schema)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func BenchmarkCommit(b *testing.B) { checkpointtest.BenchCommit(b, benchStore) }

func BenchmarkCommitGraphs(b *testing.B) { checkpointtest.BenchCommitGraphs(b, benchStore) }

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
			s := benchStore(b)
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
			s := benchStore(b)
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
