// Package sqlite is the store in one file on disk, the default of the daemon.
//
// # The file
//
// It runs in WAL mode with synchronous=FULL: when a commit has returned, it survives a
// kill and a loss of power. The schema comes from the numbered files of package
// migrations. One process opens a file at a time, held by locks on the file and on PATH.lock
// that the kernel releases however the process ends (M45).
//
// A new file is made beside its final name and renamed into place when it is
// whole. So a file that is there but empty, cut short or overwritten was damaged
// from outside: opening it is an error, never a new start. Heads and cells carry
// a checksum and heads the number of their cells, which SQLite's own format lacks. How far
// each graph was when that was acknowledged stands in PATH.acks, for SQLite takes a damaged
// log for a shorter one; see witness.
//
// # A commit
//
// One transaction: first the head is updated where fence and sequence number
// match, and when no row matches the transaction ends there, unchanged and
// fenced. Then cells, history and dead letters follow. See [Store.Commit].
//
// # Concurrency
//
// All methods of [Store] are safe for concurrent use. It starts two goroutines, and
// [Store.Close] joins both. The writer owns the only connection that writes: requests
// queue up for it, and those that wait together share one transaction and so one fsync.
// The sweeper removes the rows of deleted graphs, a small request to the writer at a
// time. Reads run on the caller's goroutine, on one of a few connections (package
// sqlconn); they see the last commit and are never held up by the writer.
package sqlite
