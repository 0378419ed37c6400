package job_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/source/file"
)

const lossy = `graph: lossy
accumulators:
  a:
    source: { file: { path: a.csv } }
    time: event.at
    time_unit: s
    where: event.n > 0
    window: { tumbling: 10s, key: event.page, aggregate: { total: sum(event.n) } }
  b: { source: { file: { path: b.ndjson } }, batch: { size: 2 } }
reactor: { strategy: sequential, debounce: 1s }
nodes:
  share: { expr: '1 / (len(b) - 2)' }
outputs:
  totals: { from: a, sink: { drop: {} } }
  shares: { from: share, sink: { drop: {} } }
`

// runLossy runs the graph lossy, and tells what it came to and its dead letters.
func runLossy(t *testing.T, noFlush bool, csv, ndjson string) (job.Stats, []string) {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(lossy), "lossy.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	a, err := file.NewReader(strings.NewReader(csv), file.ReaderConfig{Format: "csv"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := file.NewReader(strings.NewReader(ndjson), file.ReaderConfig{Format: "ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	var letters []string
	stats, err := job.Run(t.Context(), job.Config{
		Unit: u, Inputs: []job.Reader{a, b}, Sinks: make([]sink.Sink, 2), NoFlush: noFlush,
		DeadLetter: func(l job.Letter) error {
			letters = append(letters, fmt.Sprintf("%s %d-%d %s", l.Accumulator, l.Line, l.LastLine, l.Code))
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return stats, letters
}

// M42: a run tells the books of every input, late events among filtered ones, and where the
// events stand of which it has made dead letters: of a batch from the first to the last.
func TestRunsTellWhatTheyLose(t *testing.T) {
	t.Parallel()
	stats, letters := runLossy(t, false,
		"at,n,page\n1,1,\"a\nb\"\n2,0,c\n30,1,c\n3,5,a\nx,1,c\n31,2,c\n", "\n1\nbroken\n2\n\n3\n")
	if d := cmp.Diff([]job.Input{
		{Name: "a", Received: 6, Filtered: 2, Late: 1, DeadLettered: 1, Consumed: 3},
		{Name: "b", Received: 4, DeadLettered: 3, Consumed: 1},
	}, stats.Inputs); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"b 3-3 invalid_json", "b 2-4 not_finite", "a 7-7 time_invalid"}, letters); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Without the flush at the end what is not complete stays, and is counted as queued: open
// windows, batches that are not full, and what a debounce holds back.
func TestNoFlushLeavesWhatIsOpen(t *testing.T) {
	t.Parallel()
	const csv, ndjson = "at,n,page\n1,1,a\n1,2,a\n", "1\n2\n3\n"
	for _, noFlush := range []bool{false, true} {
		stats, _ := runLossy(t, noFlush, csv, ndjson)
		want := [2]int64{}
		if noFlush {
			want = [2]int64{2, 3}
		}
		got := [2]int64{stats.Inputs[0].Queued, stats.Inputs[1].Queued}
		if got != want || (stats.Epochs == 0) != noFlush {
			t.Errorf("no flush %v: %d epochs, queued %v, want %v", noFlush, stats.Epochs, got, want)
		}
	}
}
