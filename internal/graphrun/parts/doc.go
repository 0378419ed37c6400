// Package parts is how what is asked of a graph reaches those of its shards that run at other members, and how their
// answers become one (M53).
//
// Whoever is asked, the caller's member, asks each owner for the shards that it has: one [Call] with a verb, and one
// [Answer]. A member that is asked so acts on those shards alone and asks nobody else: there is one hop. What it does
// is what it would do for a caller of its own, under a context that says which shards are meant ([Only]).
//
// Where to look: call.go calls, answers and how they are joined · push.go pushes on the wire · lane.go the order of
// pushes to one member.
//
// # Concurrency
//
// All functions may be called from any goroutine. A [Lane] has one goroutine while something waits in it, which
// [Lanes.Close] joins.
package parts
