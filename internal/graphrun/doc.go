// Package graphrun is one graph's life: it builds what the graph needs from its declaration,
// the kinds and the store, has it supervised, shows it and carries out what is asked of it.
//
// A [Graph] is what outlives restarts: the declaration, the accumulators' mailboxes, the
// watchers' hub, and at most one run at a time. A run is built from the last checkpoint (store →
// core → reactor, writers, accumulators), ends as a whole, and the supervisor decides whether
// there is another. [Replace] puts one declaration's graph in the place of another's (M33). What
// all graphs of a daemon share is in the [Host].
//
// Where to look: graph.go what there is without a run · load.go its runs, each of which is package
// life's · standby.go and away.go what a run waits for: ownership, and a store that is away ·
// ledger.go how attempts are counted · update.go and reset.go changes · operate.go, stopped.go and
// skip.go commands · push.go events · summary.go, await.go, watch.go, inspect.go, metrics.go what is
// shown, in the words of package told.
//
// # Concurrency
//
// All methods of [Graph] may be called from any goroutine. A graph has one supervising
// goroutine, a task of the host's group, which whoever stops that group joins; what it starts is
// in supervisor.Group's care and shown by the tree. Nothing here touches a reactor's state: it
// is asked, or its published view is read.
package graphrun
