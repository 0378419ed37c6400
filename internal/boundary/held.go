package boundary

import (
	"math/bits"
	"unsafe"
)

// Seen is what [Value.Held] has come by. nil remembers nothing.
type Seen map[unsafe.Pointer]struct{}

// add remembers p, which has so many bytes. It answers with these where before does not have it, and whether it has
// just been come by.
func (s Seen) add(p unsafe.Pointer, size int64, before Seen) (bytes int64, first bool) {
	if _, is := s[p]; is || p == nil {
		return 0, false
	}
	if s != nil {
		s[p] = struct{}{}
	}
	if _, was := before[p]; was {
		return 0, true
	}
	return size, true
}

// Held is about what the heap has for v beside the value itself. What before or seen has is not counted, and what it
// comes by is in seen then; without them, what is shared is counted each time. It does not walk documents.
func (v Value) Held(before, seen Seen) (n int64) {
	const each = int64(unsafe.Sizeof(Value{}))
	switch r := v.ref.(type) {
	case text:
		n, _ = seen.add(unsafe.Pointer(r), OnHeap(int(v.num)), before)
	case rawObject:
		n, _ = seen.add(unsafe.Pointer(r), OnHeap(v.length()), before)
	case rawList:
		n, _ = seen.add(unsafe.Pointer(r), OnHeap(v.length()), before)
	case built:
		n = held(v.items(r), before, seen)
	case *object:
		own := int64(unsafe.Sizeof(*r))
		if r.text != nil { // which the slots point into
			n, _ = seen.add(unsafe.Pointer(r.text), own+OnHeap(v.length())+int64(len(r.slots()))*each, before)
		} else if bytes, first := seen.add(unsafe.Pointer(r), own, before); first {
			n = bytes + held(r.slots(), before, seen)
		}
	}
	return n
}

// held counts values one by one: lists may be windows on one array.
func held(vs []Value, before, seen Seen) (n int64) {
	for i := range vs {
		if bytes, first := seen.add(unsafe.Pointer(&vs[i]), int64(unsafe.Sizeof(vs[i])), before); first {
			n += bytes + vs[i].Held(before, seen)
		}
	}
	return n
}

// Bytes is what the heap has for raw, unless a value that seen has come by is this text.
func (s Seen) Bytes(raw []byte) (n int64) {
	n, _ = s.add(unsafe.Pointer(unsafe.SliceData(raw)), OnHeap(len(raw)), nil)
	return n
}

// OnHeap is about what the heap has for so many bytes: its sizes are a sixteenth to an eighth apart.
func OnHeap(n int) int64 {
	step := 8 << max(0, bits.Len(uint(max(n, 1)-1))-7)
	return int64((n + step - 1) / step * step)
}
