// Package generator is a source that makes its own events from an expression: for
// examples, demonstrations and tests.
//
// The expression reads i, the event's number from 0 on; vars, the graph's constants; and
// rand(), a number in [0, 1). What rand() gives depends on the seed and on i alone, so that
// the n-th event is the same in every run and after every restart. The position after event
// i is i+1.
//
// # Concurrency
//
// Nothing here starts a goroutine. A Source may be run by several goroutines at once.
package generator
