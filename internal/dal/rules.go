package dal

import (
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// ledger is the crash ledger of one graph (M43), as it stands in the head.
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
type ledger struct {
	attempts       int
	attemptedEpoch int64
	unclean        int
}

// acquired is the ledger after the graph was taken at this epoch.
func (l ledger) acquired(epoch int64) ledger {
	next := epoch + 1
	if l.attempts > 0 && l.attemptedEpoch == next {
		l.attempts++
	} else {
		l.attempts, l.attemptedEpoch = 1, next
	}
	l.unclean++
	return l
}

// released is the ledger after a clean stop, and after a start that has settled.
func (l ledger) released() ledger {
	l.attempts, l.unclean = 0, 0
	return l
}

// checkCommit decides whether a commit may be applied on a head with this fence and
// seq; found is false when there is no head. The error is nil or a refusal.
//
// A commit that carries the fence but does not follow on the head's seq was sent
// twice, or one before it is missing. Only a reload can tell which, and that is
// what ErrUnknownOutcome asks of the owner; sent again it would never be right.
func checkCommit(c *checkpoint.Commit, found bool, fence, seq int64) error {
	switch {
	case !found:
		return refuse("the graph's state is gone: %w", checkpoint.ErrFenced)
	case fence != c.Fence:
		return refuse("fence %d was given since this owner's %d: %w", fence, c.Fence, checkpoint.ErrFenced)
	case seq != c.Seq-1:
		return refuse("commit does not follow the last one, %d: %w", seq, checkpoint.ErrUnknownOutcome)
	}
	return nil
}

// checkRevision decides whether a declaration may be put over the current revision
// (0 when there is none). The error is nil or a refusal.
func checkRevision(id checkpoint.ID, current, want int64) error {
	switch {
	case want == 0 || want == current && want > 0 || want == -1 && current == 0:
		return nil
	case want == -1:
		return refuse("graph %s exists, with revision %d: %w", id, current, checkpoint.ErrConflict)
	case current == 0:
		return refuse("graph %s does not exist, revision %d was expected: %w", id, want, checkpoint.ErrConflict)
	}
	return refuse("graph %s has revision %d, %d was expected: %w", id, current, want, checkpoint.ErrConflict)
}

// pageSize is how many items a page holds.
func pageSize(q checkpoint.Query) int {
	const standard, most = 50, 1000
	if q.Limit <= 0 {
		return standard
	}
	return min(q.Limit, most)
}

// page cuts a list that was read one item further than the page holds, and makes
// the cursor of the next page from the last item that stays.
func page[T any](items []T, size int, cursor func(*T) string) ([]T, string) {
	if len(items) <= size {
		return items, ""
	}
	items = items[:size]
	return items, cursor(&items[size-1])
}

// ringTail is the part of a commit's firings that the ring can still hold. Most
// commits have them in order; one that has not is trimmed by the ring itself.
func ringTail(firings []checkpoint.Firing, keep int) []checkpoint.Firing {
	if keep <= 0 {
		return nil
	}
	if len(firings) <= keep {
		return firings
	}
	for i := 1; i < len(firings); i++ {
		if !firingPlaceOf(&firings[i-1]).before(firingPlaceOf(&firings[i])) {
			return firings
		}
	}
	return firings[len(firings)-keep:]
}

func firingPlaceOf(f *checkpoint.Firing) place { return place{f.Incarnation, f.Epoch} }

// retention decides, letter by letter from the newest to the oldest, which ones a
// pruning removes: those from before the given time, and of the others all from
// the first that is past the count or the bytes. A zero time, and a count or bytes
// of 0 or less, bound nothing.
type retention struct {
	olderThan time.Time
	max       int
	maxBytes  int64

	count int
	bytes int64
}

func (r *retention) removes(at time.Time, size int64) bool {
	if !r.olderThan.IsZero() && at.Before(r.olderThan) {
		return true
	}
	r.count++
	r.bytes += size
	return r.max > 0 && r.count > r.max || r.maxBytes > 0 && r.bytes > r.maxBytes
}

// nanos and fromNanos are the stored form of a time: nanoseconds since 1970 UTC, 0
// for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// instant is a time as every store gives it back: UTC, without a monotonic reading.
func instant(t time.Time) time.Time { return fromNanos(nanos(t)) }

// orNil gives a record that was never written as nil.
func orNil(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return data
}

// orEmpty is data for a column that is never null.
func orEmpty(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func notFound(what string, name any, id checkpoint.ID) error {
	return refuse("%s %v of graph %s: %w", what, name, id, checkpoint.ErrNotFound)
}

// wrap says what was being done, and leaves the caller's own sentinels in reach.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// checkAppend decides whether entries may be appended to a journal that ends at last. The
// error is nil or a refusal; see checkCommit for why one out of order is of unknown outcome.
func checkAppend(entries []checkpoint.JournalEntry, fence int64, found bool, have, last int64) error {
	switch {
	case !found:
		return refuse("the graph's state is gone: %w", checkpoint.ErrFenced)
	case have != fence:
		return refuse("fence %d was given since this owner's %d: %w", have, fence, checkpoint.ErrFenced)
	}
	for i := range entries {
		if entries[i].Seq != last+int64(i)+1 {
			return refuse("entry %d does not follow the last one, %d: %w", entries[i].Seq, last+int64(i), checkpoint.ErrUnknownOutcome)
		}
	}
	return nil
}

// follows says that a journal's entry is the next one.
func follows(last, seq int64) error {
	if seq == last+1 {
		return nil
	}
	return fmt.Errorf("%w: journal entry %d is missing; restore the store from a backup, or delete the graph with its state", ErrCorrupt, last+1)
}

// journalEnd says that the entries read go up to the one that the head names.
func journalEnd(read, last int64) error {
	if read == last {
		return nil
	}
	return fmt.Errorf("%w: the journal ends at entry %d where %d were written; restore the store from a backup, or delete the graph with its state", ErrCorrupt, read, last)
}

// outboxPage bounds a page of an outbox by entries and bytes; the first entry always fits.
type outboxPage struct {
	limit int
	bytes int64
	taken int
}

func newOutboxPage(limit int, maxBytes int64) *outboxPage {
	const standard, most, standardBytes = 100, 1000, 1 << 20
	if limit <= 0 {
		limit = standard
	}
	if maxBytes <= 0 {
		maxBytes = standardBytes
	}
	return &outboxPage{limit: min(limit, most), bytes: maxBytes}
}

func (p *outboxPage) takes(size int64) bool {
	if p.taken == p.limit || p.taken > 0 && size > p.bytes {
		return false
	}
	p.taken++
	p.bytes -= size
	return true
}
