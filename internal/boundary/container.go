package boundary

import (
	"iter"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// List is a list of items. It takes ownership of items.
func List(items []Value) Value {
	return Value{
		num: uint64(len(items)) | nest(items)<<depthShift,
		ref: built(unsafe.SliceData(items)),
	}
}

// Object is an object whose fields are s's names with the values in slots, in the
// same order. An absent slot is a missing field. It takes ownership of slots; a
// length other than the shape's is a fault of the program and panics.
func Object(s *Shape, slots []Value) Value {
	if len(slots) != s.Len() {
		panic("boundary: an object has another number of slots than its shape has names")
	}
	present := 0
	for i := range slots {
		if slots[i].ref != nil {
			present++
		}
	}
	return Value{
		num: uint64(present) | nest(slots)<<depthShift,
		ref: &object{shape: s, first: unsafe.SliceData(slots)},
	}
}

// nest is the depth of a list or object that holds vs. Deeper than MaxDepth it
// panics: nothing that recurses over values could be trusted any more, and the
// panic of a node is that node's error.
func nest(vs []Value) uint64 {
	deepest := uint64(0)
	for i := range vs {
		switch vs[i].ref.(type) {
		case *object, built, rawList, rawObject:
			deepest = max(deepest, vs[i].depth())
		}
	}
	if deepest >= MaxDepth {
		panic("boundary: lists and objects are nested more than 10,000 deep")
	}
	return deepest + 1
}

// Depth is an upper bound on how deep lists and objects are nested in v: 0 for
// everything else, 1 for a flat list. It is kept, not counted.
func (v Value) Depth() int {
	switch v.ref.(type) {
	case *object, built, rawList, rawObject:
		return int(v.depth())
	}
	return 0
}

func (v Value) items(p built) []Value { return unsafe.Slice((*Value)(p), v.length()) }

// Len is the number of items of a list, fields of an object, bytes of a string or rows of a table; 0
// for everything else. It walks the text of a nested list or object.
func (v Value) Len() int {
	n := 0
	switch r := v.ref.(type) {
	case text, built:
		n = v.length()
	case *table:
		n = r.len()
	case rawList:
		for t := rawjson.ItemsOf(unsafe.String(r, v.length())); ; n++ {
			if _, ok := t.Next(); !ok {
				break
			}
		}
	case *object, rawObject:
		s, ok := v.raw()
		if !ok {
			return v.length()
		}
		for f := rawjson.FieldsOf(s); ; n++ {
			if _, ok := f.Next(); !ok {
				break
			}
		}
	}
	return n
}

// Index is the i-th item of a list, absent when there is none. On a list out of a
// document it walks the text up to the item: use [Value.Items] to read them all.
func (v Value) Index(i int) Value {
	switch r := v.ref.(type) {
	case built:
		if i >= 0 && i < v.length() {
			return v.items(r)[i]
		}
	case rawList:
		for t := rawjson.ItemsOf(unsafe.String(r, v.length())); i >= 0; i-- {
			item, ok := t.Next()
			if !ok {
				break
			}
			if i == 0 {
				return part(item, v.num)
			}
		}
	}
	return Value{}
}

// Field is the field called name, absent when v is no object or has none.
func (v Value) Field(name string) Value {
	switch r := v.ref.(type) {
	case *object:
		if i, ok := r.shape.Slot(name); ok {
			return r.slots()[i]
		}
	case rawObject:
	default:
		return Value{}
	}
	if s, ok := v.raw(); ok && v.num&flagComplete == 0 {
		if value, ok := rawjson.Find(s, name); ok {
			return part(value, v.num)
		}
	}
	return Value{}
}

// Slot is the field called s.Name(i). It is fast when v was decoded or built with
// this very shape, and Field otherwise.
func (v Value) Slot(s *Shape, i int) Value {
	if o, ok := v.ref.(*object); ok && o.shape == s {
		return o.slots()[i]
	}
	return v.Field(s.names[i])
}

// SlotAt is where [Value.Slot] finds the field: nil when v was not made with this very shape. It is to be read only.
func (v *Value) SlotAt(s *Shape, i int) *Value {
	if o, ok := v.ref.(*object); ok && o.shape == s {
		return &o.slots()[i]
	}
	return nil
}

// FloatBits are the bits of a float; ok is false for every other kind.
func (v *Value) FloatBits() (bits uint64, ok bool) { return v.num, v.is(KindFloat) }

// Fields walks the fields of an object: in the order of the document, or of the
// shape when it was built. Other kinds have none.
func (v Value) Fields() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		w := v.walkFields()
		for name, value, ok := w.next(); ok; name, value, ok = w.next() {
			if !yield(name, value) {
				return
			}
		}
	}
}

// Items walks the items of a list. Other kinds have none.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		w := v.walkItems()
		for item, ok := w.next(); ok; item, ok = w.next() {
			if !yield(item) {
				return
			}
		}
	}
}
