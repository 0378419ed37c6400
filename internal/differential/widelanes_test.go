package differential

import (
	"math/rand/v2"
	"regexp"
	"slices"
)

// standing is what a node of a pool cannot have: functions with memory, and rows of the table.
var standing = regexp.MustCompile(`\b(ema|lag|delta|rate|rolling_[a-z]+|dedupe)\(|\btt\[`)

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
