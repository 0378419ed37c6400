package rules

import (
	"math"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// PageSize is how many items a page holds.
func PageSize(q checkpoint.Query) int {
	const standard, most = 50, 1000
	if q.Limit <= 0 {
		return standard
	}
	return min(q.Limit, most)
}

// Page cuts a list that was read one item further than the page holds, and makes
// the cursor of the next page from the last item that stays.
func Page[T any](items []T, size int, cursor func(*T) string) ([]T, string) {
	if len(items) <= size {
		return items, ""
	}
	items = items[:size]
	return items, cursor(&items[size-1])
}

// RingTail is the part of a commit's firings that the ring can still hold. Most
// commits have them in order; one that has not is trimmed by the ring itself.
func RingTail(firings []checkpoint.Firing, keep int) []checkpoint.Firing {
	if keep <= 0 {
		return nil
	}
	if len(firings) <= keep {
		return firings
	}
	for i := 1; i < len(firings); i++ {
		if !PlaceOf(&firings[i-1]).Before(PlaceOf(&firings[i])) {
			return firings
		}
	}
	return firings[len(firings)-keep:]
}

// PlaceOf is where a firing stands in the order of all of its graph.
func PlaceOf(f *checkpoint.Firing) Place { return Place{f.Incarnation, f.Epoch} }

// PruneBatch is how many rows one step of a pruning removes, so that commits get in between.
const PruneBatch = 500

// Retention decides, letter by letter from the newest to the oldest, which ones a
// pruning removes: those from before the given time, and of the others all from
// the first that is past the count or the bytes. A zero time, and a count or bytes
// of 0 or less, bound nothing.
type Retention struct {
	OlderThan time.Time
	Max       int
	MaxBytes  int64

	count int
	bytes int64
}

// Removes decides on the next letter, from so long ago and of so many bytes.
func (r *Retention) Removes(at time.Time, size int64) bool {
	if !r.OlderThan.IsZero() && at.Before(r.OlderThan) {
		return true
	}
	r.count++
	r.bytes += size
	return r.Max > 0 && r.count > r.Max || r.MaxBytes > 0 && r.bytes > r.MaxBytes
}

// OutboxPage bounds a page of an outbox by entries and bytes; the first entry always fits.
type OutboxPage struct {
	Limit int
	Bytes int64
	held  int
}

// NewOutboxPage begins a page; a bound of 0 or less is the usual one.
func NewOutboxPage(limit int, maxBytes int64) *OutboxPage {
	const standard, most, standardBytes = 100, 1000, 1 << 20
	if limit <= 0 {
		limit = standard
	}
	if maxBytes <= 0 {
		maxBytes = standardBytes
	}
	return &OutboxPage{Limit: min(limit, most), Bytes: maxBytes}
}

// Fits says whether an entry of so many bytes still belongs to the page, and counts it in.
func (p *OutboxPage) Fits(size int64) bool {
	if p.held == p.Limit || p.held > 0 && size > p.Bytes {
		return false
	}
	p.held++
	p.Bytes -= size
	return true
}

// Between bounds letters by their times, from the first on and before the second; a zero time is no bound.
func Between(since, until time.Time) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !since.IsZero() {
		from = Nanos(since)
	}
	if !until.IsZero() {
		to = Nanos(until)
	}
	return from, to
}
