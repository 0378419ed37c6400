package rules

// Ledger is the crash ledger of one graph (M43), as it stands in the head.
//
// Attempts counts the owners that have noted that they try AttemptedEpoch; AttemptedBy is the
// fence of the last one. The note is void once a commit covers that epoch: nothing need be
// written then. A commit that is Tried clears it, and a Relinquish.
//
// Unclean goes up with every Acquire, and goes back to 0 with Relinquish or a commit that is
// Proven. It is 1 on a healthy start. Clean says that the last owner has relinquished.
type Ledger struct {
	Attempts       int
	AttemptedEpoch int64
	AttemptedBy    int64
	Unclean        int
	Clean          bool
}

// Acquired is the ledger after the graph was taken at this epoch.
func (l Ledger) Acquired(epoch int64) Ledger {
	if l.AttemptedEpoch <= epoch {
		l.Attempts, l.AttemptedEpoch, l.AttemptedBy = 0, 0, 0
	}
	l.Unclean++
	l.Clean = false
	return l
}

// Attempted is the ledger after the owner with this fence has noted that it tries epoch.
func (l Ledger) Attempted(fence, epoch int64) Ledger {
	switch {
	case l.AttemptedEpoch != epoch:
		l.Attempts = 1
	case l.AttemptedBy != fence:
		l.Attempts++
	}
	l.AttemptedEpoch, l.AttemptedBy = epoch, fence
	return l
}

// Absolved is the ledger without what the owner with the fence of has added to it; of the
// present owner, whose fence is fence, without its note.
func (l Ledger) Absolved(fence, of int64) Ledger {
	if of != fence {
		l.Unclean = max(l.Unclean-1, 1)
	}
	if l.AttemptedBy == of {
		l.Attempts, l.AttemptedBy = max(l.Attempts-1, 0), 0
	}
	return l
}

// Proven is the ledger after a commit that calls the start good.
func (l Ledger) Proven() Ledger {
	l.Unclean = 0
	return l
}

// Tried is the ledger after a commit that covers what was noted, and that no epoch came of.
func (l Ledger) Tried() Ledger {
	l.Attempts, l.AttemptedEpoch, l.AttemptedBy = 0, 0, 0
	return l
}

// Relinquished is the ledger after a clean stop.
func (l Ledger) Relinquished() Ledger { return Ledger{Clean: true} }
