package job_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

const twoSides = `graph: sides
accumulators:
  a: { source: { file: { path: a.ndjson } } }
  b: { source: { file: { path: b.ndjson } } }
reactor: { when: any, strategy: sequential }
nodes:
  pair: { event: true, expr: '[a, b?.n ?? 0]' }
outputs:
  pairs: { from: pair, sink: { stdout: {} } }
`

// TestTurns holds the order where no time is declared: one event from each input in turn,
// an input that has ended is passed over, and a record that cannot be read takes its turn
// and is counted.
func TestTurns(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(twoSides), "sides.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	var readers []job.Reader
	for _, text := range []string{"1\n2\n3\n4\n", "{\"n\":10}\nbroken\n{\"n\":30}\n"} {
		r, err := file.NewReader(strings.NewReader(text), file.ReaderConfig{Format: "ndjson"})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	var out bytes.Buffer
	stats, err := job.Run(context.Background(), job.Config{
		Unit: u, Inputs: readers, Sinks: []sink.Sink{stdout.NewOutput(&out).Sink()},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		_, value, _ := strings.Cut(line, `"value":`)
		got = append(got, strings.TrimSuffix(value, "}\n"))
	}
	want := "[1,0] [1,10] [2,10] [3,10] [3,30] [4,30]"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if d := cmp.Diff(job.Stats{Events: 7, Epochs: 6, Outputs: 6, DeadLetters: 1, Inputs: []job.Input{
		{Name: "a", Received: 4, Consumed: 4}, {Name: "b", Received: 3, DeadLettered: 1, Consumed: 2},
	}}, stats); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
