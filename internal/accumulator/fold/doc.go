// Package fold is what the kinds of accumulators have in common: what each is asked, the
// interface of its fold that package accumulator drives, the events that go in, and the form in
// which states are kept.
//
// The author of a kind begins with [Declared], the configuration that answers everything, and with
// [Program], what it is compiled to; fold.go has the rest.
//
// A [Fold] takes events one by one and gives boundaries. Its memory goes out as a [State],
// an immutable handle that is encoded later and elsewhere, and comes back through
// [Keeper.Decode] and [Keeper.Resume]. A state that may be large is [Parted]: a checkpoint
// writes the parts of it that have changed.
//
// # Memory
//
// What an [Input] points to is lent, but for the event's value: a fold may keep it and hand it
// on, unless its Program says LooksOnly. Then it is lent too, which is faster: its fields and
// items may be kept, best as [boundary.Value.Compact], and the object itself may not.
//
// # Concurrency
//
// A fold belongs to one goroutine; a State may be encoded on any. Nothing here starts one.
package fold
