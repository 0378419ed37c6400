// Package form is how the state of a reactor is written: the record in the head and the pieces of which cells, journal
// entries and outbox entries are made. Every cell is written whole, so there is no framing between cells; within one,
// variable parts are length-prefixed. [Format] versions it.
//
// It knows nothing of what a core does with it.
package form
