// Package rules is what the three stores must decide alike, and therefore decide here: what
// refuses a commit, how the crash ledger counts (M43), how lists are paged and pruned, what a
// checksum covers, how a schema is brought up to date. It speaks no SQL and knows no store.
//
// # Concurrency
//
// Everything is safe for concurrent use, but for a [Retention] and an [OutboxPage], which belong
// to one call. A [Sweeper] is one goroutine, which Close joins.
package rules
