package job_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/source/file"
)

const mapAndFilter = `graph: w1
accumulators:
  ticks:
    source: { file: { path: ticks.ndjson } }
    where: event.ask - event.bid > 0.015
    emit: { symbol: event.symbol, mid: (event.bid + event.ask) / 2, spread: event.ask - event.bid, ts: event.ts }
reactor: { when: any, strategy: sequential }
outputs: { out: { from: ticks, sink: { drop: {} } } }
`

// BenchmarkMapAndFilter is one event of a bounded run: read, decode, filter, shape, fire.
func BenchmarkMapAndFilter(b *testing.B) {
	u, diags := (&builtin.Kinds{}).Parse([]byte(mapAndFilter), "w1.yaml")
	if err := diags.Err(); err != nil {
		b.Fatal(err)
	}
	var data bytes.Buffer
	for i := range b.N {
		fmt.Fprintf(&data, `{"symbol":"SYM%03d","bid":101.25,"ask":101.%d,"ts":%d}`+"\n", i%100, 26+i%2,
			1700000000000+i)
	}
	r, err := file.NewReader(&data, file.ReaderConfig{Format: "ndjson"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	stats, err := job.Run(context.Background(), job.Config{Unit: u, Inputs: []job.Reader{r}, Sinks: []sink.Sink{nil}})
	if err != nil || stats.Events != int64(b.N) {
		b.Fatal(stats, err)
	}
}
