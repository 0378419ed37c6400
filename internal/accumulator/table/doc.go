// Package table is the accumulator of the kind table: rows by key, made of a stream of changes and
// looked up by the expressions of the graph (M3).
//
// [Declared] is what a declaration asks of it, a program that, checked and typed once, and a [Table]
// its fold; table.go is where to begin. The words:
//
//   - A *row* is the newest event of its key, as emit has shaped it. It is never changed (trie.go).
//   - The *trie* finds a row by the hash of its key. Its leaves are what a checkpoint writes at once,
//     and its form follows from the rows alone, whatever became of them before (trie.go).
//   - A *handle* is the whole table as of one moment. It is the fold's state and at once what its
//     boundaries refer to: nothing is kept twice (handle.go, codec.go).
//   - The *order* is that in which the rows were changed: ttl and max_rows take the first (order.go).
//
// # Bounds
//
// There are at most `max_rows`, and all rows together have at most `max_bytes`: what is one too many
// takes the place of what was changed least recently. How large a row is and when it was changed follow
// from the events alone, so that a graph which is restored evicts what it would have evicted.
//
// # Memory
//
// A row is kept compact, in memory of its own. A handle shares all with those before and after it but
// what has changed between them.
//
// # Concurrency
//
// A program is immutable. A Table belongs to one goroutine; handles may be read and encoded on any: what
// they share with it is copied before it is written to. Nothing here starts a goroutine.
package table
