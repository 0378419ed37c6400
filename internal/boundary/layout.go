package boundary

import (
	"strings"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// layout is how documents looked between the values of their fields lately. Events
// of one input are nearly always written alike: comparing with the text that is
// expected takes the place of reading a name, looking it up, and comparing it with
// all the others.
type layout struct {
	fields  []expected
	loose   bool // a document written so is not canonical
	strays  int  // how many documents more have strayed than followed
	learned bool
	// spans are where the values of the document to be learned begin and end.
	spans []int
}

// expected is one field of a layout.
type expected struct {
	text string // from the end of the value before up to the value: `,"bid":`
	slot int    // -1: none
	// first are the first eight bytes of the text, or as many as it has, which mask tells; last the last eight.
	first, mask, last uint64
}

func newExpected(text string, slot int) expected {
	f := expected{text: text, slot: slot, mask: ^uint64(0)}
	if n := len(text); n < 8 {
		f.mask >>= 8 * (8 - n)
		f.first = rawjson.Load64(text+"\x00\x00\x00\x00\x00\x00\x00\x00", 0)
	} else {
		f.first, f.last = rawjson.Load64(text, 0), rawjson.Load64(text, n-8)
	}
	return f
}

const (
	// patience is how many strays it takes to learn another layout. Learning
	// allocates, and documents may come in two kinds by turns.
	patience = 16
	// A layout is kept for as long as its decoder: longer ones are not worth it.
	layoutFields = 256
	layoutBytes  = 16 << 10
)

// at reports whether the field is what stands at i.
func (f *expected) at(s string, i int) bool {
	size := len(f.text)
	if len(s)-i < 8 || size > 16 { // the end of a short text, or a long name
		return len(s)-i >= size && s[i:i+size] == f.text
	}
	return rawjson.Load64(s, i)&f.mask == f.first &&
		(size <= 8 || len(s)-i >= size && rawjson.Load64(s, i+size-8) == f.last)
}

// name is the name of the n-th field.
func (l *layout) name(n int) string {
	text := l.fields[n].text
	return text[strings.IndexByte(text, '"')+1 : strings.LastIndexByte(text, '"')]
}

// stray notes a document that was written otherwise; after enough of them the next
// one is learned.
func (l *layout) stray() {
	if l.strays++; l.strays >= patience {
		l.fields, l.learned, l.strays = nil, false, 0
	}
}

// learn expects documents that are written as the object that begins at start of sc's
// text s, and has its values at l.spans.
func (l *layout) learn(sc *rawjson.Scanner, s string, start int, shape *Shape) {
	l.learned = true
	names, sorted := sc.Keys()
	if len(names) > layoutFields {
		return
	}
	var b strings.Builder
	for i, end := 0, start; i < len(l.spans); i += 2 {
		b.WriteString(s[end:l.spans[i]])
		end = l.spans[i+1]
	}
	all := b.String()
	if len(all) > layoutBytes || strings.IndexByte(all, '\\') >= 0 {
		return
	}
	l.loose = !sorted
	l.fields = make([]expected, len(names))
	for i, end := 0, start; i < len(names); i++ {
		n := l.spans[2*i] - end
		end = l.spans[2*i+1]
		slot, ok := shape.Slot(names[i])
		if !ok {
			slot = -1
		}
		l.fields[i] = newExpected(all[:n], slot)
		l.loose = l.loose || n != len(names[i])+len(`,"":`)
		all = all[n:]
	}
}
