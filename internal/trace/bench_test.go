package trace

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary/traced"
)

// BenchmarkEpoch is an epoch that is recorded, and one that is not.
func BenchmarkEpoch(b *testing.B) {
	for name, ratio := range map[string]float64{"recorded": 1, "not": -1} {
		b.Run(name, func(b *testing.B) {
			t, err := New(Config{Endpoint: "http://127.0.0.1:1", Ratio: ratio})
			if err != nil {
				b.Fatal(err)
			}
			g := t.Graph(names())
			links := []*traced.Links{traced.FromHeader(sent)}
			e := Epoch{Incarnation: 1, Cause: "criteria", End: time.Now(), Took: 1000, Events: 1, Links: links}
			b.ReportAllocs()
			for b.Loop() {
				if e.Number++; g.Samples(&e) {
					g.Epoch(&e)
				}
				if e.Number%batchSpans == 0 {
					if c := t.take(1); c != nil {
						t.sent(c, nil)
					}
				}
			}
		})
	}
}

// BenchmarkRequest is a batch that is written and zipped.
func BenchmarkRequest(b *testing.B) {
	t, err := New(Config{Endpoint: "http://127.0.0.1:1", Ratio: 1})
	if err != nil {
		b.Fatal(err)
	}
	g := t.Graph(names())
	for i := range int64(batchSpans) {
		g.Epoch(&Epoch{Number: i, Cause: "criteria", End: time.Now(), Took: time.Microsecond, Events: 1})
	}
	batch := t.take(1)
	b.ReportAllocs()
	for b.Loop() {
		_ = t.zip(batch)
	}
}
