package rules

import (
	"fmt"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Refusal is the answer of a write that looked and changed nothing: fenced, in
// conflict, not found. The transaction it ran in may go on with other requests.
type Refusal struct{ Err error }

func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap is the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse makes a Refusal.
func Refuse(format string, args ...any) error {
	return &Refusal{fmt.Errorf(format, args...)}
}

// CheckCommit decides whether a commit may be applied on a head with this fence and
// seq; found is false when there is no head. The error is nil or a refusal.
//
// A commit that carries the fence but does not follow on the head's seq was sent
// twice, or one before it is missing. Only a reload can tell which, and that is
// what ErrUnknownOutcome asks of the owner; sent again it would never be right.
func CheckCommit(c *checkpoint.Commit, found bool, fence, seq int64) error {
	switch {
	case !found:
		return Refuse("the graph's state is gone: %w", checkpoint.ErrFenced)
	case fence != c.Fence:
		return Refuse("fence %d was given since this owner's %d: %w", fence, c.Fence, checkpoint.ErrFenced)
	case seq != c.Seq-1:
		return Refuse("commit does not follow the last one, %d: %w", seq, checkpoint.ErrUnknownOutcome)
	}
	return nil
}

// CheckRevision decides whether a declaration may be put over the current revision
// (0 when there is none). The error is nil or a refusal.
func CheckRevision(id checkpoint.ID, current, want int64) error {
	switch {
	case want == 0 || want == current && want > 0 || want == -1 && current == 0:
		return nil
	case want == -1:
		return Refuse("graph %s exists, with revision %d: %w", id, current, checkpoint.ErrConflict)
	case current == 0:
		return Refuse("graph %s does not exist, revision %d was expected: %w", id, want, checkpoint.ErrConflict)
	}
	return Refuse("graph %s has revision %d, %d was expected: %w", id, current, want, checkpoint.ErrConflict)
}

// CheckMost decides whether a tenant that has so many graphs may have one more. The error is nil or a refusal.
func CheckMost(d *checkpoint.Declaration, have int) error {
	if d.Most > 0 && have >= d.Most {
		return Refuse("%w", &checkpoint.TooManyError{Have: have})
	}
	return nil
}

// CheckAppend decides whether entries may be appended to a journal that ends at last. The
// error is nil or a refusal; see checkCommit for why one out of order is of unknown outcome.
func CheckAppend(entries []checkpoint.JournalEntry, fence int64, found bool, have, last int64) error {
	switch {
	case !found:
		return Refuse("the graph's state is gone: %w", checkpoint.ErrFenced)
	case have != fence:
		return Refuse("fence %d was given since this owner's %d: %w", have, fence, checkpoint.ErrFenced)
	}
	for i := range entries {
		if entries[i].Seq != last+int64(i)+1 {
			return Refuse("entry %d does not follow the last one, %d: %w", entries[i].Seq, last+int64(i),
				checkpoint.ErrUnknownOutcome)
		}
	}
	return nil
}

// Follows says that a journal's entry is the next one.
func Follows(last, seq int64) error {
	if seq == last+1 {
		return nil
	}
	return fmt.Errorf(
		"%w: journal entry %d is missing; restore the store from a backup, or delete the graph with its state",
		checkpoint.ErrCorrupt, last+1)
}

// JournalEnd says that the entries read go up to the one that the head names.
func JournalEnd(read, last int64) error {
	if read == last {
		return nil
	}
	return fmt.Errorf("%w: the journal ends at entry %d where %d were written; restore the store from a backup, or "+
		"delete the graph with its state", checkpoint.ErrCorrupt, read, last)
}
