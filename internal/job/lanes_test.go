package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/testbed/leaks"
	"go.uber.org/goleak"
)

const pooled = `graph: pooled
accumulators: { a: { source: { file: { path: a.ndjson } }, strategy: sequential } }
lanes: { calc: { pool: { max_threads: %d } } }
nodes:
  one: { go: { name: f }, inputs: [a], lane: calc }
  two: { go: { name: g }, inputs: [a], lane: calc, on_error: last_good }
  sum: { expr: 'one + (two ?? 0)' }
outputs: { out: { from: sum, sink: { stdout: {} } } }
`

// runPooled runs the graph over so many numbers with so many threads.
func runPooled(t *testing.T, threads, numbers int, functions map[string]gofunc.Function) (string, job.Stats) {
	t.Helper()
	u, diags := (&builtin.Kinds{Functions: functions}).Parse(fmt.Appendf(nil, pooled, threads), "pooled.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	for n := range numbers {
		fmt.Fprintln(&in, n)
	}
	r, err := file.NewReader(strings.NewReader(in.String()), file.ReaderConfig{Format: "ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	stats, err := job.Run(context.Background(), job.Config{Unit: u, Inputs: []job.Reader{r},
		Sinks: []sink.Sink{stdout.NewOutput(&out).Sink()}})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), stats
}

// M23: the nodes of a pool are computed beside each other in a bounded run too: here each waits until the other is at
// work.
func TestM23PoolsOfARunHaveWorkers(t *testing.T) {
	defer leaks.None(t, goleak.IgnoreCurrent())
	one, two := make(chan struct{}), make(chan struct{})
	meets := func(mine, other chan struct{}) gofunc.Function {
		return func(_ []string, args []boundary.Value) (boundary.Value, error) {
			select {
			case mine <- struct{}{}:
			case <-other:
			case <-time.After(time.Minute):
				return boundary.Value{}, errors.New("the other node is not at work")
			}
			return args[0], nil
		}
	}
	out, stats := runPooled(t, 2, 3, map[string]gofunc.Function{"f": meets(one, two), "g": meets(two, one)})
	if stats.Failed != 0 || strings.Count(out, "\n") != 3 || !strings.Contains(out, `"value":4}`) {
		t.Errorf("%+v\n%s", stats, out)
	}
}

// M23: what a run says is the same to the byte for any number of workers, where nodes fail too.
func TestM23RunsAreTheSameForAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	part := func(by int64) gofunc.Function {
		return func(_ []string, args []boundary.Value) (boundary.Value, error) {
			n, _ := args[0].AsInt()
			if n%by == 0 {
				return boundary.Value{}, fmt.Errorf("%d is divided by %d", n, by)
			}
			return boundary.Int(n * by), nil
		}
	}
	functions := map[string]gofunc.Function{"f": part(7), "g": part(3)}
	want, told := runPooled(t, 1, 500, functions)
	if told.Failed == 0 || strings.Count(want, "\n") < 300 {
		t.Fatalf("%+v", told)
	}
	for _, threads := range []int{2, 8} {
		if got, stats := runPooled(t, threads, 500, functions); got != want || stats.Failed != told.Failed {
			t.Errorf("%d threads: %+v, want %+v\n%s\nwant\n%s", threads, stats, told, got, want)
		}
	}
}
