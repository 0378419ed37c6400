package table

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// million is a table of a million merchants with two fields.
func million(tb testing.TB) (f fold.Fold, perRow int) {
	f = compiled(tb, Declared{}).New()
	shape := boundary.NewShape("risk", "name")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for k := range 1_000_000 {
		put(tb, f, start, boundary.String(merchant(k)), boundary.Object(shape, []boundary.Value{
			boundary.Int(int64(k % 10)), boundary.String("Merchant"),
		}))
	}
	handed(f)
	runtime.GC()
	runtime.ReadMemStats(&after)
	return f, int(after.HeapAlloc-before.HeapAlloc) / 1_000_000
}

func merchant(k int) string { return fmt.Sprintf("m%07d", k) }

// BenchmarkMillion is a table of a million rows: a look-up, a change with a snapshot, a checkpoint of ten
// changes, and the memory of a row.
func BenchmarkMillion(b *testing.B) {
	f, perRow := million(b)
	row, _ := handed(f)
	if row == nil {
		put(b, f, start, boundary.String(merchant(1)), boundary.Int(1))
		row, _ = handed(f)
	}
	b.Run("look-up", func(b *testing.B) {
		keys := make([]boundary.Value, 1024)
		for i := range keys {
			keys[i] = boundary.String(merchant(i * 971))
		}
		b.ReportAllocs()
		for i := range b.N {
			if _, ok := row.Row(keys[i%1024]); !ok {
				b.Fatal("not found")
			}
		}
		b.ReportMetric(float64(perRow), "B/row")
	})
	b.Run("change", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			put(b, f, start, boundary.String(merchant(i*971%1_000_000)), boundary.Int(int64(i)))
			handed(f)
		}
	})
	b.Run("checkpoint", func(b *testing.B) {
		s := &store{last: f.State()}
		b.ReportAllocs()
		wrote, bytes := 0, 0
		for i := range b.N {
			for k := range 10 {
				put(b, f, start, boundary.String(merchant((i*10+k)*971%1_000_000)), boundary.Int(int64(i)))
			}
			s.seal(f)
			wrote, bytes = wrote+s.wrote, bytes+s.bytes
		}
		b.ReportMetric(float64(wrote)/float64(b.N), "parts/op")
		b.ReportMetric(float64(bytes)/float64(b.N), "written-B/op")
	})
	b.Run("restore", func(b *testing.B) {
		s := &store{}
		s.seal(f)
		p := compiled(b, Declared{})
		size := 0
		for _, part := range s.parts {
			size += len(part)
		}
		b.ResetTimer()
		b.SetBytes(int64(size))
		for range b.N {
			h, err := p.Table.Decode(s.head, s.parts)
			if err != nil {
				b.Fatal(err)
			}
			p.New().Resume(h)
		}
	})
}
