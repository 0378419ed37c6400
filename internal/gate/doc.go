// Package gate tells who comes in: it looks up the token that a request shows, gives whom it acts as
// ([access.Principal]), and makes and revokes tokens, browsers' sessions and tickets. [New] decides, by what is in the
// store, whether anybody may come in without one.
//
// # Open and closed
//
// A gate is open while its store has never had a token: whoever reaches the daemon is its
// administrator, and the daemon listens on loopback. With the first token it closes, and nothing
// opens it again: not a revoked token, not a store that is away. Closed, what cannot be looked up is
// refused; what was looked up is trusted for a moment, so that a revoked token is good nowhere after
// five seconds.
//
// # Concurrency
//
// The package starts no goroutine. A Gate may be used by any number of them.
package gate
