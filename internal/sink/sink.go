// Package sink says what a sink is: who writes the outputs of a graph somewhere. A [Message] is
// one output of one epoch; a [Sink] delivers them, and answers with a [PermanentError] or a
// [RetryError] where it knows more than that it failed. The kinds of sink are the packages
// below this one.
package sink

import (
	"context"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// Sink writes one output's messages somewhere. Deliver and Close are called by one
// goroutine, in the order of the epochs.
type Sink interface {
	// Deliver writes the batch, or answers an error: then nothing is known of it and the
	// whole batch is delivered again after a backoff, unless the error is a [*PermanentError]
	// or a [*RetryError], which know more. The batch is the caller's again when Deliver returns.
	Deliver(ctx context.Context, batch []Message) error
	// Close flushes what is buffered and releases what is held.
	Close(ctx context.Context) error
}

// Carrier is a sink that sends on [Message.Trace], as the traceparent of what it writes.
type Carrier interface {
	Sink
	CarriesTrace()
}

// Singly is a sink that delivers a batch one message after the other, at a cost for each: it is given them so, and what
// is through counts at once, and is not delivered again after a crash.
type Singly interface {
	Sink
	DeliversSingly()
}

// RowSink is a sink whose rows can travel in the commit of the state: its table is in the
// store's own database (M30, co-transaction). Whoever builds sinks answers a RowSink for
// such a table alone; then Deliver is never called.
type RowSink interface {
	Sink
	// Table is where the rows go; it does not change.
	Table() checkpoint.Table
	// Row is m as a row, one value for each of the table's columns. It is pure, and called
	// on the reactor's goroutine. An error refuses m for good; a [*PermanentError] names the code.
	Row(m *Message) ([]boundary.Value, error)
}
