// Package poll is the source that asks a URL or a database again and again.
//
// # A URL
//
// An answer is one event: the JSON document as it stands, a list too, for what is polled is
// the state of something and not a log of what happened to it. An answer that holds the same
// bytes as the one before is no event. Where the server gives an ETag or Last-Modified, the
// next request is conditional, so that an unchanged document is not even sent. A position is
// the number of the request and the digest of its answer, so that a document that was read
// before a restart is not an event again after it.
//
// # A statement
//
// A row is one event. Either the whole result is read and compared with the last, or the rows
// that come [Declared.After] a column's greatest value, and so far behind it as they may still
// be committed. What was handed over is known by row in both: a ledger has the digest of each
// row that the next poll may meet, and travels in the position. It is cut into parts, a stream
// of positions each, so that an event's position tells the part that the event changed, and
// not all. A position is therefore exact between any two events.
//
// The source is live once a poll has succeeded and disconnected as soon as one fails. It then
// tries again with growing pauses, no sooner than Retry-After asks for.
//
// # Concurrency
//
// The package starts no goroutine but those of net/http and of the databases' drivers, which
// Run ends.
package poll
