package compile

// inTurn looks for nodes whose calls are made one after the other, for none may be made ahead.
func (l *linter) inTurn() {
	if !l.g.EventClock() || !l.g.Keyed() {
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
