// Package file reads events from files of NDJSON or CSV, once or as they grow.
//
// A [Reader] cuts any byte stream into events, one at a time; bounded runs use it
// directly. A [Source] runs one over a file, remembers where it is, and follows the file
// as it grows, is rotated or is truncated.
//
// # Events
//
// NDJSON: one JSON value a line; lines of white space alone are no events. CSV (RFC 4180):
// the first record names the columns, every other becomes a JSON object. A cell's type is
// the schema's where the schema names one; otherwise it is what the cell looks like: a JSON
// number, true or false (in lower, upper or title case), or text; an empty unquoted cell
// is null, an empty quoted one the empty text. Lines end with LF or CRLF, a byte order mark
// is skipped. An event's Raw is always JSON, so a dead letter can be replayed, except for
// what could not be read at all: then it is the original bytes.
//
// What cannot be an event is refused with a code and reading goes on after it: too_large (a
// record over the limit, which is skipped without being held), csv_fields (a row with too
// many or too few cells), csv_quote (text after a closing quote, or no closing quote).
//
// # Positions
//
// A position is the file's fingerprint and the offset after the last record read (M44).
// The fingerprint is a hash of the file's first KiB, or of what there is of it, and says
// how much that was: a short file that has grown still matches. A position that the file
// no longer has, because it was truncated or replaced, is an [accumulator.DataLost].
//
// # Following
//
// A file that is followed is looked at every now and then, and at once when its receiver asks for that
// ([accumulator.Looker]), whether it is there or not. It is no answer that the file under way has no more while
// another has its name.
//
// # Concurrency
//
// Nothing here starts a goroutine. A Reader belongs to one goroutine, a Source's Run to the
// one that calls it.
package file
