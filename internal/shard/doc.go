// Package shard runs the shards of a keyed graph beside each other under virtual time, and makes of what they do
// what one graph would have done, to the byte: whatever the number of shards or of cores.
//
//	          ┌─ batch ──▶ shard 0 ─ chunk ─┐
//	front ────┼─ batch ──▶ shard 1 ─ chunk ─┼──▶ merge ──▶ Release, Letter
//	          └─ batch ──▶ shard 2 ─ chunk ─┘
//
// The front is the caller's goroutine. It takes the events of all inputs in the order of a bounded run (package
// timeline), says of each in which round it comes (the engine time of its instant, and the number of the event
// that opened that), and deals it to the shard of its key ([accumulator.Dealer], [boundary.Key.Shard]). What is
// shared by all keys, tables and global inputs, is folded once, by the front's own graph, and what that hands over
// reaches every shard: boundaries are immutable. Every batch reaches every shard with the time it ends at, so that
// timers run where no events are (M50). A window that goes by a watermark is told of the events of other shards:
// before its next own event which one was the newest, and at once, as an event of the round, where one completes a
// window anywhere.
//
// A shard is a [virtual.Graph] in a goroutine of its own: it comes to rest after each round, and runs its timers at
// their own times in between, as a graph does that is alone. Timers of one time are one round, before the instant of
// that time. Of everything it does it notes a place: see label.
//
// The merge takes batch after batch, and of the shards' chunks always the next thing of the shard whose place is
// least. That is what one graph would do next: its agenda takes the key that was completed first, of those that are
// ready; each shard's agenda does so among its own, and nothing that a shard does changes what another may do.
// Epochs and dead letters get their numbers here.
//
// # What is not merged
//
// Some declarations are not run this way, though their keys are dealt: [compile.Unit.OneRun] says why. Bounds that
// hold for all keys of a graph hold for each shard: max_keys, max_waiting_bytes, and the bounds of a fold or of a
// window.
//
// # The end
//
// Each shard has time go on for what it holds open, as one graph does, and says when that is over. What no time
// completes comes at the time of the last of them, in every shard, and is merged as what is of one round. Then all go
// to the time of the last.
//
// # What a run holds
//
// A batch is sent when it is full, counted in what all shards are told of it together, and only so many are on their
// way: what an input is like, or which one ends first, does not change what is held. One thing grows with the run: a
// shard notes each value of a global input that it consumes, 8 bytes, for the books at the end.
//
// # Reading ahead
//
// Where there are cores for it everything that does not depend on what came before is made of events ahead, by
// goroutines of the caller's (package job/ahead): what is left to the front is to say when they happen, and to hand
// them to the shard that has been found. [Front.Take] takes those. [Front.Add] takes events as they come, decodes them
// and finds what deals them; values that are lent must last until the batch comes back: batches own the loans.
package shard
