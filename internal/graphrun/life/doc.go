// Package life is one run of a graph, from a checkpoint to its end: what a declaration names is
// built around a restored core, kept going, and stopped in the order of the flow (M38).
//
// A [Run] is made by [New] and lived by [Run.Live]. Everything in it is fresh; what it shares with
// the runs before and after it, it has from its [Graph]. It ends as a whole, and whether there is
// another is not for it to say: package graphrun keeps the graph and its supervisor.
//
// Where to look: build.go what a run is made of · restore.go the core from checkpoint and journal ·
// outputs.go how values leave · run.go the run and its order of stopping · accumulate.go its
// accumulators · parts.go what is asked of a run.
//
// # Concurrency
//
// New and Live are for one goroutine, the graph's supervising one; all other methods may be called
// from any. Nothing here touches a reactor's state: it is asked, or its published view is read.
package life
