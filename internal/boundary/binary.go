package boundary

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// The first byte of a value's binary form. Checkpoints hold these: a tag is never
// given another meaning.
const (
	tagAbsent   = 0
	tagNull     = 1
	tagFalse    = 2
	tagTrue     = 3
	tagInt      = 4  // a signed varint
	tagFloat    = 5  // eight bytes, the lowest first
	tagString   = 6  // its length and its bytes
	tagTime     = 7  // a signed varint
	tagDuration = 8  // a signed varint
	tagList     = 9  // how many, and that many values
	tagObject   = 10 // how many, that many names, and that many values
	tagJSON     = 11 // a list or object as JSON text: its length and its bytes
	tagTable    = 12 // a table, whose rows are kept elsewhere
)

// AppendBinary appends v in the form that checkpoints keep. [DecodeBinary] gives back
// an equal value of the same kinds throughout. Documents go in as their text.
func (v Value) AppendBinary(dst []byte) []byte {
	switch r := v.ref.(type) {
	case Kind:
		return v.appendBinaryScalar(dst, r)
	case text:
		return appendBytes(append(dst, tagString), unsafe.String(r, int(v.num)))
	case built:
		dst = binary.AppendUvarint(append(dst, tagList), uint64(v.length()))
		for _, item := range v.items(r) {
			dst = item.AppendBinary(dst)
		}
		return dst
	case *object:
		if r.text == nil {
			return r.appendBinary(dst, v.length())
		}
	case *table:
		return append(dst, tagTable)
	}
	if s, ok := v.raw(); ok {
		return appendBytes(append(dst, tagJSON), s)
	}
	return append(dst, tagAbsent)
}

func (v Value) appendBinaryScalar(dst []byte, k Kind) []byte {
	switch k {
	case KindBool:
		return append(dst, tagFalse+byte(v.num))
	case KindInt:
		return binary.AppendVarint(append(dst, tagInt), int64(v.num))
	case KindFloat:
		return binary.LittleEndian.AppendUint64(append(dst, tagFloat), v.num)
	case KindTime:
		return binary.AppendVarint(append(dst, tagTime), int64(v.num))
	case KindDuration:
		return binary.AppendVarint(append(dst, tagDuration), int64(v.num))
	}
	return append(dst, tagNull)
}

// appendBinary writes the names first, all together, so that a reader sees at once
// whether it knows the shape.
func (o *object) appendBinary(dst []byte, present int) []byte {
	dst = binary.AppendUvarint(append(dst, tagObject), uint64(present))
	for i, slot := range o.slots() {
		if slot.ref != nil {
			dst = appendBytes(dst, o.shape.names[i])
		}
	}
	for _, slot := range o.slots() {
		if slot.ref != nil {
			dst = slot.AppendBinary(dst)
		}
	}
	return dst
}

func appendBytes(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// cutBytes splits off what appendBytes wrote.
func cutBytes(b []byte) (head, rest []byte, ok bool) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, false
	}
	return b[k : k+int(n)], b[k+int(n):], true
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// DecodeBinary reads one value that AppendBinary wrote and returns what follows it.
// The value does not share memory with b. Any bytes may be given: what AppendBinary
// cannot have written is an error that wraps [ErrCorrupt], and memory stays within a
// small multiple of b.
func DecodeBinary(b []byte) (v Value, rest []byte, err error) {
	r := binaryReader{b: b}
	v, err = r.value(0)
	if err != nil {
		return Value{}, nil, err
	}
	return v, r.b, nil
}

// Shapes shares the shapes of values that are decoded one after the other: objects of the same fields are
// as small together as they were. The zero Shapes is ready to be used.
type Shapes struct{ known map[string]*Shape }

// maxShapes bounds the shapes that are remembered: what has more has hardly two of one.
const maxShapes = 1024

// DecodeBinary is [DecodeBinary] with the shapes that are known.
func (s *Shapes) DecodeBinary(b []byte) (v Value, rest []byte, err error) {
	if len(s.known) > maxShapes {
		s.known = nil
	}
	r := binaryReader{b: b, shapes: s.known}
	v, err = r.value(0)
	if s.known = r.shapes; err != nil {
		return Value{}, nil, err
	}
	return v, r.b, nil
}

// binaryReader reads values from b, which shrinks.
type binaryReader struct {
	b       []byte
	scanner rawjson.Scanner
	shapes  map[string]*Shape // by the bytes of their names
}

func (r *binaryReader) value(depth int) (Value, error) {
	if len(r.b) == 0 {
		return Value{}, corrupt("a value is missing")
	}
	tag := r.b[0]
	r.b = r.b[1:]
	switch tag {
	case tagAbsent:
		return Value{}, nil
	case tagNull:
		return Null(), nil
	case tagTable:
		return Table(nil), nil
	case tagFalse, tagTrue:
		return Bool(tag == tagTrue), nil
	case tagInt, tagTime, tagDuration:
		i, n := binary.Varint(r.b)
		if n <= 0 {
			return Value{}, corrupt("a number is cut short")
		}
		r.b = r.b[n:]
		kind := [...]Kind{tagInt: KindInt, tagTime: KindTime, tagDuration: KindDuration}[tag]
		return Value{num: uint64(i), ref: kind}, nil
	case tagFloat:
		return r.float()
	case tagString, tagJSON:
		head, rest, ok := cutBytes(r.b)
		if !ok {
			return Value{}, corrupt("a text is cut short")
		}
		r.b = rest
		if tag == tagString {
			return String(string(head)), nil
		}
		return r.document(string(head), depth)
	case tagList, tagObject:
		if depth >= MaxDepth {
			return Value{}, corrupt("lists and objects are nested too deep")
		}
		if tag == tagList {
			return r.list(depth)
		}
		return r.object(depth)
	}
	return Value{}, corrupt("there is no kind of value %d", tag)
}

func (r *binaryReader) float() (Value, error) {
	if len(r.b) < 8 {
		return Value{}, corrupt("a number is cut short")
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	if f-f != 0 {
		return Value{}, corrupt("a number is not finite")
	}
	return float(f), nil
}

func (r *binaryReader) document(s string, depth int) (Value, error) {
	if s == "" || s[0] != '{' && s[0] != '[' {
		return Value{}, corrupt("a document is neither list nor object")
	}
	sc := &r.scanner
	sc.Reset(s, MaxDepth-depth)
	defer sc.Free()
	v, end := read(sc, s, 0)
	if end < 0 {
		return Value{}, corrupt("a document is not valid: %v", decodeError(sc))
	}
	if end != len(s) {
		return Value{}, corrupt("something follows a document")
	}
	return v, nil
}

// count reads a number of things of at least one byte each.
func (r *binaryReader) count() (int, error) {
	n, k := binary.Uvarint(r.b)
	if k <= 0 || n > uint64(len(r.b)-k) {
		return 0, corrupt("a list or object is cut short")
	}
	r.b = r.b[k:]
	return int(n), nil
}

func (r *binaryReader) list(depth int) (Value, error) {
	n, err := r.count()
	if err != nil {
		return Value{}, err
	}
	items, err := r.values(n, depth)
	if err != nil {
		return Value{}, err
	}
	return List(items), nil
}

func (r *binaryReader) object(depth int) (Value, error) {
	names := r.b
	n, err := r.count()
	if err != nil {
		return Value{}, err
	}
	for i := range n {
		var ok bool
		if _, r.b, ok = cutBytes(r.b); !ok {
			return Value{}, corrupt("the name of field %d is cut short", i)
		}
	}
	shape, err := r.shape(names[:len(names)-len(r.b)], n)
	if err != nil {
		return Value{}, err
	}
	slots, err := r.values(n, depth)
	if err != nil {
		return Value{}, err
	}
	return Object(shape, slots), nil
}

// values reads the n values of a list or object at depth. Room for them is made as
// they come: n is only what the data says.
func (r *binaryReader) values(n, depth int) ([]Value, error) {
	vs := make([]Value, 0, min(n, 64))
	for range n {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// shape returns the shape whose names, with their number before them, are in b.
func (r *binaryReader) shape(b []byte, n int) (*Shape, error) {
	if s, ok := r.shapes[string(b)]; ok {
		return s, nil
	}
	_, k := binary.Uvarint(b)
	names := make([]string, 0, n)
	seen := make(map[string]bool, n)
	for rest := b[k:]; len(rest) > 0; {
		var name []byte
		name, rest, _ = cutBytes(rest)
		if seen[string(name)] {
			return nil, corrupt("an object has the field %s twice", strconv.Quote(string(name)))
		}
		names = append(names, string(name))
		seen[string(name)] = true
	}
	s := NewShape(names...)
	if r.shapes == nil {
		r.shapes = make(map[string]*Shape)
	}
	r.shapes[string(b)] = s
	return s, nil
}
