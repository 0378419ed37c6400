// Package graphrun is one graph: what its shards have in common, what is shown of it, and what is asked of it.
//
// A [Graph] is what outlives restarts: the declaration, and its shards ([lives.Shard]; one where the graph is not
// dealt), each with its mailboxes and at most one run at a time. A run is built from the last checkpoint (store →
// core → reactor, writers, accumulators), ends as a whole, and the supervisor decides whether there is another.
// [Replace] puts one declaration's graph in the place of another's (M33). What all graphs of a daemon share is in the
// [Host].
//
// Where to look: graph.go what there is without a run · update.go and reset.go changes · operate.go, stopped.go and
// skip.go commands · push.go events · shards.go several shards as one graph · summary.go, await.go, watch.go,
// inspect.go, metrics.go what is shown, in the words of package told · package lives a shard over its runs, package
// life one of them.
//
// # Concurrency
//
// All methods of [Graph] may be called from any goroutine. Nothing here touches a reactor's state: it is asked, or its
// published view is read. What runs is the shards', see package lives.
package graphrun
