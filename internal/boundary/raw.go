package boundary

import (
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// The functions here walk JSON text that a decoder has found valid. They check nothing.

// skipSpace returns the index of the first byte at or after i that is no white space.
func skipSpace(s string, i int) int {
	for i < len(s) && s[i] <= ' ' {
		i++
	}
	return i
}

// skipString returns the index after the string whose opening quote is at i, and
// whether it has an escape.
func skipString(s string, i int) (end int, escaped bool) {
	for i++; ; i += 2 {
		for i+8 <= len(s) {
			if m := quoteOrSlash(load64(s, i)); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		for s[i] != '"' && s[i] != '\\' {
			i++
		}
		if s[i] == '"' {
			return i + 1, escaped
		}
		escaped = true
	}
}

// skipValue returns the index after the value that begins at i.
func skipValue(s string, i int) int {
	switch s[i] {
	case '"':
		end, _ := skipString(s, i)
		return end
	case '{', '[':
	default:
		for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' && s[i] > ' ' {
			i++
		}
		return i
	}
	depth := 0
	for {
		switch s[i] {
		case '"':
			i, _ = skipString(s, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// field is one field of an object's text: where its name and its value are.
type field struct {
	name       string // decoded
	escaped    bool   // it was written with escapes
	start, end int    // the value's text
}

// fields walks the fields of one object's text.
type fields struct {
	s string
	i int // at a field's name, or at the closing brace
}

func fieldsOf(s string) fields { return fields{s, skipSpace(s, 1)} }

// next returns the next field; false at the end.
func (f *fields) next() (field, bool) {
	name, escaped, ok := f.name()
	if !ok {
		return field{}, false
	}
	start := f.i
	f.i = skipValue(f.s, start)
	end := f.i
	f.comma()
	if escaped {
		name = unescape(name)
	}
	return field{name, escaped, start, end}, true
}

// name reads the next name as it is written, and stops at its value.
func (f *fields) name() (name string, escaped, ok bool) {
	if f.s[f.i] != '"' {
		return "", false, false
	}
	end, escaped := skipString(f.s, f.i)
	name = f.s[f.i+1 : end-1]
	f.i = skipSpace(f.s, skipSpace(f.s, end)+1)
	return name, escaped, true
}

// comma goes from a value's end to the next name or the closing brace.
func (f *fields) comma() {
	f.i = skipSpace(f.s, f.i)
	if f.s[f.i] == ',' {
		f.i = skipSpace(f.s, f.i+1)
	}
}

// find returns the text of the field called name and whether there is one.
func find(s, name string) (start, end int, ok bool) {
	for f := fieldsOf(s); ; {
		n, escaped, more := f.name()
		if !more {
			return 0, 0, false
		}
		start = f.i
		f.i = skipValue(s, start)
		if n == name && !escaped || escaped && unescape(n) == name {
			return start, f.i, true
		}
		f.comma()
	}
}

// items walks the items of one list's text.
type items struct {
	s string
	i int // at an item, or at the closing bracket
}

func itemsOf(s string) items { return items{s, skipSpace(s, 1)} }

// next returns where the next item is; false at the end.
func (t *items) next() (start, end int, ok bool) {
	if t.s[t.i] == ']' {
		return 0, 0, false
	}
	start = t.i
	end = skipValue(t.s, start)
	t.i = skipSpace(t.s, end)
	if t.s[t.i] == ',' {
		t.i = skipSpace(t.s, t.i+1)
	}
	return start, end, true
}

// inherit is what the parts of a document know from the whole.
const inherit = flagCanonical | flagPlain

// part is the value whose text is s, a part of the list or object whose num is
// given: its flags hold for the part, and the part is at least one level less deep.
func part(s string, parent uint64) Value {
	switch s[0] {
	case '{', '[':
		num := uint64(len(s)) | parent&inherit | (parent>>depthShift&depthMask-1)<<depthShift
		if s[0] == '{' {
			return Value{num: num, ref: rawObject(unsafe.StringData(s))}
		}
		return Value{num: num, ref: rawList(unsafe.StringData(s))}
	case '"':
		s = s[1 : len(s)-1]
		if parent&flagPlain == 0 && strings.IndexByte(s, '\\') >= 0 {
			s = unescape(s)
		}
		return String(s)
	case 't':
		return Bool(true)
	case 'f':
		return Bool(false)
	case 'n':
		return Null()
	}
	if v, _, ok := short(s, 0); ok {
		return v
	}
	v, _ := scanNumeral(s, 0).value(s, 0)
	return v
}

// unescape decodes a string's text between its quotes.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b = append(b, s...)
			return unsafe.String(unsafe.SliceData(b), len(b)) // b is not written again
		}
		b = append(b, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(s)
			s = s[4:]
			if r >= 0xD800 && r < 0xE000 { // the first half of a pair; the other follows
				r = (r-0xD800)<<10 | (hex4(s[2:]) - 0xDC00) + 0x10000
				s = s[6:]
			}
			b = utf8.AppendRune(b, r)
			continue
		}
		b = append(b, c)
	}
}

// hex4 is the number in the first four hex digits of s, or -1 when there are none such.
func hex4(s string) rune {
	if len(s) < 4 {
		return -1
	}
	r := rune(0)
	for i := range 4 {
		c := s[i]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
