package differential

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// newJoined draws a declaration with a join, and the events of its sides.
func newJoined(seed uint64) *wide {
	w := &wide{r: rand.New(rand.NewPCG(seed, 27_000)), routes: map[string][]string{}, by: []string{"k"},
		keys: []string{"p", "q", "r", "s", "t"}, said: true, seed: seed}
	w.apart, w.broken, w.keyed = seed%2 == 0, w.one(3), w.one(2)
	accs := tree{}
	w.doc = tree{"graph": "random", "accumulators": accs, "nodes": tree{}, "outputs": tree{}}
	if w.one(2) {
		w.doc["idle"] = w.pick("1h", "20m")
	}
	for _, name := range []string{"a", "bb", "c"}[:2+w.r.IntN(2)] {
		in := &wideInput{name: name, kind: "passthrough", strategy: "sequential", acc: tree{"time": "event.at"},
			triggers: name == "c"}
		w.maybe(4, in.acc, "time_unit", w.pick("s", "ms", "us", "ns"))
		w.maybe(4, in.acc, "where", w.pick("event.x % 5 != 0", "event.x != 3"))
		w.maybe(4, in.acc, "emit", tree{"x": "event.x", "k": "event.k", "g": "event.g"})
		w.maybe(6, in.acc, "capacity", 200+w.r.IntN(2000))
		if name == "c" {
			in.acc["strategy"] = w.pick("sequential", "latest")
		}
		accs[name] = in.acc
		w.inputs = append(w.inputs, in)
	}
	joined := w.pick("aj", "joined") // before a side, or behind them
	made := tree{"join": w.drawJoin()}
	w.maybe(3, made, "capacity", 200+w.r.IntN(2000)) // with less a side waits, and the others go on without it
	accs[joined] = made
	w.drawBehind(joined)
	w.drawKeeping()
	w.drawEvents()
	return w
}

func (w *wide) drawJoin() tree {
	j := tree{"left": "a", "right": "bb", "on": "k", "within": w.ms(0, 3000)}
	if w.one(2) {
		j["left"], j["right"] = "bb", "a"
	}
	switch w.r.IntN(4) {
	case 0:
		j["on"] = []string{"k", "g"}
	case 1:
		j["on"] = tree{"left": "k", "right": []string{"k"}}
	case 2:
		if !w.keyed {
			j["on"] = tree{"left": `k + "!"`, "right": `k + "!"`}
		}
	}
	if w.one(2) {
		j["within"] = w.some(tree{"before": w.ms(0, 4000), "after": w.ms(0, 4000)})
	}
	w.maybe(2, j, "type", w.pick("inner", "left", "right", "full", "full"))
	w.maybe(2, j, "lateness", w.ms(0, 4000))
	w.maybe(4, j, "late", w.pick("drop", "dead_letter"))
	w.maybe(5, j, "max_rows", 2+w.r.IntN(20))
	w.maybe(8, j, "max_bytes", 1000+w.r.IntN(4000))
	if w.seed%5 == 2 {
		delete(j, "within")
		j["tumbling"] = w.ms(1, 4000)
	}
	return j
}

// drawBehind declares what is made of a join.
func (w *wide) drawBehind(joined string) {
	r, nodes, outs := tree{}, w.doc["nodes"].(tree), w.doc["outputs"].(tree)
	if w.keyed {
		r["key"] = "k"
		w.maybe(4, r, "ttl", w.ms(1000, 9000))
		w.maybe(6, r, "max_keys", 2+w.r.IntN(5))
	}
	if accs := w.doc["accumulators"].(tree); accs["c"] != nil && w.one(3) {
		r["when"] = w.pick("all", "any")
	}
	if w.one(4) {
		r["rate_limit"] = w.ms(1, 2000)
	}
	w.doc["reactor"] = r
	reads := strings.NewReplacer("J", joined)
	nodes["whole"] = tree{"expr": reads.Replace(`{"l": J.left, "r": J.right, "m": J.matched, "at": J.at,` +
		`"n": [J.nth_left, J.nth_right], "key": J.key}`)}
	nodes["far"] = tree{"expr": reads.Replace("J.matched ? J.left.x - J.right.x : J.left?.x ?? J.right?.x")}
	nodes["sum"] = tree{"expr": reads.Replace(`rolling_sum(J.nth_left, duration("2s"))`)}
	outs["joined"] = tree{"from": joined, "sink": tree{"stdout": tree{}}}
	for _, name := range []string{"whole", "far", "sum"} {
		outs[name] = tree{"from": name, "sink": tree{"stdout": tree{}}}
	}
	if w.one(3) {
		w.doc["accumulators"].(tree)["stage"] = tree{"from": "whole", "time": "event.at",
			"window": tree{"tumbling": w.ms(200, 3000), "key": "event.key", "aggregate": tree{"n": "count()"}}}
		nodes["counted"] = tree{"expr": "stage.n"}
		outs["counted"] = tree{"from": "counted", "sink": tree{"stdout": tree{}}}
		if w.keyed {
			w.doc["accumulators"].(tree)["stage"].(tree)["window"].(tree)["key"] = "event.k"
			nodes["whole"] = tree{"expr": reads.Replace(`{"k": key, "m": J.matched, "at": J.at}`)}
		}
	}
}

// M26: what a bounded run makes of a join its test makes of it, a graph that is gone on from, and a live graph, across
// kills and at every pace.
func TestM26JoinsEveryWayEqualsRun(t *testing.T) {
	t.Parallel()
	everyWayOf(t, howMany(20), newJoined, ways())
}

// M26, M28: what was late is late after a restart as well, for its side did not trail when the process ended.
func TestM26WhatIsLateIsSoAfterARestart(t *testing.T) {
	t.Parallel()
	const seed = 233 // whose sides are caught up, and have late events, where it goes down after every step
	w := newJoined(seed)
	want, err := w.run(t, w.doc)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := against((*wide).steps)(w, t, w.doc, seed, want); err != nil || said != "" {
		t.Error(first(said, err))
	}
}

// M3: a bounded run joins what two loops over all pairs do, written from docs/joins.md.
func TestM3JoinsAreNestedLoops(t *testing.T) {
	t.Parallel()
	pairs, late := 0, 0
	seeds(t, 300, func(t *testing.T, seed uint64) {
		w := newJoined(seed)
		if n, l := w.compareLoops(t, seed); !t.Failed() {
			pairs, late = pairs+n, late+l
		}
	})
	if !t.Failed() && !few() && os.Getenv("DIFF_SEED") == "" && (pairs < 1000 || late < 100) {
		t.Errorf("%d pairs, %d late events: that shows nothing", pairs, late)
	}
}

// compareLoops compares the pairs of a run with those of two loops.
func (w *wide) compareLoops(t *testing.T, seed uint64) (pairs, late int) {
	t.Helper()
	accs, _ := w.doc["accumulators"].(tree)
	name := "joined"
	if accs["aj"] != nil {
		name = "aj"
	}
	join := accs[name].(tree)["join"].(tree)
	delete(join, "max_rows")
	delete(join, "max_bytes")
	accs["a"], accs["bb"] = tree{"time": "event.at"}, tree{"time": "event.at"}
	delete(accs, "stage")
	w.doc["reactor"] = tree{}
	w.doc["nodes"] = tree{"pair": tree{"expr": name + `.matched ? [` + name + ".left, " + name + ".right] : nil"}}
	w.doc["outputs"] = tree{"pairs": tree{"from": "pair", "sink": tree{"stdout": tree{}}}}
	w.broken, w.keyed = false, false
	sides := [2][]loopEvent{}
	near := nearBy(join)
	for i, side := range []string{"left", "right"} {
		in := w.input(join[side].(string))
		in.acc = accs[in.name].(tree)
		n := 0
		sides[i], n = w.inTime(t, in, join)
		late += n
	}
	_, composite := join["on"].([]string)
	var want []string
	for _, l := range sides[0] {
		for _, r := range sides[1] {
			if l.K == r.K && (!composite || l.G == r.G) && near(l.at, r.at) {
				want = append(want, string(text([]any{l.text, r.text})))
			}
		}
	}
	if !w.putsOut(t, seed, "pairs", want) {
		return 0, 0
	}
	return len(want), late
}

// putsOut compares what an output puts out with what is wanted, in any order. It is false where nothing has run.
func (w *wide) putsOut(t *testing.T, seed uint64, output string, want []string) bool {
	t.Helper()
	said, err := w.run(t, w.doc)
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, text(w.doc))
		return false
	}
	var got []string
	for _, line := range said.outputs[output] {
		got = append(got, string(valueOf(strings.SplitN(line, " ", 3)[2])))
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("seed %d: %d %s, want %d\n%s\n%s", seed, len(got), output, len(want), text(w.doc), w.told())
	}
	return true
}

// inTime makes events of an input anew, and says which of them are not late for a join, and how many are.
func (w *wide) inTime(t *testing.T, in *wideInput, join tree) (events []loopEvent, late int) {
	t.Helper()
	most := int64(-1 << 62)
	for k := range in.lines {
		l := &in.lines[k]
		l.text = w.line(in, l.at)
		if l.at < most-spanOf(join["lateness"], "") {
			late++
			continue
		}
		most = max(most, l.at)
		e := loopEvent{at: l.at}
		if err := json.Unmarshal([]byte(l.text), &e); err != nil {
			t.Fatal(err)
		}
		e.at, e.text = l.at, json.RawMessage(l.text)
		events = append(events, e)
	}
	return events, late
}

// nearBy says whether two times, of a left event and of a right one, are near enough for a join.
func nearBy(join tree) func(l, r int64) bool {
	if size := spanOf(join["tumbling"], ""); size > 0 {
		begun := zero.UnixMilli() // windows are counted from 1970 on
		return func(l, r int64) bool { return (begun+l)/size == (begun+r)/size }
	}
	before, after := spanOf(join["within"], "before"), spanOf(join["within"], "after")
	return func(l, r int64) bool { return r >= l-before && r <= l+after }
}

type loopEvent struct {
	K    string
	G    int
	at   int64
	text json.RawMessage
}

// spanOf is a duration of a declaration in milliseconds, or a field of it.
func spanOf(v any, field string) int64 {
	switch v := v.(type) {
	case tree:
		return spanOf(v[field], "")
	case string:
		d, err := time.ParseDuration(v)
		if err != nil {
			panic(err)
		}
		return d.Milliseconds()
	}
	return 0
}
