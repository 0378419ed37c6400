package boundary

import (
	"fmt"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// The codes of a [DecodeError].
const (
	CodeInvalidJSON      = rawjson.CodeInvalidJSON      // not JSON (RFC 8259)
	CodeInvalidUTF8      = rawjson.CodeInvalidUTF8      // a string that is not UTF-8, or half a surrogate pair in it
	CodeDuplicateKey     = rawjson.CodeDuplicateKey     // an object, at any depth, names a field twice
	CodeTooDeep          = rawjson.CodeTooDeep          // nested deeper than Limits.MaxDepth
	CodeTooLarge         = "too_large"                  // longer than Limits.MaxBytes
	CodeNumberOutOfRange = rawjson.CodeNumberOutOfRange // a number beyond what a float holds
)

// DecodeError says why a document was refused.
type DecodeError struct {
	Code   string // one of the codes above
	Offset int    // the byte at which it was noticed, from 0
	Text   string // for people
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.Code, e.Offset, e.Text)
}

// Limits bound what a [Decoder] accepts. The zero Limits are the defaults.
type Limits struct {
	MaxBytes int // the longest document; 0 means 8 MiB
	MaxDepth int // how deep lists and objects may nest; 0 means 64, never more than [MaxDepth]
	// Spoil overwrites what was lent with 0xDB bytes as soon as it may be used again, so that
	// whoever has kept it reads that and not, by luck, what he expects. It is for tests.
	Spoil bool
}

// The defaults of Limits.
const (
	defaultMaxBytes = 8 << 20
	defaultMaxDepth = 64
)

// Decoder turns JSON documents into values. It learns the order of the fields from
// the documents it sees, and reuses its scratch memory: keep one per input. It is
// not safe for concurrent use.
type Decoder struct {
	shape    *Shape
	maxBytes int
	maxDepth int
	scanner  rawjson.Scanner
	layout   layout
	// What is left of the chunks that documents and their slots are cut from. A chunk
	// saves allocations and costs memory: one document that is kept keeps its whole
	// chunk, and what its neighbours point to. See reserve.
	objects []object
	slots   []Value
	last    Loan  // what Lend lent last
	loan    *Loan // what the present document is lent from; nil for one that is kept
	spoils  bool  // see Limits.Spoil
}

// NewDecoder makes a decoder that takes the fields of s out of every document into
// slots. With a nil s there are no slots, and all fields are found on demand.
func NewDecoder(s *Shape, lim Limits) *Decoder {
	if lim.MaxBytes <= 0 {
		lim.MaxBytes = defaultMaxBytes
	}
	if lim.MaxDepth <= 0 {
		lim.MaxDepth = defaultMaxDepth
	}
	if s != nil && s.Len() == 0 {
		s = nil
	}
	return &Decoder{
		shape: s, maxBytes: min(lim.MaxBytes, lengthMask), maxDepth: min(lim.MaxDepth, MaxDepth), spoils: lim.Spoil,
	}
}

// Decode checks raw, which must be one JSON value with nothing but white space
// around it, and returns it. Beyond RFC 8259 it refuses duplicate keys, strings that
// are not UTF-8 or hold half a surrogate pair, and numbers that no float can hold.
// Every error is a [*DecodeError].
//
// Decode takes ownership of raw, also when it fails: the value points into it, and
// nobody may write to it again.
func (d *Decoder) Decode(raw []byte) (Value, error) {
	return d.decode(raw)
}

// Lend is Decode for a value that is looked at and let go: an object is good until the
// next call of Lend, which uses it again, unless [Decoder.Keep] has made it last. What is
// taken out of it, fields and items, may be kept; it points into raw alone.
func (d *Decoder) Lend(raw []byte) (Value, error) {
	d.last.Reset(d.spoils)
	return d.LendFrom(&d.last, raw)
}

// LendFrom is Lend for a value that is good until the loan is reset; see [Decoder.Own].
func (d *Decoder) LendFrom(l *Loan, raw []byte) (Value, error) {
	if d.shape != nil {
		d.loan = l
	}
	v, err := d.decode(raw)
	d.loan = nil
	return v, err
}

// Keep returns v as Decode would have made it, when v is what Lend lent last; every
// other value it returns as it is.
func (d *Decoder) Keep(v Value) Value {
	if o, ok := v.ref.(*object); !ok || d.last.used == 0 || o != &d.last.objects[0] {
		return v
	}
	return d.Own(v)
}

// Own is Keep for what a decoder for the same shape has lent from a loan.
func (d *Decoder) Own(v Value) Value {
	o, ok := v.ref.(*object)
	if !ok || o.shape != d.shape {
		return v
	}
	to, slots := d.reserve(v.length())
	copy(slots, o.slots())
	to.text = o.text
	d.claim(len(slots))
	v.ref = to
	return v
}

func (d *Decoder) decode(raw []byte) (Value, error) {
	if len(raw) > d.maxBytes {
		return Value{}, &DecodeError{CodeTooLarge, d.maxBytes, fmt.Sprintf(
			"the document has %d bytes, %d are allowed; send less at once or raise the limit", len(raw), d.maxBytes)}
	}
	text := unsafe.String(unsafe.SliceData(raw), len(raw))
	d.scanner.Reset(text, d.maxDepth)
	v, ok := d.document(text)
	d.scanner.Free()
	if !ok {
		return Value{}, decodeError(&d.scanner)
	}
	return v, nil
}

func decodeError(sc *rawjson.Scanner) *DecodeError {
	err := DecodeError(sc.Err())
	return &err
}

// document reads the whole text.
func (d *Decoder) document(s string) (Value, bool) {
	sc := &d.scanner
	start := sc.Space(0)
	var v Value
	var end int
	if d.shape != nil && start < len(s) && s[start] == '{' {
		v, end = d.object(s, start)
	} else {
		v, end = read(sc, s, start)
	}
	if end < 0 {
		return Value{}, false
	}
	if i := sc.Space(end); i < len(s) {
		sc.Fail(CodeInvalidJSON, i, "the document has ended, but something follows; send one value at a time")
		return Value{}, false
	}
	return v, true
}

// object reads the object that begins at i and fills the slots of its shape.
func (d *Decoder) object(s string, i int) (Value, int) {
	sc := &d.scanner
	start := i
	var o *object
	var slots []Value
	if d.loan != nil {
		o, slots = d.loan.next(d.shape)
	} else {
		o, slots = d.reserve(len(s))
	}
	count, filled, end := d.fields(slots, s, i)
	if end < 0 {
		clear(slots) // the next document gets them
		return Value{}, -1
	}
	o.text = unsafe.StringData(s[start:end])
	if d.loan != nil {
		d.loan.take(end - start)
	} else {
		d.claim(len(slots))
	}
	num := uint64(end-start) | flags(sc, start) | uint64(sc.Deepest())<<depthShift
	if filled == count {
		num |= flagComplete
	}
	return Value{num: num, ref: o}, end
}

// fields reads the fields of the object that begins at i into slots. It says how
// many there were, how many of them had a slot, and where the object ends.
func (d *Decoder) fields(slots []Value, s string, i int) (count, filled, end int) {
	sc, l := &d.scanner, &d.layout
	start := i
	sc.Enter()
	for count < len(l.fields) {
		f := &l.fields[count]
		if !f.at(s, i) {
			break
		}
		i = sc.Space(i + len(f.text))
		if f.slot < 0 {
			i = sc.Skip(i)
		} else {
			slots[f.slot], i = read(sc, s, i)
			filled++
		}
		if i < 0 {
			return 0, 0, -1
		}
		count++
	}
	if at := sc.Space(i); count > 0 && at < len(s) && s[at] == '}' {
		if l.loose {
			sc.Loosen(start)
		}
		l.strays = max(0, l.strays-1)
		sc.Leave()
		return count, filled, at + 1
	}
	// What has been compared with the layout alone counts as read.
	for n := range count {
		sc.Add(l.name(n), i)
	}
	if l.loose && count > 0 {
		sc.Loosen(start)
	}
	more, n, end := d.otherFields(slots, s, i, count == 0)
	return count + more, filled + n, end
}

// otherFields is fields from i on, at the opening brace or after a value, for a
// document whose layout is not the expected one.
func (d *Decoder) otherFields(slots []Value, s string, i int, first bool) (count, filled, end int) {
	sc, l := &d.scanner, &d.layout
	start, learning := i, first && !l.learned
	l.spans = l.spans[:0]
	if first {
		if i = sc.Space(i + 1); sc.Closes(i) {
			sc.Leave()
			return 0, 0, i + 1
		}
	} else if i = sc.Comma(sc.Space(i)); i < 0 {
		return 0, 0, -1
	}
	for i >= 0 {
		name, at := sc.Key(i)
		if at < 0 {
			break
		}
		if slot, ok := d.shape.Slot(name); ok {
			slots[slot], i = read(sc, s, at)
			filled++
		} else {
			i = sc.Skip(at)
		}
		if i < 0 {
			break
		}
		count++
		if learning && count <= layoutFields {
			l.spans = append(l.spans, at, i)
		}
		if i = sc.Space(i); sc.Closes(i) {
			if learning {
				l.learn(sc, s, start, d.shape)
			} else {
				l.stray()
			}
			sc.Leave()
			return count, filled, i + 1
		}
		i = sc.Comma(i)
	}
	return 0, 0, -1
}

// Chunks of documents are small: a chunk shares out at most chunkBytes, counting the
// documents' own text, so that one value that is kept holds on to little beside it;
// and at most chunkObjects, beyond which sharing saves nothing more.
const (
	chunkBytes   = 2048
	chunkObjects = 16
)

// claim marks what reserve returned as used; it has k slots.
func (d *Decoder) claim(k int) {
	if d.objects, d.slots = d.objects[1:], d.slots[k:]; len(d.objects) == 0 {
		d.objects, d.slots = nil, nil // else the decoder itself would keep them
	}
}

// reserve returns the next object, with empty slots, for a document of size bytes.
// It is taken only when the document turns out to be good.
func (d *Decoder) reserve(size int) (*object, []Value) {
	k := d.shape.Len()
	if len(d.objects) == 0 {
		const each = int(unsafe.Sizeof(object{}))
		n := min(max(1, chunkBytes/(each+k*int(unsafe.Sizeof(Value{}))+size)), chunkObjects)
		d.objects = make([]object, n)
		d.slots = make([]Value, n*k)
	}
	o := &d.objects[0]
	o.shape, o.first = d.shape, &d.slots[0]
	return o, d.slots[:k]
}
