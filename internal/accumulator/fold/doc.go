// Package fold is what the folds of all accumulators have in common: the interface that
// package accumulator drives, the events that go in, and the form in which states are kept.
//
// A [Fold] takes events one by one and gives boundaries. Its memory goes out as a [State],
// an immutable handle that is encoded later and elsewhere, and comes back through
// [Keeper.Decode] and [Keeper.Resume]. A state that may be large is [Parted]: a checkpoint
// writes the parts of it that have changed.
//
// # Memory
//
// What an [Input] points to is lent. A fold may keep the event's value, and hand it on,
// only when it has declared so to package accumulator, which then has the decoder make
// values that last; of a value that is only looked at, its fields and items may be kept,
// best as [boundary.Value.Compact], and the object itself may not.
//
// # Concurrency
//
// A fold belongs to one goroutine; a State may be encoded on any. Nothing here starts one.
package fold
