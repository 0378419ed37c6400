package job_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/testbed/leaks"
	"github.com/klauspost/compress/gzip"
	"go.uber.org/goleak"
)

// dirty are lines of which many are no events, or none that can be used.
func dirty(seed uint64, lines int) string {
	r := rand.New(rand.NewPCG(seed, 51))
	var b strings.Builder
	b.WriteString("\xef\xbb\xbf")
	for i := range lines {
		switch r.IntN(20) {
		case 0:
			b.WriteString(pick(r, "nonsense", `{"at":`, `{"k":1,"k":2}`, "[1", "\"\xff\"", " \t", ""))
		case 1:
			b.WriteString(`{"pad":"` + strings.Repeat("x", 60+r.IntN(5_000)) + `"}`)
		case 2:
			fmt.Fprintf(&b, `{"at":%s,"k":%d,"n":%d}`, pick(r, `"no time"`, "null", "1e300", `[]`), r.IntN(9), i)
		case 3:
			fmt.Fprintf(&b, `{"at":%d,"k":%s,"n":%d}`, 10*i, pick(r, "null", "[1]", "1.0", `"a"`), i)
		case 4:
			fmt.Fprintf(&b, `{"at":%d,"k":%d,"n":%s}`, 10*i, r.IntN(9), pick(r, "null", `"x"`, "true", "[3]"))
		default:
			fmt.Fprintf(&b, `{"at":%d,"k":%d,"n":%d}`, 10*i-r.IntN(3_000), r.IntN(9), i)
		}
		if i < lines-1 { // the last line has no end
			b.WriteString(pick(r, "\n", "\n", "\r\n"))
		}
	}
	return b.String()
}

// dirtyCSV is the same of CSV.
func dirtyCSV(seed uint64, lines int) string {
	r := rand.New(rand.NewPCG(seed, 52))
	var b strings.Builder
	b.WriteString("at,k,n\n")
	for i := range lines {
		fmt.Fprintf(&b, "%d,%d,%s\n", 10*i-r.IntN(3_000), r.IntN(9), pick(r, "1", "2", "1,2",
			`"a ""text""`+"\n"+`of lines"`,
			`"open" text`, "", strings.Repeat("y", 300)))
	}
	return b.String() + "1,2,\"never closed"
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // into memory
	_ = w.Close()
	return b.String()
}

// everything is all that a run says of one input: outputs, dead letters, books, how it ended. With unread nobody takes
// what it puts out, which is counted then.
func everything(t *testing.T, declaration, format, input string, decoders int, unread bool) string {
	t.Helper()
	u, ds := (&builtin.Kinds{Spoil: true}).Parse([]byte(declaration), "g.yaml")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	src, err := file.Inflate(strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	in, err := file.NewReader(src, file.ReaderConfig{Format: format, MaxEventBytes: 200})
	if err != nil {
		t.Fatal(err)
	}
	var out, letters bytes.Buffer
	to := stdout.NewOutput(&out)
	cfg := job.Config{Unit: u, Inputs: make([]job.Reader, len(u.Spec.Accumulators)), Decoders: decoders}
	cfg.Inputs[0] = in
	for range u.Spec.Outputs {
		if cfg.Sinks = append(cfg.Sinks, to.Sink()); unread {
			cfg.Sinks[len(cfg.Sinks)-1] = nil
		}
	}
	cfg.DeadLetter = func(l job.Letter) error {
		text, err := json.Marshal(l)
		letters.Write(append(text, '\n'))
		return err
	}
	stats, err := job.Run(t.Context(), cfg)
	text, marshal := json.MarshalIndent(stats, "", " ")
	if marshal != nil {
		t.Fatal(marshal)
	}
	return fmt.Sprint(out.String(), letters.String(), string(text), "\nended with ", err)
}

// aheadGraphs are declarations by what is made of an event ahead of its being folded, with the keys that can be dealt,
// and a guard that is for some of it.
var aheadGraphs = []struct{ name, in, key, guard string }{
	{"as it comes", "a: { strategy: sequential }", "k", "a.n % 3 != 0"},
	{"the newest", "a: {}", "k", "a.n % 3 != 0"},
	{"where, emit", "a: { where: event.n > 7, emit: { k: event.k, twice: event.n * 2 }, strategy: sequential }", "k",
		"a.twice % 3 != 0"},
	{"its time", "a: { time: event.at, strategy: sequential, schema: { properties: { n: { type: integer } } } }", "k",
		"a.n % 3 != 0"},
	{"batches", "a: { time: event.at, batch: { size: 7 } }", "", "a[0].n % 3 != 0"},
	{"windows", "a:\n    time: event.at\n    window: { tumbling: 1s, key: event.k, late: dead_letter, " +
		"aggregate: { n: sum(event.n) } }", "key", "a.n % 3 != 0"},
	{"late aside", "a:\n    time: event.at\n    window: { tumbling: 1s, key: event.k, late: l, " +
		"aggregate: { n: count() } }", "", "a.n % 3 != 0"},
	{"folds", "a: { time: event.at, fold: { key: event.k, init: 0, step: state + event.n } }", "key", ""},
}

// aheadReactors are the reactors that events read ahead go through, for the keys and the guard of a graph.
func aheadReactors(key, guard string) map[string]string {
	all := map[string]string{"plain": ""}
	if key != "" {
		all["shards"] = "{ key: " + key + ", shards: 3 }"
		all["keys"] = "{ key: " + key + " }"
		all["keys that may not wait"] = "{ key: " + key + ", guard: limit == nil, max_waiting_bytes: 1000 }"
		all["keys that wait"] = "{ key: " + key + ", guard: limit > 0 }"
	}
	if guard != "" {
		all["guard"] = "{ guard: '" + guard + "' }"
	}
	all["guard that waits"] = "{ guard: limit > 0 }"
	return all
}

// M51: what is read ahead says the same as what is read when its turn comes, to the byte: dead letters with their
// lines, outputs, books, and what the run ended with. So it does where an event goes straight through the core, where
// others wait there, and where nobody reads what it puts out.
func TestM51ReadingAheadSaysTheSame(t *testing.T) {
	defer leaks.None(t, goleak.IgnoreCurrent())
	text := dirty(1, 1_500)
	packed := gzipped(text)
	inputs := []struct{ name, format, text string }{
		{"lines", "ndjson", text}, {"broken gzip", "ndjson", packed[:len(packed)*2/3]},
		{"csv", "csv", dirtyCSV(1, 1_500)}, {"a header twice", "csv", "a,a\n1,2\n"}, {"nothing", "ndjson", ""},
	}
	for _, g := range aheadGraphs {
		for name, reactor := range aheadReactors(g.key, g.guard) {
			declaration := "graph: g\naccumulators:\n  " + g.in + "\n"
			if strings.Contains(reactor, "limit") {
				declaration += "  limit: { passive: true }\n" // nothing comes of it
			}
			if reactor != "" {
				declaration += "reactor: " + reactor + "\n"
			}
			declaration += "nodes: { made: { expr: a } }\noutputs:\n  all: { from: made, sink: { drop: {} } }\n"
			if g.name == "late aside" {
				declaration += "  aside: { from: l, sink: { drop: {} } }\n"
			}
			some := inputs
			if name != "plain" && name != "shards" {
				some = inputs[:1] // what is made of the others, the reactor has nothing to do with
			}
			for _, input := range some {
				for _, unread := range []bool{false, true} {
					want := everything(t, declaration, input.format, input.text, -1, unread)
					for _, decoders := range []int{1, 3} {
						got := everything(t, declaration, input.format, input.text, decoders, unread)
						if got != want {
							t.Errorf("%s of %s, %s, %d decoders, unread %t: %s", g.name, input.name, name, decoders,
								unread, differ(got, want))
						}
					}
				}
			}
		}
	}
}

// differ is the first line that differs.
func differ(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
