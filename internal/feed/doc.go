// Package feed lets graphs feed graphs (M46): by a source of kind graph in the one that is fed,
// or a sink of kind graph in the one that feeds. Both are the same link, from an output to an
// accumulator's mailbox, declared at one end or the other.
//
// [Links] are all the links of a daemon. A declaration first claims its links, which is refused
// when they would close a cycle; once its graph is there they are connected, and values go along
// them. [Links.Relay] is the sink of an output that feeds, [Links.Source] the source of an
// accumulator that is fed: it hands nothing over, and only says whether somebody does.
//
// # Concurrency
//
// Links may be used from any goroutine and starts none. A relay belongs to its output's writer,
// a source to its accumulator.
package feed
