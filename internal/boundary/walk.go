package boundary

import "unsafe"

// itemWalker walks the items of a list, built or in a document.
type itemWalker struct {
	built []Value
	text  items // text.s is "" for a built list
	num   uint64
}

func (v Value) walkItems() itemWalker {
	switch r := v.ref.(type) {
	case built:
		return itemWalker{built: v.items(r)}
	case rawList:
		return itemWalker{text: itemsOf(unsafe.String(r, v.length())), num: v.num}
	}
	return itemWalker{}
}

func (w *itemWalker) next() (Value, bool) {
	if w.text.s != "" {
		start, end, ok := w.text.next()
		if !ok {
			return Value{}, false
		}
		return part(w.text.s[start:end], w.num), true
	}
	if len(w.built) == 0 {
		return Value{}, false
	}
	item := w.built[0]
	w.built = w.built[1:]
	return item, true
}

// fieldWalker walks the fields of an object: those of a document as they come, those
// of a built one by slot.
type fieldWalker struct {
	object *object // nil for a document
	slot   int
	text   fields
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
	return fieldWalker{text: fieldsOf(s), num: v.num}
}

func (w *fieldWalker) next() (string, Value, bool) {
	if w.object == nil {
		if w.text.s == "" {
			return "", Value{}, false
		}
		f, ok := w.text.next()
		if !ok {
			return "", Value{}, false
		}
		return f.name, part(w.text.s[f.start:f.end], w.num), true
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
