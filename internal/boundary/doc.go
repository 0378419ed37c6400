// Package boundary is what crosses from an accumulator to the reactor: the
// value, its key, its position, its time and how many events it accounts for.
//
// [Value] is the one to know. It is 24 bytes, immutable and opaque: a null, a
// boolean, a number, a string, a time, a duration, a list or an object. All the
// rest of the program reads it through fields, equality and encoding, so that
// how it is kept can change in this package alone.
//
// An event arrives as JSON. A [Decoder] checks the whole document once,
// strictly, and keeps its bytes; only the fields of its [Shape] — the fields
// that some expression reads — become values in slots. Everything else is found
// in the bytes when somebody asks for it, and never before:
//
//	shape := boundary.NewShape("bid", "ask")
//	dec := boundary.NewDecoder(shape, boundary.Limits{})
//	v, err := dec.Decode([]byte(`{"symbol":"A","bid":1,"ask":2.5}`))
//	bid, _ := v.Slot(shape, 0).AsInt() // from a slot
//	sym, _ := v.Field("symbol").AsString() // found in the document
//
// A nested list or object is such a piece of the document too, already known to
// be valid. Reading its Len, Index or Field walks its bytes: iterate with
// [Value.Items] and [Value.Fields], or collect the items once, rather than
// calling Index in a loop.
//
// How JSON is checked, walked and written as text is in package rawjson; this package
// makes values of it.
//
// # Numbers
//
// An integer that fits int64 is an int and stays one; every other number is a
// float. 1 and 1.0 are equal. NaN and the infinities do not exist here. An integer beyond
// int64 is refused unless a float has its very digits: nothing changes silently.
//
// # Memory
//
// Who may keep what is one rule:
//
//   - The bytes that are given to a decoder belong to the value made of them, for good:
//     nobody writes to them again. Strings, lists and objects that are found in them point
//     into them, and may be kept by anyone.
//   - An object that [Decoder.Lend] returns is lent until the decoder's next call. What is
//     taken out of it may be kept; the object itself only as what [Decoder.Keep] makes of it
//     before that call, or as [Value.Compact].
//   - The slots of a [Builder] belong to the object that it makes of them.
//
// With [Limits.Spoil] what was lent is overwritten, and whoever breaks the rule shows.
//
// A decoder makes documents in small chunks. A value therefore holds on to its document, to
// a few neighbours and to the buffer they were cut from. What is kept for long (a cache with
// many keys) should be kept as [Value.Compact].
//
// # Concurrency
//
// Values, shapes and keys may be read from any number of goroutines: nothing is
// filled in after they were made. A Decoder belongs to one goroutine. Nothing
// here starts a goroutine.
package boundary
