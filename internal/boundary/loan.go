package boundary

import (
	"strings"
	"unsafe"
)

// Loan is memory that a [Decoder] lends many values from. All of them are good until Reset, which takes
// the memory back for others. It belongs to one goroutine at a time.
type Loan struct {
	objects []object
	slots   []Value
	width   int // of an object, in slots
	used    int // of objects
	expect  int
	longest int // of the texts, in bytes
}

// Expect says how many values will be lent.
func (l *Loan) Expect(n int) { l.expect = n }

// next returns the next object, with empty slots, of a shape that is the same for all of the loan. It
// is lent only when take says so.
func (l *Loan) next(s *Shape) (*object, []Value) {
	if l.used == len(l.objects) {
		// What was lent stays where it is, and is let go with the values.
		n := max(1, 2*len(l.objects), l.expect)
		l.width, l.used = s.Len(), 0
		l.objects, l.slots = make([]object, n), make([]Value, n*l.width)
	}
	o, slots := &l.objects[l.used], l.slots[l.used*l.width:][:l.width:l.width]
	o.shape, o.first = s, &slots[0]
	return o, slots
}

// take lends what next has returned; its text has so many bytes.
func (l *Loan) take(size int) { l.used, l.longest = l.used+1, max(l.longest, size) }

// spoiled is what stands where lent memory was; see Limits.Spoil.
const spoiled = 0xDB

// Reset takes back what was lent. spoil overwrites it and lends other memory from then on; see
// [Limits.Spoil].
func (l *Loan) Reset(spoil bool) {
	if l.used == 0 {
		return
	}
	if !spoil {
		clear(l.slots[:l.used*l.width])
		l.used = 0
		return
	}
	text := strings.Repeat(string([]byte{spoiled}), max(8, l.longest))
	for i := range l.slots {
		l.slots[i] = String(text[:8])
	}
	for i := range l.objects {
		l.objects[i].text = unsafe.StringData(text)
	}
	*l = Loan{}
}
