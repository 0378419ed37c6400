// Package postgres is the store in a PostgreSQL database, which several daemons may share.
//
// # A commit
//
// It is one statement (see [Store.Commit]): the update of the head where fence and sequence
// number match is its first part, the others work on the row it returns. No transaction stays
// open while this process thinks, so an owner that hangs holds no lock that a successor would
// wait for.
//
// # Ownership
//
// Daemons on one database have a lease each, and Acquire takes a graph only when the lease of
// its owner is gone (M45); see [Store.RenewLease].
//
// # Tables
//
// [Tables] writes the rows of sinks to a database that is not the store's. It is here because
// SQL is written nowhere else.
//
// # Concurrency
//
// All methods of [Store] and [Tables] are safe for concurrent use. A store starts a sweeper and
// what its connection pools need; Close joins them.
package postgres
