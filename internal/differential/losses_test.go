package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/spec"
)

// lossKinds is how each kind of accumulator is declared so that the ids of its events can be found in its boundaries.
// A kind without a row here fails the test.
func lossKinds() map[string]tree {
	ids := tree{"ids": "collect(event.i, 1000)"}
	return map[string]tree{
		"passthrough": {},
		"batch":       {"batch": tree{"size": 3, "interval": "1s"}},
		"state":       {"state": tree{"keep": 1}},
		"window":      {"window": tree{"tumbling": "50ms", "key": "event.k", "aggregate": ids}},
		"fold":        {"fold": tree{"key": "event.k", "step": tree{"i": "event.i"}}},
	}
}

// lossCase is one declaration of a single input that is sent more than it can hold.
type lossCase struct {
	kind           string
	reactor, input string // the strategy, where it is said
	event, keyed   bool
	pushed         bool // held up by an answer, where a file is not read on
	counts         bool // a node with memory rests on it
}

func (c lossCase) String() string {
	yes := func(is bool, a, b string) string {
		if is {
			return a
		}
		return b
	}
	return fmt.Sprintf("%s, reactor %q, input %q, %s, %s, %s, %s", c.kind, c.reactor, c.input,
		yes(c.event, "event clock", "arrival clock"), yes(c.keyed, "keyed", "unkeyed"), yes(c.pushed, "pushed", "file"),
		yes(c.counts, "counted", "shown"))
}

func lossCases() (all []lossCase) {
	kinds := slices.Sorted(maps.Keys(lossKinds()))
	for _, kind := range kinds {
		for _, said := range [][2]string{
			{}, {"latest", ""}, {"sequential", ""}, {"burst", ""}, {"", "latest"}, {"", "sequential"}, {"", "burst"},
		} {
			for bits := range 16 {
				all = append(all, lossCase{kind, said[0], said[1], bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0})
			}
		}
	}
	return all
}

func (c lossCase) declaration(dir string) tree {
	acc := maps.Clone(lossKinds()[c.kind])
	acc["capacity"], acc["emit"] = 4, tree{"i": "event.i", "k": "event.k"}
	if c.event {
		acc["time"], acc["time_unit"] = "event.at", "ms"
	}
	if !c.pushed {
		acc["source"] = tree{"file": tree{"path": dir + "/x.ndjson", "follow": true}}
	}
	if c.input != "" {
		acc["strategy"] = c.input
	}
	r := tree{}
	if c.reactor != "" {
		r["strategy"] = c.reactor
	}
	if c.keyed {
		r["key"] = "k"
	}
	doc := tree{
		"graph": "random", "accumulators": tree{"x": acc},
		"outputs": tree{"seen": tree{"from": "x", "sink": tree{"stdout": tree{}}}},
	}
	if len(r) > 0 {
		doc["reactor"] = r
	}
	if c.counts {
		doc["nodes"] = tree{"n": tree{"expr": "rolling_count(len(string(x)), 100000)"}}
		doc["outputs"].(tree)["n"] = tree{"from": "n", "sink": tree{"drop": tree{}}}
	}
	return doc
}

// refused says whether the check refuses the declaration, as it has to say: because it must be said what becomes of
// what is overwritten, or because the kind has no keys.
func (c lossCase) refused(t *testing.T, doc tree) (u *compile.Unit, refused bool) {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse(text(doc), "loss.json")
	if diags.Err() == nil {
		return u, false
	}
	for _, d := range diags {
		lists := c.keyed && (c.kind == "batch" || c.kind == "state")
		if !lists && (d.Path != "accumulators.x" || d.Code != "strategy_needed") {
			t.Errorf("%v: refused with %s at %s: %s", c, d.Code, d.Path, d.Text)
		}
	}
	return nil, true
}

// warned says whether lint tells of the input that it may conflate.
func (c lossCase) warned(u *compile.Unit) bool {
	return slices.ContainsFunc(compile.Lint(u), func(d spec.Diagnostic) bool {
		return d.Code == "may_conflate" && strings.Contains(d.Path, "accumulators.x")
	})
}

const lossEvents = 40

// live sends the graph more than it can hold, again and again while it is paused, and answers the ids of the events
// that its output has shown, and its books.
func (c lossCase) live(t *testing.T, doc tree, dir string) (seen map[int]int, b books) {
	t.Helper()
	time.Sleep(zero.AddDate(0, 1, 0).Sub(time.Now()))
	in, store, out := &wideInput{name: "x"}, memstore.NewSeeded(1), &safeBuffer{}
	defer store.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
	}
	must(in.append(dir))
	l, err := begin(t, newMortal(store, eternal), string(text(doc)), out)
	must(err)
	time.Sleep(time.Second)
	full := int64(0)
	for sent := 0; sent < lossEvents; {
		_, err := l.e.Pause(t.Context(), wideRef, "test")
		must(err)
		var events []json.RawMessage
		var lines []string
		for range 10 {
			line := fmt.Sprintf(`{"i":%d,"k":%q,"at":%d}`, sent, []string{"a", "b"}[sent%2],
				zero.UnixMilli()+int64(sent)*20)
			events, lines, sent = append(events, json.RawMessage(line)), append(lines, line), sent+1
		}
		if c.pushed {
			events = events[l.push(t, events):]
			full += int64(len(events))
		} else {
			must(in.append(dir, lines...))
		}
		time.Sleep(time.Second)
		_, err = l.e.Resume(t.Context(), wideRef, "test")
		must(err)
		for len(events) > 0 && c.pushed {
			events = events[l.push(t, events):]
			full += int64(len(events))
		}
		time.Sleep(time.Second)
	}
	time.Sleep(20 * time.Second) // in the silence time goes on, and windows close
	sum, err := l.e.Graph(t.Context(), wideRef)
	must(err)
	must(l.e.Close())
	s := newSpoken()
	must(s.values(out.b.Bytes()))
	seen = map[int]int{}
	for _, line := range s.outputs["seen"] {
		var v any
		must(json.Unmarshal(valueOf(strings.SplitN(line, " ", 3)[2]), &v))
		ids(v, seen)
	}
	b = booksOf(&sum.Accumulators[0].Counters)
	all := b.filtered + b.conflated + b.refused + b.consumed + b.queued
	if b.received != lossEvents+full || all != b.received {
		t.Errorf("%v: %d events were sent and %d sent again, the books do not add up: %+v", c, lossEvents, full, b)
	}
	if b.refused -= full; b.refused < 0 { // what was answered with 429 was sent again
		t.Errorf("%v: %d events were refused as the queue was full, the books say %+v", c, full, b)
	}
	return seen, b
}

// push is how many of the events were taken within a second.
func (l *life) push(t *testing.T, events []json.RawMessage) int {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	res, err := l.e.Push(ctx, wideRef, "x", events)
	if err != nil || len(res.Rejected) > 0 {
		t.Fatalf("push: %v, %+v", err, res)
	}
	return res.Accepted
}

// ids counts the ids of events in a value.
func ids(v any, seen map[int]int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			ids(e, seen)
		}
	case map[string]any:
		for name, e := range v {
			list, _ := e.([]any)
			if i, ok := e.(float64); ok && name == "i" {
				seen[int(i)]++
			} else if name == "ids" {
				for _, i := range list {
					seen[int(i.(float64))]++
				}
			}
		}
	}
}

// M4, M9, M42: whatever the kind, the strategy and who says it, the clock, keys and source: what a graph is sent and
// its output does not show was refused by the check, or lint tells of the input, or the input's own declaration asks
// for it; and the books account for each event that is missing.
//
// What is shown of a `latest` input and not counted is state, of which the newest is enough: docs/concepts.md, "What
// may be conflated". That is the one loss that nothing is said about.
func TestM9TheDefaultsNeverLose(t *testing.T) {
	t.Parallel()
	rows := lossKinds()
	for _, k := range (&builtin.Kinds{}).Declared().Accumulators {
		// Nothing is overwritten before it is in a table, which has no strategy: its books say so in its own tests.
		// One that is registered in Go is a fold but for what its step is written in. A join is of two inputs, and its
		// books are compared with nested loops (TestM26JoinsEveryWayEqualsRun).
		if rows[k.Name()] == nil && !slices.Contains([]string{"table", "go", "join"}, k.Name()) {
			t.Errorf("lossKinds has no row for accumulators of kind %s", k.Name())
		}
	}
	counted := map[string]int{}
	for i, c := range lossCases() {
		if testing.Short() && i%7 != 0 {
			continue
		}
		dir := t.TempDir()
		doc := c.declaration(dir)
		u, refused := c.refused(t, doc)
		if refused {
			counted["refused"]++
			continue
		}
		var seen map[int]int
		var b books
		synctest.Test(t, func(t *testing.T) { seen, b = c.live(t, doc, dir) })
		missing := int64(lossEvents - len(seen))
		if b.consumed != int64(len(seen)) || missing != b.filtered+b.conflated+b.refused+b.queued {
			t.Errorf("%v: %d events were shown, the books say %+v", c, len(seen), b)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%v: event %d was shown %d times", c, id, n)
			}
		}
		switch {
		case missing == 0:
			counted["nothing lost"]++
		case c.input == "latest":
			counted["asked for"]++
		case c.warned(u):
			counted["warned of"]++
		case b.conflated == missing && !c.counts:
			counted["state"]++
		default:
			t.Errorf("%v: %d of %d events are missing, and nothing told of it: %+v", c, missing, lossEvents, b)
		}
	}
	t.Logf("%v", counted)
	for _, what := range []string{"refused", "nothing lost", "asked for", "warned of", "state"} {
		if counted[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
}
