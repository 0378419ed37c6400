package differential

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// joinOf is the join of a declaration that newJoined has drawn, and its name.
func (w *wide) joinOf() (name string, join tree) {
	accs, _ := w.doc["accumulators"].(tree)
	for _, name = range []string{"aj", "joined"} {
		if in, ok := accs[name].(tree); ok {
			return name, in["join"].(tree)
		}
	}
	panic("it has no join")
}

// newRejoined draws a declaration with a join of a join and a third input.
func newRejoined(seed uint64) *wide {
	for again := uint64(0); ; again++ {
		w := newJoined(seed + again<<20)
		accs, _ := w.doc["accumulators"].(tree)
		if accs["c"] == nil || accs["stage"] != nil {
			continue
		}
		name, first := w.joinOf()
		inner, c := accs[name].(tree), accs["c"].(tree)
		delete(inner, "capacity") // nothing waits of it
		delete(c, "strategy")
		in := w.input("c")
		in.strategy, in.triggers = "sequential", false
		second := w.drawJoin()
		second["left"], second["right"], second["on"] = name, "c", "k"
		if on, ok := first["on"].(tree); ok && strings.Contains(on["left"].(string), "!") {
			second["on"] = tree{"left": "key", "right": on["right"]}
		}
		if on, ok := second["on"].(tree); w.one(2) {
			second["left"], second["right"] = "c", name
			if ok {
				on["left"], on["right"] = on["right"], on["left"]
			}
		}
		twice := w.pick("a2", "twice") // before what it takes, or behind that
		accs[twice] = tree{"join": second}
		// More than waits of it at its end: behind a rate_limit that are some hundreds of matches. With less its
		// sides wait in a live graph, for which time goes on in that silence, and a run reads on.
		w.maybe(3, accs[twice].(tree), "capacity", 2000+w.r.IntN(2000))
		w.doc["nodes"], w.doc["outputs"] = tree{}, tree{}
		w.drawBehind(twice)
		r, _ := w.doc["reactor"].(tree)
		delete(r, "when")
		if delete(accs, "stage"); w.doc["nodes"].(tree)["counted"] != nil {
			continue
		}
		w.doc["nodes"].(tree)["far"] = tree{"expr": twice + ".matched ? 1 : 0"}
		if _, err := w.compile(w.doc); err == nil {
			return w
		}
	}
}

// M26: what a bounded run makes of a join of a join is what a live graph does, across kills and at every pace.
func TestM26RejoinsEveryWayEqualsRun(t *testing.T) {
	t.Parallel()
	everyWayOf(t, howMany(20), newRejoined, ways())
}

// M3: a bounded run joins what three loops over all events do, written from docs/joins.md.
func TestM3RejoinsAreNestedLoops(t *testing.T) {
	t.Parallel()
	triples := 0
	seeds(t, 200, func(t *testing.T, seed uint64) {
		w := newRejoined(seed)
		if n := w.compareThreeLoops(t, seed); !t.Failed() {
			triples += n
		}
	})
	if !t.Failed() && !few() && os.Getenv("DIFF_SEED") == "" && triples < 1000 {
		t.Errorf("%d triples: that shows nothing", triples)
	}
}

// compareThreeLoops compares what a run joins twice with three loops.
func (w *wide) compareThreeLoops(t *testing.T, seed uint64) int {
	t.Helper()
	accs, _ := w.doc["accumulators"].(tree)
	_, first := w.joinOf()
	twice := "twice"
	if accs["a2"] != nil {
		twice = "a2"
	}
	second := accs[twice].(tree)["join"].(tree)
	sides := map[string][]loopEvent{}
	w.broken, w.keyed = false, false
	for _, in := range w.inputs {
		in.acc = tree{"time": "event.at"}
		accs[in.name] = in.acc
		join := first
		if in.name == "c" {
			join = second
		}
		sides[in.name], _ = w.inTime(t, in, join)
	}
	for _, join := range []tree{first, second} {
		delete(join, "max_rows")
		delete(join, "max_bytes")
		join["type"] = "inner"
	}
	w.doc["reactor"] = tree{}
	pair, other := "left", "right"
	if second["left"] == "c" {
		pair, other = other, pair
	}
	w.doc["nodes"] = tree{"triple": tree{"expr": strings.NewReplacer("J", twice, "P", pair, "C", other).
		Replace("[J.P.left, J.P.right, J.C]")}}
	w.doc["outputs"] = tree{"triples": tree{"from": "triple", "sink": tree{"stdout": tree{}}}}
	_, composite := first["on"].([]string)
	near, near2 := nearBy(first), nearBy(second)
	var want []string
	for _, l := range sides[first["left"].(string)] {
		for _, r := range sides[first["right"].(string)] {
			if l.K != r.K || composite && l.G != r.G || !near(l.at, r.at) {
				continue
			}
			for _, c := range sides["c"] {
				a, b := max(l.at, r.at), c.at
				if pair == "right" {
					a, b = b, a
				}
				if l.K == c.K && near2(a, b) {
					want = append(want, string(text([]json.RawMessage{l.text, r.text, c.text})))
				}
			}
		}
	}
	if !w.putsOut(t, seed, "triples", want) {
		return 0
	}
	return len(want)
}
