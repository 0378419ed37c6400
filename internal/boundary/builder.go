package boundary

import "unsafe"

// Builder makes objects of one shape whose slots the caller fills. It allocates them a
// few at a time, as a decoder does, so that an object costs a fraction of an allocation.
// It belongs to one goroutine.
type Builder struct {
	shape   *Shape
	objects []object
	slots   []Value
}

// NewBuilder makes a builder of objects with s's fields.
func NewBuilder(s *Shape) *Builder { return &Builder{shape: s} }

// Slots are the slots of the object that [Builder.Object] makes next: set every one of
// them. Until then the same slots are handed out again, with whatever is in them.
func (b *Builder) Slots() []Value {
	k := b.shape.Len()
	if len(b.objects) == 0 {
		const each = int(unsafe.Sizeof(object{}))
		n := min(max(1, chunkBytes/(each+k*int(unsafe.Sizeof(Value{})))), chunkObjects)
		b.objects, b.slots = make([]object, n), make([]Value, n*k)
	}
	return b.slots[:k:k]
}

// Object is the object of the slots that [Builder.Slots] gave out last.
func (b *Builder) Object() Value {
	slots := b.Slots()
	present := 0
	for i := range slots {
		if slots[i].ref != nil {
			present++
		}
	}
	o := &b.objects[0]
	o.shape, o.first = b.shape, unsafe.SliceData(slots)
	if b.objects, b.slots = b.objects[1:], b.slots[len(slots):]; len(b.objects) == 0 {
		b.objects, b.slots = nil, nil // else the builder itself would keep them
	}
	return Value{num: uint64(present) | nest(slots)<<depthShift, ref: o}
}
