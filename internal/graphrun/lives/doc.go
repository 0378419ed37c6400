// Package lives is one shard of a graph over all of its runs (M48): a graph that is not dealt to shards has one,
// number 0. It is taken from the store, run from its last checkpoint, and shown while it is not running. Each
// [life.Run] ends as a whole, and the supervisor decides whether there is another.
//
// A [Shard] knows the others of its graph as little as it knows other graphs: it has a fence, a crash ledger, a
// standing among the daemons and a health of its own. What all of them share, the declaration and what is asked of the
// graph, is package graphrun's.
//
// Where to look: shard.go what there is without a run, and its supervisor · load.go its runs · standby.go and away.go
// what a run waits for: ownership, and a store that is away · ledger.go how attempts are counted, and recovery events.
//
// # Concurrency
//
// All exported methods of [Shard] may be called from any goroutine, those that set it up before Start. A shard has
// one supervising goroutine, a task of the host's group, which whoever stops that group joins; what it starts is in
// supervisor.Group's care and shown by the tree.
package lives
