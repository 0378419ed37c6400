package checkpoint

import "context"

// Ledger is the crash ledger (M43). An owner that follows on one that did not stop cleanly
// notes each epoch before it tries it; a process that the epoch takes down leaves its note
// behind. An owner that has nothing to try notes nothing, and so is never held to account for
// a process that something else took down. A commit that covers the epoch makes its note void, and
// so does one that is Tried. Safe for concurrent use.
type Ledger interface {
	// Attempt notes that the owner with this fence is about to try an epoch, and answers how
	// many owners have, this one included, without a commit that covered it. The note is
	// durable before Attempt returns; twice by one owner is once. A wrong fence is ErrFenced.
	Attempt(ctx context.Context, id ID, fence, epoch int64) (attempts int, err error)
	// Absolve takes out of the ledger what the owner with the fence of has added to it: its
	// start, unless it is the present owner, and its note if it was the last to leave one. That
	// owner's process lives to say that it was not an epoch which ended it. fence is the caller's,
	// and a wrong one ErrFenced.
	Absolve(ctx context.Context, id ID, fence, of int64) error
}
