package job_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

// TestPlainAgrees compares everything that only makes a run faster (projection, lent
// documents, reused handoffs, incremental nodes) with a run without it, over random
// declarations and events: the same bytes, the same counts.
func TestPlainAgrees(t *testing.T) {
	t.Parallel()
	outputs := int64(0)
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 5))
		text := randomGraph(r)
		inputs := []string{randomEvents(r), randomEvents(r)}
		want, wantStats := runText(t, text, inputs, true)
		got, stats := runText(t, text, inputs, false)
		if got != want || !reflect.DeepEqual(stats, wantStats) {
			t.Fatalf("seed %d: optimised %+v\n%s\nplain %+v\n%s\n%s", seed, stats, got, wantStats, want, text)
		}
		outputs += stats.Outputs
	}
	if outputs < 1000 {
		t.Errorf("only %d outputs: the test compares nothing", outputs)
	}
}

func runText(t *testing.T, text string, inputs []string, plain bool) (string, job.Stats) {
	t.Helper()
	u, diags := (&builtin.Kinds{Plain: plain}).Parse([]byte(text), "random.yaml")
	if err := diags.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var readers []job.Reader
	for _, in := range inputs {
		r, err := file.NewReader(strings.NewReader(in), file.ReaderConfig{Format: "ndjson"})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	var out bytes.Buffer
	shared := stdout.NewOutput(&out)
	sinks := make([]sink.Sink, len(u.Spec.Outputs))
	for i := range sinks {
		sinks[i] = shared.Sink()
	}
	var letters strings.Builder
	tell := func(l job.Letter) error {
		_, err := fmt.Fprintf(&letters, "%d %s %s %s %s %d %q %s\n", l.Line, l.Accumulator, l.Stage, l.Code, l.Reason,
			l.Epoch, l.Key, l.Payload)
		return err
	}
	stats, err := job.Run(t.Context(), job.Config{Unit: u, Inputs: readers, Sinks: sinks, DeadLetter: tell})
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString(letters.String())
	return out.String(), stats
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomGraph is a graph of two inputs whose values are objects with n, or nothing.
func randomGraph(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("graph: random\naccumulators:\n")
	for _, name := range []string{"a", "b"} {
		fmt.Fprintf(&b, "  %s:\n    source: { file: { path: %s.ndjson } }\n", name, name)
		b.WriteString(pick(r, "", "", "    where: 'event.n > 3'\n", "    where: 'event?.s != \"x\"'\n",
			"    where: '(event?.sub)?.k ?? true'\n"))
		b.WriteString(
			pick(r, "", "", "    emit: { n: 'event.n', s: 'event?.s', sub: 'event.n', list: '[event?.list]' }\n",
				"    emit: { n: 'event.n * 2', s: '1', sub: 'event?.sub', list: 'event?.list' }\n",
				"    emit: { n: 'event.n', s: 'event', sub: '1', list: '[event]' }\n", "    emit: 'event'\n",
				`    emit: '{"n": event.n, "s": 1, "sub": [event?.sub, event?.s], "list": [event]}'`+"\n"))
		b.WriteString(pick(r, "", "", "", "    strategy: latest\n"))
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "    time: event.n * 10000\n    window:\n      tumbling: 20s\n      lateness: 10s\n     "+
				" aggregate:\n        n: count()\n        s: max(event.n)\n        sub: %s\n        list: %s\n",
				pick(r, "last(event?.sub)", "first(event)"), pick(r, "collect(event, 3)", "collect([event.n], 9)"))
		}
	}
	fmt.Fprintf(&b, "reactor: { when: %s, strategy: sequential%s }\n", pick(r, "any", "any", "all"), randomReactor(r))
	b.WriteString(pick(r, "", "", "", "durability: { on_failure: halt }\n"))
	b.WriteString("nodes:\n")
	fmt.Fprintf(&b, "  sum: { expr: 'a.n + (b?.n ?? 0)', on_error: %s }\n", pick(r, "fail_epoch", "skip", "last_good"))
	fmt.Fprintf(&b, "  pair: { event: %s, expr: '%s' }\n", pick(r, "true", "false"),
		pick(r, "[a, b?.s]", "{\"x\": a?.s, \"y\": b}", "a?.n", "len(a?.list ?? [])"))
	b.WriteString(
		"outputs:\n  sums: { from: sum, sink: { stdout: {} } }\n  pairs: { from: pair, sink: { stdout: {} } }\n")
	b.WriteString(pick(r, "", "  raw: { from: a, sink: { stdout: {} } }\n"))
	return b.String()
}

// randomReactor is what else a reactor may say: keys, few enough to be evicted, and guards, which may wait or fail.
func randomReactor(r *rand.Rand) string {
	more := pick(r, "", ", guard: a.n > 2", ", guard: a.n > b.n", ", guard: '(b?.n ?? 3) > 2'",
		", guard: 'len(string(a?.s)) > 1'")
	if r.IntN(2) == 0 {
		more += ", key: n" + pick(r, "", ", max_keys: 3", ", max_keys: 3, on_evict: drop")
	}
	return more
}

// randomEvents are lines in two or more layouts, some of them broken.
func randomEvents(r *rand.Rand) string {
	var b strings.Builder
	for range 5 + r.IntN(30) {
		n := r.IntN(8)
		b.WriteString(pick(r,
			fmt.Sprintf(`{"n":%d}`, n), fmt.Sprintf(`{"n":%d,"s":"x"}`, n), fmt.Sprintf(`{"s":"y\u00e9\n","n":%d.5}`,
				n),
			fmt.Sprintf(`{"n":%d,"sub":{"k":%t,"n":[%d]},"list":[1,{"q":"\t"}]}`, n, n%2 == 0, n),
			fmt.Sprintf(`{ "n" : %d , "s" : "spaced" }`, n), `{"n":"text"}`, `{"s":null}`, `{"n":1`, `7`, `{}`, ""))
		b.WriteByte('\n')
	}
	return b.String()
}
