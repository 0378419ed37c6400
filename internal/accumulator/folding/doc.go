// Package folding is the accumulator of the kind fold: a user's own, in expressions. Of the state
// of a key and an event, `step` makes the next state; `emit_when` says when it is handed over, and
// `result` what is (M3).
//
// [Declared] is what a declaration asks of it, a program that, checked and typed once, and a
// [Folding] its fold; folding.go is where to begin. The words:
//
//   - A *form* is what a declaration makes a value by: one expression, or one for each field (form.go).
//   - A *cell* is what one key has: its state, and how many events no boundary accounts for yet. A
//     checkpoint keeps cells by the page (table.go).
//   - An *entry* finds a key's cell, and knows how lately it was used (recent.go).
//
// # Bounds
//
// A state is no larger than a boundary may be, and all of them together than `max_bytes`; there are at
// most `max_keys`. What is one too many takes the place of what was used least recently. How large
// a state is and how lately it was used follow from the events alone, so that a graph which is
// restored evicts what it would have evicted.
//
// # Memory
//
// A state is kept compact, in memory of its own. Nothing else of an event is kept.
//
// # Concurrency
//
// A program is immutable. A Folding belongs to one goroutine; its states share pages with it, which
// are copied before they are written to, so that they may be encoded on any other. Nothing here
// starts a goroutine.
package folding
