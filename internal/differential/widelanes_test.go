package differential

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// standing is what a node of a pool cannot have: functions with memory, and rows of the table.
var standing = regexp.MustCompile(`\b(ema|lag|delta|rate|rolling_[a-z]+|dedupe)\(|\btt\[`)

// drawRates puts nodes into a lane with a cadence, or two, in a third of the declarations without keys. What they draw
// is beside the rest.
func (w *wide) drawRates(seed uint64) {
	rest := w.r
	defer func() { w.r = rest }()
	reactor, _ := w.doc["reactor"].(tree)
	if w.r = rand.New(rand.NewPCG(seed, 78)); reactor["key"] != nil || !w.one(3) {
		return
	}
	rate := tree{"period": fmt.Sprintf("%dms", 100*(3+w.r.IntN(20)))}
	if w.one(3) {
		rate = tree{"hz": []float64{0.5, 1, 2.5, 3}[w.r.IntN(4)]}
	}
	w.maybe(2, rate, "overrun_policy", w.pick("drop_tick", "skip_next", "catch_up_once"))
	lanes, _ := w.doc["lanes"].(tree)
	if lanes == nil {
		lanes = tree{}
	}
	lanes["beat"] = tree{"fixed_rate": rate}
	in := []string{"beat"}
	if w.one(2) {
		lanes["drum"] = tree{"fixed_rate": tree{"period": fmt.Sprintf("%dms", 100*(3+w.r.IntN(50)))}}
		in = append(in, "drum")
	}
	w.doc["lanes"] = lanes
	nodes, _ := w.doc["nodes"].(tree)
	for _, name := range slices.Sorted(keysOf(nodes)) {
		n, _ := nodes[name].(tree)
		free := name != "lp1" && name != "lp2" && n["lane"] == nil
		if free && !strings.Contains(string(text(n)), "fresh(") && w.one(2) {
			n["lane"] = w.pick(in...)
		}
	}
}

// drawLanes puts nodes into lanes, in a third of the declarations. What they draw is beside the rest, so that it is the
// same with and without.
func (w *wide) drawLanes(seed uint64) {
	rest := w.r
	defer func() { w.r = rest }()
	if w.r = rand.New(rand.NewPCG(seed, 77)); !w.one(3) {
		return
	}
	pool := tree{}
	w.maybe(2, pool, "max_threads", 1+w.r.IntN(8))
	w.maybe(2, pool, "queue_capacity", 1+w.r.IntN(3))
	w.maybe(2, pool, "overflow", w.pick("block", "drop_oldest", "drop_newest", "reject", "fail_fast"))
	w.maybe(4, pool, "reentrant", 1+w.r.IntN(4))
	w.doc["lanes"] = tree{"calc": tree{"pool": pool}, "inline": tree{"event_loop": tree{}}}
	nodes, _ := w.doc["nodes"].(tree)
	for _, name := range slices.Sorted(keysOf(nodes)) {
		n, _ := nodes[name].(tree)
		switch lane := w.pick("calc", "calc", "inline", ""); {
		case lane == "", name == "lp1", name == "lp2":
		case lane == "calc" && standing.Match(text(n)):
		default:
			n["lane"] = lane
		}
	}
}
