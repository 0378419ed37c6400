package compile

import (
	"slices"

	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// inTurn looks for nodes whose calls are made one after the other, for none may be made ahead.
func (l *linter) inTurn() {
	if !l.g.EventClock() || !l.g.Keyed() || !l.firesAtOnce() {
		return
	}
	for _, c := range l.u.Plan.Callers() {
		if node := l.node(c.Name); node != nil && !c.Safe() {
			l.add(node.Pos, CodeCallsInTurn, "the graph goes by the times of events, and %s calls for one "+
				"after the other, for a call may change the server: where it does not, say safe: true, and what later "+
				"events call for is asked ahead", c.Name)
		}
	}
}

// firesAtOnce reports whether each event fires for itself when it comes, as what is asked ahead rests on.
func (l *linter) firesAtOnce() bool {
	r := l.g.Reactor
	if r.When == "all" || r.RateLimit > 0 || r.Debounce > 0 || r.Every > 0 || r.MaxWait > 0 {
		return false
	}
	return !slices.ContainsFunc(l.g.Accumulators, func(a spec.Accumulator) bool {
		return a.From != "" || a.Strategy == "burst" || a.SyncGroup != ""
	}) && !slices.ContainsFunc(l.g.Lanes, func(lane lanes.Lane) bool { return lane.Period > 0 })
}
