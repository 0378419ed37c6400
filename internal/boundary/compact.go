package boundary

import (
	"math"
	"slices"
	"strings"
	"unsafe"
)

// Compact returns v with memory of its own: text is copied out of the buffer it was
// cut from, a document out of the chunk it was made in. Keep values for long in this
// form, and make it once: every call copies.
func (v Value) Compact() Value {
	switch r := v.ref.(type) {
	case text:
		return String(strings.Clone(unsafe.String(r, int(v.num))))
	case rawObject:
		s := strings.Clone(unsafe.String(r, v.length()))
		v.ref = rawObject(unsafe.StringData(s))
	case rawList:
		s := strings.Clone(unsafe.String(r, v.length()))
		v.ref = rawList(unsafe.StringData(s))
	case built:
		v.ref = built(unsafe.SliceData(compactAll(v.items(r))))
	case *object:
		v.ref = r.compact(v)
	}
	return v
}

// compact is the copy of v's object.
func (o *object) compact(v Value) *object {
	from, ok := v.raw()
	if !ok {
		return &object{shape: o.shape, first: unsafe.SliceData(compactAll(o.slots()))}
	}
	to := strings.Clone(from)
	slots := slices.Clone(o.slots())
	for i := range slots {
		slots[i] = slots[i].moved(from, to)
	}
	return &object{shape: o.shape, first: unsafe.SliceData(slots), text: unsafe.StringData(to)}
}

func compactAll(vs []Value) []Value {
	out := make([]Value, len(vs))
	for i := range vs {
		out[i] = vs[i].Compact()
	}
	return out
}

// moved is v, a slot of the document from, as a slot of its copy to.
func (v Value) moved(from, to string) Value {
	switch r := v.ref.(type) {
	case text:
		if at, ok := offset(from, r); ok {
			return String(to[at : at+int(v.num)])
		}
		// Had it escapes, it has its own memory.
	case rawObject:
		at, _ := offset(from, r)
		v.ref = rawObject(unsafe.StringData(to[at:]))
	case rawList:
		at, _ := offset(from, r)
		v.ref = rawList(unsafe.StringData(to[at:]))
	}
	return v
}

// offset is where in s the byte is that p points to; false when it is not in s.
func offset(s string, p *byte) (int, bool) {
	at := uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(unsafe.StringData(s)))
	return int(at), at < uintptr(len(s))
}

// Size is about how many bytes v holds, itself included: what a queue that is
// bounded by memory counts, what it shares with others in full. It does not walk documents.
func (v Value) Size() int { return v.SizeUpTo(math.MaxInt) }

// Bulky says whether v is more than what stands in the value itself.
func (v Value) Bulky() bool {
	_, scalar := v.ref.(Kind)
	return !scalar && v.ref != nil
}

// SizeUpTo is Size as long as that is at most most, else something larger: it does not walk on through a value that
// is too large already.
func (v Value) SizeUpTo(most int) int {
	const each = int(unsafe.Sizeof(Value{}))
	n := each
	switch r := v.ref.(type) {
	case text, rawObject, rawList:
		n += v.length()
	case built:
		for _, item := range v.items(r) {
			if !item.Bulky() { // most are not, and need no call
				n += each
			} else if n += item.SizeUpTo(most - n); n > most {
				return n
			}
		}
	case *object:
		n += int(unsafe.Sizeof(object{}))
		if r.text != nil {
			return n + v.length() + r.shape.Len()*each
		}
		for _, slot := range r.slots() {
			if !slot.Bulky() {
				n += each
			} else if n += slot.SizeUpTo(most - n); n > most {
				return n
			}
		}
	}
	return n
}
