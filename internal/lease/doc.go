// Package lease says which graphs this daemon may run. Daemons that share a store each keep a
// lease there; a graph belongs to the daemon that has acquired it, for as long as that one's
// lease holds (M45). The package knows graphs by their ids alone: what a graph does under a
// term, and what it does when the term is over, is its own matter.
//
// A [Keeper] renews the lease and watches the others. A [Term] is the time for which a lease
// has been held without a break. Who would run a graph waits in [Keeper.Stand] for a term and
// for nobody else owning the graph; who runs one asks [Term.Holds] before anything leaves.
//
// # Concurrency
//
// All methods may be called from any goroutine. A keeper has three goroutines of its own: one
// renews the lease, and does nothing else; one reads who owns what while a graph stands by; one
// listens to the store. They are tasks of the group that Begin is given,
// and whoever stops that group joins them, after the last graph has ended.
package lease
