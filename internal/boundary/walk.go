package boundary

import (
	"unsafe"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// itemWalker walks the items of a list, built or in a document.
type itemWalker struct {
	built []Value
	text  rawjson.Items // empty for a built list
	num   uint64
}

func (v Value) walkItems() itemWalker {
	switch r := v.ref.(type) {
	case built:
		return itemWalker{built: v.items(r)}
	case rawList:
		return itemWalker{text: rawjson.ItemsOf(unsafe.String(r, v.length())), num: v.num}
	}
	return itemWalker{}
}

func (w *itemWalker) next() (Value, bool) {
	if len(w.built) > 0 {
		item := w.built[0]
		w.built = w.built[1:]
		return item, true
	}
	item, ok := w.text.Next()
	if !ok {
		return Value{}, false
	}
	return part(item, w.num), true
}

// fieldWalker walks the fields of an object: those of a document as they come, those
// of a built one by slot.
type fieldWalker struct {
	object *object // nil for a document
	slot   int
	text   rawjson.Fields
	num    uint64
}

func (v Value) walkFields() fieldWalker {
	switch r := v.ref.(type) {
	case *object:
		if r.text == nil {
			return fieldWalker{object: r}
		}
	case rawObject:
	default:
		return fieldWalker{}
	}
	s, _ := v.raw()
	return fieldWalker{text: rawjson.FieldsOf(s), num: v.num}
}

func (w *fieldWalker) next() (string, Value, bool) {
	if w.object == nil {
		f, ok := w.text.Next()
		if !ok {
			return "", Value{}, false
		}
		return f.Name, part(f.Value, w.num), true
	}
	for slots := w.object.slots(); w.slot < len(slots); {
		i := w.slot
		w.slot++
		if v := slots[i]; v.ref != nil {
			return w.object.shape.names[i], v, true
		}
	}
	return "", Value{}, false
}
