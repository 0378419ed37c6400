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
	"github.com/graphd/graphd/internal/source/file"
)

const stragglers = `graph: late
accumulators:
  visits:
    source: { file: { path: visits.ndjson } }
    time: event.at
    time_unit: s
    emit: { page: event.page, n: event.n * 10 }
    window:
      tumbling: 10s
      key: event.page
      late: stragglers
      aggregate: { total: sum(event.n) }
REACTOR
nodes:
  missed: { expr: '{ "page": stragglers.page, "n": stragglers.n }' }
outputs:
  windows: { from: visits, sink: { stdout: {} } }
  raw: { from: stragglers, sink: { stdout: {} } }
  missed: { from: missed, sink: { stdout: {} } }
`

// TestM3LateInput holds the named side output: late events come to an input of their own,
// as emit has shaped them and each in an epoch, under its key where there are keys; the
// window's books count them as filtered.
func TestM3LateInput(t *testing.T) {
	t.Parallel()
	const visits = `{"at":1,"page":"a","n":1}
{"at":12,"page":"b","n":2}
{"at":2,"page":"c","n":3}
{"at":3,"page":"a","n":4}
{"at":31,"page":"b","n":5}
`
	for name, c := range map[string]struct {
		reactor, keys string
		epochs        int64
	}{
		"without keys": {"reactor: { strategy: latest }", "null null null null null", 4},
		/* the first window and the first late event are of one instant */
		"with keys": {"reactor: { strategy: sequential, key: page }", `"a" "c" "a" "b" "b"`, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(stragglers, "REACTOR", c.reactor, 1)
			u, diags := (&builtin.Kinds{}).Parse([]byte(text), "late.yaml")
			if err := diags.Err(); err != nil {
				t.Fatal(err)
			}
			r, err := file.NewReader(strings.NewReader(visits), file.ReaderConfig{Format: "ndjson"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			o := stdout.NewOutput(&out)
			stats, err := job.Run(context.Background(), job.Config{
				Unit: u, Inputs: []job.Reader{r, nil}, Sinks: []sink.Sink{o.Sink(), o.Sink(), o.Sink()},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{
				`"windows" {"end":"1970-01-01T00:00:10.000Z","key":"a","page":"a",` +
					`"start":"1970-01-01T00:00:00.000Z","total":10}`,
				`"raw" {"n":30,"page":"c"}`, `"missed" {"n":30,"page":"c"}`, `"raw" {"n":40,"page":"a"}`,
				`"missed" {"n":40,"page":"a"}`,
				`"windows" {"end":"1970-01-01T00:00:20.000Z","key":"b","page":"b",` +
					`"start":"1970-01-01T00:00:10.000Z","total":20}`,
				`"windows" {"end":"1970-01-01T00:00:40.000Z","key":"b","page":"b",` +
					`"start":"1970-01-01T00:00:30.000Z","total":50}`,
			}
			var got, keys []string
			for line := range strings.Lines(out.String()) {
				head, value, _ := strings.Cut(strings.TrimSuffix(line, "}\n"), `,"value":`)
				head, output, _ := strings.Cut(head, `,"output":`)
				_, key, _ := strings.Cut(head, `"key":`)
				got = append(got, output+" "+value)
				if output != `"missed"` {
					keys = append(keys, key)
				}
			}
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
			if g := strings.Join(keys, " "); g != c.keys {
				t.Errorf("keys %s, want %s", g, c.keys)
			}
			if stats.Epochs != c.epochs || stats.DeadLetters != 0 {
				t.Errorf("%+v", stats)
			}
		})
	}
}

// M3: without an emit the late events are what came in, although only the fields that the
// window reads are decoded (three late events were once three copies of the last).
func TestM3LateEventsAsTheyCame(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(stragglers, "    emit: { page: event.page, n: event.n * 10 }\n", "", 1)
	var in, want strings.Builder
	in.WriteString(`{"at":1000,"page":"z","n":0}` + "\n")
	for i := range 200 {
		event := fmt.Sprintf(`{"at":%d,"n":%d,"page":%q}`, i, i, strings.Repeat("p", 1+i*37%200))
		fmt.Fprintln(&in, event)
		fmt.Fprintln(&want, event)
	}
	doc = strings.Replace(doc, "REACTOR", "reactor: { strategy: sequential }", 1)
	u, diags := (&builtin.Kinds{}).Parse([]byte(doc), "late.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	r, err := file.NewReader(strings.NewReader(in.String()), file.ReaderConfig{Format: "ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := stdout.NewOutput(&out)
	if _, err := job.Run(t.Context(), job.Config{
		Unit: u, Inputs: []job.Reader{r, nil}, Sinks: []sink.Sink{o.Sink(), o.Sink(), o.Sink()},
	}); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		if _, value, ok := strings.Cut(line, `"output":"raw","value":`); ok {
			got.WriteString(strings.TrimSuffix(value, "}\n") + "\n")
		}
	}
	if got.String() != want.String() {
		t.Errorf("got %.300s\nwant %.300s", got.String(), want.String())
	}
}

// M26: an event far in the future moves the watermark past everything after it. What is
// dropped then is counted, and the event that did it is named.
func TestLateDropsAreTold(t *testing.T) {
	t.Parallel()
	doc := strings.NewReplacer("      late: stragglers\n", "", "REACTOR", "reactor: { strategy: sequential }",
		"nodes:\n  missed: { expr: '{ \"page\": stragglers.page, \"n\": stragglers.n }' }\n", "",
		"  raw: { from: stragglers, sink: { stdout: {} } }\n", "",
		"  missed: { from: missed, sink: { stdout: {} } }\n", "").Replace(stragglers)
	run := func(late string, lines ...string) job.Stats {
		t.Helper()
		doc := strings.Replace(doc, "tumbling: 10s", "tumbling: 10s\n      "+late, 1)
		u, diags := (&builtin.Kinds{}).Parse([]byte(doc), "late.yaml")
		if err := diags.Err(); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		r, err := file.NewReader(strings.NewReader(strings.Join(lines, "\n")), file.ReaderConfig{Format: "ndjson"})
		if err != nil {
			t.Fatal(err)
		}
		stats, err := job.Run(t.Context(), job.Config{Unit: u, Inputs: []job.Reader{r}, Sinks: make([]sink.Sink, 1)})
		if err != nil {
			t.Fatal(err)
		}
		return stats
	}
	input := []string{`{"at":1,"n":1,"page":"a"}`, `{"at":7258118400,"n":1,"page":"a"}`, `nonsense`}
	for at := range 100 {
		input = append(input, fmt.Sprintf(`{"at":%d,"n":1,"page":"a"}`, at+5))
	}
	s := run("late: drop", input...)
	want := "100 late events of visits were dropped; furthest behind was event 4, of 1970-01-01T00:00:05Z," +
		" when event 2, of 2200-01-01T00:00:00Z, had moved the watermark"
	if s.LateDropped != 100 || s.Late != want+"\n" || s.DeadLetters != 1 {
		t.Errorf("%+v", s)
	}
	if s := run("late: update\n      retain: 10s", input...); s.LateDropped != 100 {
		t.Errorf("update: %+v", s)
	}
	if s := run("late: dead_letter", input...); s.LateDropped != 0 || s.Late != "" || s.DeadLetters != 101 {
		t.Errorf("dead letters are told as such: %+v", s)
	}
	s = run("lateness: 10s", input[0], `{"at":8,"n":1,"page":"a"}`, `{"at":3,"n":1,"page":"a"}`)
	if s.LateDropped != 0 || s.Late != "" {
		t.Errorf("nothing is late: %+v", s)
	}
}
