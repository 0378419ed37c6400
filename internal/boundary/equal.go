package boundary

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// Equal reports whether a and b are the same value. Numbers are compared exactly,
// whether int or float: 1 equals 1.0. Objects are equal whatever the order of their
// keys. A time or a duration is equal to no string and no number, and absent is
// equal to absent alone.
func Equal(a, b Value) bool {
	switch ra := a.ref.(type) {
	case Kind:
		rb, ok := b.ref.(Kind)
		return ok && equalScalars(a, b, ra, rb)
	case text:
		rb, ok := b.ref.(text)
		return ok && a.num == b.num && (ra == rb || unsafe.String(ra, a.num) == unsafe.String(rb, b.num))
	case nil:
		return b.ref == nil
	}
	kind := a.Kind()
	if kind != b.Kind() {
		return false
	}
	// The same text is the same value: there is nothing in JSON that differs from itself.
	if sa, ok := a.raw(); ok {
		if sb, ok := b.raw(); ok && sa == sb {
			return true
		}
	}
	switch kind {
	case KindList:
		return equalLists(a, b)
	case KindTable: // of one moment, or not
		return a.ref.(*table).rows == b.ref.(*table).rows
	}
	return equalObjects(a, b)
}

func equalScalars(a, b Value, ka, kb Kind) bool {
	switch {
	case ka == KindFloat && kb == KindFloat:
		return math.Float64frombits(a.num) == math.Float64frombits(b.num)
	case ka == KindInt && kb == KindFloat:
		return equalIntFloat(int64(a.num), math.Float64frombits(b.num))
	case ka == KindFloat && kb == KindInt:
		return equalIntFloat(int64(b.num), math.Float64frombits(a.num))
	}
	return ka == kb && a.num == b.num
}

// equalIntFloat compares exactly: float64(i) == f would round i.
func equalIntFloat(i int64, f float64) bool {
	return f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) && int64(f) == i
}

func equalLists(a, b Value) bool {
	wa, wb := a.walkItems(), b.walkItems()
	for {
		x, more := wa.next()
		y, same := wb.next()
		if more != same {
			return false
		}
		if !more {
			return true
		}
		if !Equal(x, y) {
			return false
		}
	}
}

func equalObjects(a, b Value) bool {
	oa, _ := a.ref.(*object)
	ob, _ := b.ref.(*object)
	if oa != nil && ob != nil {
		if oa.shape == ob.shape {
			if !slices.EqualFunc(oa.slots(), ob.slots(), Equal) {
				return false
			}
			if a.allInSlots(oa) && b.allInSlots(ob) {
				return true
			}
		}
	}
	if sa, ok := a.raw(); ok {
		if sb, ok := b.raw(); ok {
			if same, sure := equalTexts(sa, sb, a.num, b.num); sure {
				return same
			}
			return equalSorted(a, b)
		}
	}
	wa, wb := a.walkFields(), b.walkFields()
	for {
		nx, x, more := wa.next()
		ny, y, same := wb.next()
		switch {
		case more != same:
			return false
		case !more:
			return true
		case nx != ny: // another order of keys, or another object
			return equalSorted(a, b)
		case !Equal(x, y):
			return false
		}
	}
}

// equalTexts compares the texts of two objects field by field, as long as their keys
// are in the same order; when they are not, it cannot be sure. Values that are
// written alike are not looked into.
func equalTexts(sa, sb string, na, nb uint64) (same, sure bool) {
	wa, wb := rawjson.FieldsOf(sa), rawjson.FieldsOf(sb)
	for {
		fa, more := wa.Next()
		fb, too := wb.Next()
		switch {
		case more != too:
			return false, true
		case !more:
			return true, true
		case fa.Name != fb.Name:
			return false, false
		}
		if fa.Value != fb.Value && !Equal(part(fa.Value, na), part(fb.Value, nb)) {
			return false, true
		}
	}
}

// allInSlots reports whether the slots hold every field there is.
func (v Value) allInSlots(o *object) bool { return o.text == nil || v.num&flagComplete != 0 }

// member is one field of an object.
type member struct {
	name  string
	value Value
}

// equalSorted compares objects with their keys brought into order: looking each key
// up in the other object would be quadratic in a document.
func equalSorted(a, b Value) bool {
	var few [2][8]member // enough for many objects without an allocation
	ma, mb := a.members(few[0][:0]), b.members(few[1][:0])
	return slices.EqualFunc(ma, mb, func(x, y member) bool { return x.name == y.name && Equal(x.value, y.value) })
}

// members appends the fields of an object to dst and sorts them by name.
func (v Value) members(dst []member) []member {
	w := v.walkFields()
	for name, value, ok := w.next(); ok; name, value, ok = w.next() {
		dst = append(dst, member{name, value})
	}
	slices.SortFunc(dst, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return dst
}
