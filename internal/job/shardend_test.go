package job_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// M26, M51: at the end of a run each shard has time go on, and they end as one graph does: with what no time completes
// at the time at which it completes nothing more in any of them, and with what takes turns at one moment in one order.
func TestM51ShardsEndTogether(t *testing.T) {
	const declared = `graph: dealt
accumulators:
  a: { time: event.at, time_unit: s, window: { session: 10s, key: event.k, aggregate: { n: count() } } }
  b: { time: event.at, time_unit: s, %s }
reactor: { key: k, shards: 5, strategy: sequential%s }
nodes:
  n: { event: true, expr: '[now(), key, a?.n, b?.%s]' }
outputs:
  all: { from: n, sink: { stdout: {} } }
`
	for name, c := range map[string]struct {
		with [3]any
		one  bool
	}{
		"a batch": {[3]any{"batch: { key: event.k, size: 1000 }", "", "events"}, false},
		// A key waits until just when a session of another one and its own window are complete.
		"a window": {[3]any{"window: { tumbling: 7s, key: event.k, aggregate: { n: count() } }", ", debounce: 1s",
			"n"}, true},
	} {
		u, ds := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, declared, c.with[:]...), "dealt.yaml")
		if err := ds.Err(); err != nil {
			t.Fatal(err)
		}
		if why := u.OneRun(true); (why != "") != c.one {
			t.Errorf("%s: run as one since %q", name, why)
		}
		said := func(shards int) string {
			var out bytes.Buffer
			_, err := job.Run(context.Background(), job.Config{
				Unit: u, Shards: shards, Sinks: []sink.Sink{stdout.NewOutput(&out).Sink()},
				Inputs: []job.Reader{&dated{at: 100, last: 151}, &dated{at: 103, last: 158}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		want := said(1)
		if n := strings.Count(want, "\n"); n < 50 {
			t.Fatalf("%s: the test is void: %d values", name, n)
		}
		for _, shards := range []int{2, 5, 23} {
			if got := said(shards); got != want {
				t.Errorf("%s: %d shards say something else: %s", name, shards, differ(got, want))
			}
		}
	}
}
