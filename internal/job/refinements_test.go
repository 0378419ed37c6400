package job_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

// rows runs a declaration over its inputs' lines and tells the values of its output, one a line.
func rows(t *testing.T, declaration string, inputs ...string) string {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(declaration), "test.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	var readers []job.Reader
	for _, text := range inputs {
		r, err := file.NewReader(strings.NewReader(text), file.ReaderConfig{Format: "ndjson"})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	var out bytes.Buffer
	if _, err := job.Run(context.Background(), job.Config{
		Unit: u, Inputs: readers, Sinks: []sink.Sink{stdout.NewOutput(&out).Sink()},
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		_, value, _ := strings.Cut(line, `"value":`)
		got = append(got, strings.TrimSuffix(value, "}\n"))
	}
	return strings.Join(got, "\n")
}

// wire is the published example of push groups, each event at its time on the wire.
func wire(at [7]time.Duration) []string {
	events := [3][7]string{
		{"100.00", "100.01", "", "99.97", "99.98", "99.99", ""},
		{"100.02", "", "100.03", "", "", "", "100.00"},
		{"", "", "100.02", "", "", "100.03", ""},
	}
	start := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	inputs := make([]string, 3)
	for i, series := range events {
		for n, px := range series {
			if px != "" {
				inputs[i] += fmt.Sprintf("{\"at\":%q,\"px\":%s}\n", start.Add(at[n]).Format(time.RFC3339Nano), px)
			}
		}
	}
	return inputs
}

// declareMarket declares the example; the engine's delay is a debounce, so that it looks at
// what came in one go.
func declareMarket(group string) string {
	return `graph: market
accumulators:
  bid: { source: { file: { path: bid.ndjson } }, time: event.at, emit: event.px` + group + ` }
  ask: { source: { file: { path: ask.ndjson } }, time: event.at, emit: event.px` + group + ` }
  trade: { source: { file: { path: trade.ndjson } }, time: event.at, emit: event.px, strategy: sequential` + group + ` }
reactor: { when: any, strategy: latest, debounce: 1s }
nodes:
  row: { event: true, expr: '[bid ?? nil, ask ?? nil, trade ?? nil]' }
outputs:
  rows: { from: row, sink: { stdout: {} } }
`
}

// M9: the tables that Point72 csp publishes for its push groups come out of `run` in event
// time, row by row: an engine that was delayed over all of it, and one that looked in four times.
func TestM9PublishedPushGroups(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	delayed := [7]time.Duration{0, 100 * ms, 200 * ms, 300 * ms, 400 * ms, 500 * ms, 600 * ms}
	got := rows(t, declareMarket(", sync_group: feed"), wire(delayed)...)
	if want := "[100.01,100.03,100.02]\n[99.99,100.03,100.03]\n[99.99,100,100.03]"; got != want {
		t.Errorf("in a group, delayed over all:\n%s\nwant\n%s", got, want)
	}
	got = rows(t, declareMarket(""), wire(delayed)...)
	if want := "[99.99,100,100.02]\n[99.99,100,100.03]"; got != want {
		t.Errorf("without a group:\n%s\nwant\n%s", got, want)
	}
	fourLooks := [7]time.Duration{
		0, 100 * ms, 10 * time.Second, 20 * time.Second, 30 * time.Second, 30*time.Second + 100*ms,
		30*time.Second + 200*ms,
	}
	got = rows(t, declareMarket(", sync_group: feed"), wire(fourLooks)...)
	want := "[100.01,100.02,null]\n[100.01,100.03,100.02]\n[99.97,100.03,100.02]\n[99.99,100.03,100.03]\n[99.99,100," +
		"100.03]"
	if got != want {
		t.Errorf("in a group, four looks:\n%s\nwant\n%s", got, want)
	}
}

// M9: the published push modes over events of one instant: the last, each in turn, all at once.
func TestM9PublishedPushModes(t *testing.T) {
	t.Parallel()
	const lines = `{"at":1000,"v":1}
{"at":1000,"v":2}
{"at":1000,"v":3}
{"at":2000,"v":4}
`
	for strategy, want := range map[string]string{
		"latest": "3\n4", "sequential": "1\n2\n3\n4", "burst": "[1,2,3]\n[4]",
	} {
		got := rows(t, `graph: modes
accumulators:
  tick: { source: { file: { path: tick.ndjson } }, time: event.at, emit: event.v, strategy: `+strategy+` }
nodes:
  n: { expr: tick, event: true }
outputs:
  out: { from: n, sink: { stdout: {} } }
`, lines)
		if got != want {
			t.Errorf("%s: got %q, want %q", strategy, got, want)
		}
	}
}

// M3: a batch that is flushed with epochs is handed over after every epoch that was kept, and
// an empty one is not.
func TestM3BatchFlushedWithEpochs(t *testing.T) {
	t.Parallel()
	got := rows(t, `graph: digest
accumulators:
  all: { source: { file: { path: all.ndjson } }, time: event.at, emit: event.v, batch: { flush: epoch } }
  go: { source: { file: { path: go.ndjson } }, time: event.at, strategy: sequential }
nodes:
  n: { event: true, expr: '{ "go": go.n, "all": all ?? [] }' }
outputs:
  out: { from: n, sink: { stdout: {} } }
`, `{"at":1000,"v":1}
{"at":2000,"v":2}
{"at":4000,"v":3}
`, `{"at":3000,"n":1}
{"at":5000,"n":2}
{"at":6000,"n":3}
`)
	want := `{"all":[],"go":1}
{"all":[1,2],"go":1}
{"all":[1,2],"go":2}
{"all":[3],"go":2}
{"all":[3],"go":3}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// M8, M26: in `run` timers fire at their own times between the events: a cadence, a debounce,
// the end of a wait.
func TestM8TimersInRun(t *testing.T) {
	t.Parallel()
	const lines = `{"at":"2026-01-01T00:00:00.5Z","v":1}
{"at":"2026-01-01T00:00:00.7Z","v":2}
{"at":"2026-01-01T00:00:03.2Z","v":3}
`
	for criteria, want := range map[string]string{
		"when: any, every: 1s":    `["2026-01-01T00:00:01.000Z",2]` + "\n" + `["2026-01-01T00:00:04.000Z",3]`,
		"when: any, debounce: 1s": `["2026-01-01T00:00:01.700Z",2]` + "\n" + `["2026-01-01T00:00:04.200Z",3]`,
		"when: any, rate_limit: 2s": `["2026-01-01T00:00:00.500Z",1]` + "\n" + `["2026-01-01T00:00:02.500Z",2]` + "\n" +
			`["2026-01-01T00:00:04.500Z",3]`,
	} {
		got := rows(t, `graph: timers
accumulators:
  tick: { source: { file: { path: tick.ndjson } }, time: event.at, emit: event.v }
reactor: { `+criteria+` }
nodes:
  n: { expr: '[now(), tick]' }
outputs:
  out: { from: n, sink: { stdout: {} } }
`, lines)
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", criteria, got, want)
		}
	}
}
