package checkpoint

import (
	"context"
	"time"
)

// JournalEntry is one record of the journal: what the reactor took in or decided, in its
// order, so that a replay on the checkpoint before it gives the same epochs (M29).
type JournalEntry struct {
	// Seq numbers a graph's entries densely, from 1, over all incarnations. The least one that
	// is kept follows on the greatest that a commit has trimmed.
	Seq  int64
	At   time.Time
	Data []byte // opaque to the store
	// Keys are of the pushes with an Idempotency-Key that the entry holds something of. They are kept beside it, and
	// stay when it is trimmed; ReadJournal does not hand them out.
	Keys []PushKey
}

// Journal is the durable record of what a graph admitted since its checkpoint. Safe for
// concurrent use, also with Commit; appends of one graph come from one goroutine, in order.
type Journal interface {
	// AppendJournal adds entries as a whole or not at all, under the fence. The first Seq
	// follows on the head's Journal; anything else is ErrUnknownOutcome, as with Commit. A
	// clean error means that nothing was added and that the same may be sent again; otherwise
	// it wraps ErrFenced or ErrUnknownOutcome.
	AppendJournal(ctx context.Context, id ID, fence int64, entries []JournalEntry) error
	// ReadJournal hands every entry with a Seq above after to visit, in order. The data is
	// visit's to keep. An entry that should be there and is not is an error, never a gap.
	ReadJournal(ctx context.Context, id ID, after int64, visit func(JournalEntry) error) error
}
