// Package audit is the trail of who has changed what. An [Entry] is a record of it; the entries of a tenant are
// a chain, in which each holds the digest of the one before, so that a change, a gap, an insertion and another
// order show ([Verifier]). A [Trail] writes them: an intent before a change takes effect, which refuses the
// change when it cannot be written, a result behind it, and what was denied, folded.
//
// The package knows no database: [Log] is what it asks of one.
//
// [Trail.Start] starts its one goroutine; the stop that it answers with joins it.
package audit
