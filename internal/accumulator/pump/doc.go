// Package pump runs an accumulator live: it merges what is pushed with what a source
// reads, folds both in an [accumulator.Core], and hands over what is complete.
//
// A [Mailbox] is the socket: a bounded queue of pushes that outlives restarts. A [Unit]
// reads it, group by group, and answers each push when the reactor has what came of it.
//
// Where the keys of a graph are dealt to shards, each has a unit or a line of its own that hears of all events: a
// [Share] says which of them are folded there. A [Deal] deals a push to the shards' mailboxes, and makes one answer of
// theirs (package share, dealt.go). What one reader has read for all of them is a [Load] (load.go, and package reader).
//
// # Concurrency
//
// [Unit.Run] owns its Core and starts one goroutine, the source's, which it joins before it
// returns. A Mailbox is safe for concurrent use and is read by one Unit at a time.
package pump
