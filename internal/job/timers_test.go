package job_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
)

// timers declares a graph with the inputs a and b in event time; its rows are the time and
// the number of the epoch and what it saw.
func timers(reactor, a, b string) string {
	return fmt.Sprintf(`graph: timers
accumulators:
  a: { source: { file: { path: a.ndjson } }, time: event.at, emit: event.v%s }
  b: { source: { file: { path: b.ndjson } }, time: event.at, emit: event.v%s }
reactor: { %s }
nodes:
  row: { event: true, expr: '[epoch(), now(), a ?? nil, b ?? nil]' }
outputs:
  out: { from: row, sink: { stdout: {} } }
`, a, b, reactor)
}

// at is an event a number of milliseconds after the start of 2026.
func at(ms, v int) string { return fmt.Sprintf("{\"at\":%d,\"v\":%d}\n", 1767225600000+ms, v) }

// shorten leaves the seconds of the times in rows.
func shorten(rows string) string { return strings.ReplaceAll(rows, `"2026-01-01T00:00:`, `"`) }

// M8: a cadence that is shorter than max_wait does not begin the wait anew: what has waited
// for so long fires at the next instant of the grid, and the run ends.
func TestM8CadenceDoesNotRestartAWait(t *testing.T) {
	t.Parallel()
	got := shorten(rows(t, timers("when: all, every: 1s, max_wait: 5s, strategy: latest", "", ""), at(500, 1), ""))
	if want := `[1,"01.000Z",null,null]` + "\n" + `[6,"06.000Z",1,null]`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	waits := timers("when: all, every: 1s, max_wait: 5s, strategy: sequential", "", "")
	got = shorten(rows(t, waits, at(500, 1)+at(1700, 2), ""))
	if want := `[1,"01.000Z",null,null]` + "\n" + `[6,"06.000Z",1,null]` + "\n" + `[7,"07.000Z",2,null]`; got != want {
		t.Errorf("sequential: got\n%s\nwant\n%s", got, want)
	}
}

// M8, M26: a timer whose guard is false makes no epoch, and those after it come all the same.
func TestM8RunGoesOnAfterAFalseGuardAtATimer(t *testing.T) {
	t.Parallel()
	lines := at(100, 1) + at(200, 2) + at(300, 3)
	got := shorten(rows(t, timers("when: any, every: 1s, guard: 'a > 2', strategy: sequential", "", ""), lines, ""))
	if want := `[1,"03.000Z",3,null]`; got != want {
		t.Errorf("sequential: got\n%s\nwant\n%s", got, want)
	}
	const keyed = `graph: keyed
accumulators:
  a: { source: { file: { path: a.ndjson } }, time: event.at }
reactor: { when: any, strategy: latest, key: k, debounce: 2s, guard: 'a.v > 1' }
nodes:
  row: { event: true, expr: '[epoch(), now(), key, a.v]' }
outputs:
  out: { from: row, sink: { stdout: {} } }
`
	lines = ""
	for k, v := range map[string]int{"p": 1, "q": 2} {
		lines += strings.Replace(at(v*100, v), "{", fmt.Sprintf("{%q:%q,", "k", k), 1)
	}
	if got, want := shorten(rows(t, keyed, lines)), `[1,"02.200Z","q",2]`; got != want {
		t.Errorf("keyed: got\n%s\nwant\n%s", got, want)
	}
}

// M9: under `when all` a sync_group comes together in whatever order its inputs do: where the
// trade came first, the quotes that were never there before are let through beside it.
func TestM9SyncGroupInBothOrders(t *testing.T) {
	t.Parallel()
	text := timers("when: all, strategy: latest", ", sync_group: g", ", strategy: sequential, sync_group: g")
	for name, c := range map[string]struct{ a, b, want string }{
		"the quote first": {at(100, 1), at(200, 7), `[1,"00.200Z",1,7]`},
		"the trade first": {at(200, 1), at(100, 7), `[1,"00.200Z",1,7]`},
		"two trades first": {at(300, 1) + at(400, 2), at(100, 7) + at(200, 8),
			`[1,"00.300Z",1,7]` + "\n" + `[2,"00.300Z",1,8]`},
		"a trade after each quote": {at(200, 1) + at(400, 2), at(100, 7) + at(300, 8) + at(500, 9),
			`[1,"00.200Z",1,7]` + "\n" + `[2,"00.300Z",1,8]` + "\n" + `[3,"00.500Z",2,9]`},
	} {
		if got := shorten(rows(t, text, c.a, c.b)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// M8, M26: in event time a cadence begins with the first event: no epoch lies off its grid.
func TestM8CadenceBeginsOnItsGrid(t *testing.T) {
	t.Parallel()
	for first, want := range map[int]string{
		300:  `[1,"01.000Z",1,null]`,
		1000: `[1,"01.000Z",1,null]`,
	} {
		got := shorten(rows(t, timers("when: any, every: 1s, strategy: latest", "", ""), at(first, 1), ""))
		if got != want {
			t.Errorf("first event at %d ms: got\n%s\nwant\n%s", first, got, want)
		}
	}
}

// M8: a backlog that has waited for max_wait goes as a whole, and not an entry for each wait.
func TestM8BacklogDoesNotWaitAnew(t *testing.T) {
	t.Parallel()
	lines := at(0, 1) + at(0, 2) + at(2000, 3)
	got := shorten(rows(t, timers("when: all, max_wait: 5s, strategy: sequential", "", ""), lines, ""))
	want := `[1,"05.000Z",1,null]` + "\n" + `[2,"05.000Z",2,null]` + "\n" + `[3,"07.000Z",3,null]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// M8, M26: 1970 is a time like any other, and so is what lies before it.
func TestM8WaitsAroundTheYear1970(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ms   int
		want string
	}{
		{0, `"1970-01-01T00:00:05.000Z"`}, {-1, `"1970-01-01T00:00:04.999Z"`},
		{-86_400_000, `"1969-12-31T00:00:05.000Z"`},
		{-5000, `"1970-01-01T00:00:00.000Z"`},
	} {
		line := fmt.Sprintf("{\"at\":%d,\"v\":1}\n", c.ms)
		got := rows(t, timers("when: all, max_wait: 5s, strategy: latest", "", ""), line, "")
		if want := "[1," + c.want + ",1,null]"; got != want {
			t.Errorf("%d ms: got %s, want %s", c.ms, got, want)
		}
	}
	lines := `{"at":-15000,"v":1}` + "\n" + `{"at":-3000,"v":2}`
	got := rows(t, timers("when: any, every: 10s, strategy: latest", "", ""), lines, "")
	want := `[1,"1969-12-31T23:59:50.000Z",1,null]` + "\n" + `[2,"1970-01-01T00:00:00.000Z",2,null]`
	if got != want {
		t.Errorf("a cadence before 1970: got\n%s\nwant\n%s", got, want)
	}
}

// endless is a reader of events that lie 10¹¹ ticks of a millisecond apart, each of which says
// that it was read.
type endless struct {
	n    int
	read func(n int)
}

func (e *endless) Next(ev *boundary.Event) error {
	e.n++
	*ev = boundary.Event{Raw: fmt.Appendf(nil, `{"at":%d,"v":1}`, e.n*100_000_000_000)}
	e.read(e.n)
	return nil
}

// M26: the loops of a run ask whether to go on, also where timers alone keep it busy.
func TestM26RunHonoursItsContextBetweenEvents(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte(timers("when: any, every: 1ms, strategy: latest", "", "")), "test.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	in := &endless{read: func(n int) {
		if n == 2 {
			cancel(nil)
		}
	}}
	inputs := []job.Reader{in, &endless{read: func(int) {}}}
	_, err := job.Run(ctx, job.Config{Unit: u, Inputs: inputs, Sinks: []sink.Sink{nil}})
	if !errors.Is(err, context.Canceled) || in.n > 2 {
		t.Fatalf("%v after %d events", err, in.n)
	}
}
