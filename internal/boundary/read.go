package boundary

import (
	"strings"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// read checks the value at i of sc's text s, and returns it and the index after it, or
// -1 when it was refused.
func read(sc *rawjson.Scanner, s string, i int) (Value, int) {
	if i >= len(s) {
		return Value{}, sc.Unexpected(i, "a value")
	}
	switch s[i] {
	case '"':
		end := sc.Text(i)
		if end < 0 {
			return Value{}, -1
		}
		if in := s[i+1 : end-1]; sc.Plain(i) {
			return String(in), end
		} else {
			return String(rawjson.Unescape(in)), end
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n, end := sc.Number(i)
		return number(n), end
	case '{', '[':
		end, depth := sc.Nested(i)
		if end < 0 {
			return Value{}, -1
		}
		return nested(s[i:end], flags(sc, i)|uint64(depth)<<depthShift), end
	case 't':
		return Bool(true), sc.Literal(i, "true")
	case 'f':
		return Bool(false), sc.Literal(i, "false")
	case 'n':
		return Null(), sc.Literal(i, "null")
	}
	return Value{}, sc.Unexpected(i, "a value")
}

// flags are the flags of a list or object that began at start and has just ended.
func flags(sc *rawjson.Scanner, start int) uint64 {
	var f uint64
	if sc.Canonical(start) {
		f = flagCanonical
	}
	if sc.Plain(start) {
		f |= flagPlain
	}
	return f
}

func number(n rawjson.Number) Value {
	if n.Float {
		return Value{num: n.Bits, ref: KindFloat}
	}
	return Value{num: n.Bits, ref: KindInt}
}

// nested is the list or object whose valid text is s, with its flags and depth.
func nested(s string, num uint64) Value {
	num |= uint64(len(s))
	if s[0] == '{' {
		return Value{num: num, ref: rawObject(unsafe.StringData(s))}
	}
	return Value{num: num, ref: rawList(unsafe.StringData(s))}
}

// inherit is what the parts of a document know from the whole.
const inherit = flagCanonical | flagPlain

// part is the value whose text is s, a part of the list or object whose num is
// given: its flags hold for the part, and the part is at least one level less deep.
func part(s string, parent uint64) Value {
	switch s[0] {
	case '{', '[':
		return nested(s, parent&inherit|(parent>>depthShift&depthMask-1)<<depthShift)
	case '"':
		s = s[1 : len(s)-1]
		if parent&flagPlain == 0 && strings.IndexByte(s, '\\') >= 0 {
			s = rawjson.Unescape(s)
		}
		return String(s)
	case 't':
		return Bool(true)
	case 'f':
		return Bool(false)
	case 'n':
		return Null()
	}
	n, _, _ := rawjson.ReadNumber(s, 0)
	return number(n)
}

// ParseNumber reads text that is one JSON number and nothing else: an int when it is
// an integer that fits, otherwise a float. It is false for everything else, such as
// "NaN", "+1", "0x1p-2" and numbers beyond the range of a float.
func ParseNumber(text string) (Value, bool) {
	if text == "" || text[0] != '-' && text[0]-'0' > 9 {
		return Value{}, false
	}
	n, end, ok := rawjson.ReadNumber(text, 0)
	if !ok || end != len(text) {
		return Value{}, false
	}
	return number(n), true
}
