package differential

import (
	"slices"
	"testing"
)

// newNarrow draws a declaration with a join that has room for little, and whose pairs go one by one: its sides wait,
// and engine time goes on without them. Nothing else has events, for that goes on without the sides, too. In the end
// there is time for all that waits.
func newNarrow(seed uint64) *wide {
	w := newJoined(seed)
	accs, nodes, outs := w.doc["accumulators"].(tree), w.doc["nodes"].(tree), w.doc["outputs"].(tree)
	delete(accs, "c")
	delete(accs, "stage")
	delete(nodes, "counted")
	delete(outs, "counted")
	w.inputs = w.inputs[:2]
	r := w.doc["reactor"].(tree)
	delete(r, "when")
	r["rate_limit"] = w.ms(1, 400)
	for _, name := range slices.Sorted(keysOf(accs)) {
		if in := accs[name].(tree); in["join"] != nil || w.one(2) {
			in["capacity"] = 1 + w.r.IntN(20)
		}
	}
	end := int64(0)
	for _, in := range w.inputs {
		for _, l := range in.lines {
			end = max(end, l.at)
		}
	}
	for i, in := range w.inputs {
		at := end + 6*3_600_000 + int64(i)
		in.lines = append(in.lines, wideLine{at, w.line(in, at)})
	}
	return w
}

// M4, M26: sides that wait for room come in as they would have come: a live graph says what a run does, which has room
// for everything, wherever it ends and goes on.
func TestM4NarrowJoinsEveryWayEqualsRun(t *testing.T) {
	t.Parallel()
	everyWayOf(t, howMany(20), newNarrow, slices.DeleteFunc(ways(), func(x way) bool {
		return !slices.Contains([]string{"catch-up", "kills", "steps"}, x.name)
	}))
}
