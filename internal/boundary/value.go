package boundary

import (
	"math"
	"time"
	"unsafe"
)

// Value is one immutable value. The zero Value is absent. It is safe for
// concurrent reads; it cannot be compared with ==, use [Equal].
type Value struct {
	_ [0]func() // no ==, which would compare where things lie and not what they are
	// num is the bits of a scalar, the length of a string, or the packed length,
	// depth and flags of a list or object.
	num uint64
	// ref says what num is (a Kind for the scalars) and points to what does not fit:
	// text, built, rawList, rawObject or *object. All are pointers or a byte, so
	// that storing them allocates nothing.
	ref any
}

// What ref may point to beside a Kind.
type (
	text      *byte  // a string's bytes; num is its length
	built     *Value // a built list's items
	rawList   *byte  // a list as JSON text that is known to be valid
	rawObject *byte  // an object as JSON text that is known to be valid
)

// object is an object with slots: a document with the fields of a shape taken out,
// or one built from its slots alone. It has no lengths, which the shape and the
// value's num know: there is one for each document that is kept.
type object struct {
	shape *Shape
	first *Value // the first of the slots; a slot that is absent is a missing field
	text  *byte  // the whole object as JSON; nil when built
}

// slots are the object's slots, by the shape's index.
func (o *object) slots() []Value { return unsafe.Slice(o.first, len(o.shape.names)) }

// A list's or object's num: flags, depth and length. The length counts the bytes of
// what is JSON text, and the items or fields of what was built.
const (
	flagCanonical = 1 << 63 // the text is what AppendJSON would write
	flagPlain     = 1 << 62 // no string in the text has an escape
	flagComplete  = 1 << 61 // every field of the document is in a slot

	flagMask   = flagCanonical | flagPlain | flagComplete
	depthShift = 40
	depthMask  = 1<<16 - 1
	lengthMask = 1<<depthShift - 1
)

// MaxDepth is how deep lists and objects can be nested at all, whatever limits
// are configured: it keeps every recursion over a value within a few MiB of stack.
const MaxDepth = 10_000

func (v Value) length() int   { return int(v.num & lengthMask) }
func (v Value) depth() uint64 { return v.num >> depthShift & depthMask }

// Null is JSON's null.
func Null() Value { return Value{ref: KindNull} }

// Bool is a boolean.
func Bool(b bool) Value {
	if b {
		return Value{num: 1, ref: KindBool}
	}
	return Value{ref: KindBool}
}

// Int is an integer.
func Int(i int64) Value { return Value{num: uint64(i), ref: KindInt} }

// Float is a number, also when f is integral: it stays a float, equal to the
// integer. NaN and the infinities are no values and become null; where they are
// an error, check before, or use [FromAny].
func Float(f float64) Value {
	if f-f != 0 { // only for NaN and the infinities
		return Null()
	}
	return float(f)
}

// float is Float for numbers that are known to be finite.
func float(f float64) Value { return Value{num: math.Float64bits(f), ref: KindFloat} }

// String is a text. Bytes that are not UTF-8 are kept, and written to JSON as U+FFFD.
func String(s string) Value { return Value{num: uint64(len(s)), ref: text(unsafe.StringData(s))} }

// Time is an instant, to the nanosecond, in UTC. Instants that do not fit 64 bits of
// nanoseconds (before 1677 or after 2262) become the nearest that does: whatever comes from
// outside is to be asked with [Holds] before.
func Time(t time.Time) Value {
	ns := t.UnixNano()
	if t.Before(firstTime) {
		ns = math.MinInt64
	} else if t.After(lastTime) {
		ns = math.MaxInt64
	}
	return Value{num: uint64(ns), ref: KindTime}
}

// Duration is a span of time.
func Duration(d time.Duration) Value { return Value{num: uint64(d), ref: KindDuration} }

// Kind says what v is.
func (v Value) Kind() Kind {
	switch r := v.ref.(type) {
	case Kind:
		return r
	case text:
		return KindString
	case *object, rawObject:
		return KindObject
	case built, rawList:
		return KindList
	case *table:
		return KindTable
	}
	return KindAbsent
}

// IsAbsent reports whether v is absent: the zero Value.
func (v Value) IsAbsent() bool { return v.ref == nil }

// IsNull reports whether v is null. An absent value is not.
func (v Value) IsNull() bool { return v.is(KindNull) }

func (v Value) is(k Kind) bool {
	r, ok := v.ref.(Kind)
	return ok && r == k
}

// AsBool returns a boolean, and false for every other kind.
func (v Value) AsBool() (b, ok bool) {
	if !v.is(KindBool) {
		return false, false
	}
	return v.num != 0, true
}

// AsInt returns an int. A float is none, not even an integral one.
func (v Value) AsInt() (i int64, ok bool) {
	if !v.is(KindInt) {
		return 0, false
	}
	return int64(v.num), true
}

// AsFloat returns a float, or an int converted to the nearest float.
func (v Value) AsFloat() (f float64, ok bool) {
	switch r, _ := v.ref.(Kind); r {
	case KindFloat:
		return math.Float64frombits(v.num), true
	case KindInt:
		return float64(int64(v.num)), true
	}
	return 0, false
}

// AsString returns a text. It shares v's memory.
func (v Value) AsString() (s string, ok bool) {
	if p, ok := v.ref.(text); ok {
		return unsafe.String(p, int(v.num)), true
	}
	return "", false
}

// AsTime returns an instant, in UTC.
func (v Value) AsTime() (t time.Time, ok bool) {
	if !v.is(KindTime) {
		return time.Time{}, false
	}
	return time.Unix(0, int64(v.num)).UTC(), true
}

// AsDuration returns a span of time.
func (v Value) AsDuration() (d time.Duration, ok bool) {
	if !v.is(KindDuration) {
		return 0, false
	}
	return time.Duration(v.num), true
}

// raw returns the JSON text that v points to, if it is a document or a piece of one.
func (v Value) raw() (string, bool) {
	switch r := v.ref.(type) {
	case *object:
		if r.text != nil {
			return unsafe.String(r.text, v.length()), true
		}
	case rawObject:
		return unsafe.String(r, v.length()), true
	case rawList:
		return unsafe.String(r, v.length()), true
	}
	return "", false
}
