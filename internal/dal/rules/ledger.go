package rules

// Ledger is the crash ledger of one graph (M43), as it stands in the head.
//
// Attempts counts how often the epoch after the last checkpoint has been
// approached. Acquire is an approach: when the last one was to the same epoch and
// was not ended by Release, the count goes up; else it starts at 1. So a commit
// that advances the epoch resets it by moving the epoch on, a commit that does
// not (positions alone, say) leaves it, and a Release resets it. So does a commit that
// is Settled: an epoch that was not tried in all that time is not what kills the process.
//
// Unclean goes up with every Acquire, this one included, and goes back to 0 with
// Release or a commit that is Settled. It is 1 on a healthy start.
//
// Acquire makes both durable before it returns, so that a crash at any later
// moment is counted.
type Ledger struct {
	Attempts       int
	AttemptedEpoch int64
	Unclean        int
}

// Acquired is the ledger after the graph was taken at this epoch.
func (l Ledger) Acquired(epoch int64) Ledger {
	next := epoch + 1
	if l.Attempts > 0 && l.AttemptedEpoch == next {
		l.Attempts++
	} else {
		l.Attempts, l.AttemptedEpoch = 1, next
	}
	l.Unclean++
	return l
}

// Cleared is the ledger after a clean stop, and after a start that has settled.
func (l Ledger) Cleared() Ledger {
	l.Attempts, l.Unclean = 0, 0
	return l
}
