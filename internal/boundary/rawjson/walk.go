package rawjson

import (
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// The functions here walk JSON text that a Scanner has found valid. They check nothing.

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
			if m := quoteOrSlash(Load64(s, i)); m != 0 {
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

// Field is one field of an object's text.
type Field struct {
	Name    string // decoded
	Escaped bool   // it was written with escapes
	Value   string // the value's text
}

// Fields walks the fields of one object's text, in its order.
type Fields struct {
	s string
	i int // at a field's name, or at the closing brace
}

// FieldsOf walks the object that is s.
func FieldsOf(s string) Fields { return Fields{s, skipSpace(s, 1)} }

// Next returns the next field; false at the end, and for the zero Fields.
func (f *Fields) Next() (Field, bool) {
	name, escaped, value, ok := f.next()
	if escaped {
		name = Unescape(name)
	}
	return Field{name, escaped, value}, ok
}

// next returns the next field with its name as it is written.
func (f *Fields) next() (name string, escaped bool, value string, ok bool) {
	if f.i >= len(f.s) || f.s[f.i] != '"' {
		return "", false, "", false
	}
	end, escaped := skipString(f.s, f.i)
	start := skipSpace(f.s, skipSpace(f.s, end)+1)
	name = f.s[f.i+1 : end-1]
	end = skipValue(f.s, start)
	f.i = skipComma(f.s, end)
	return name, escaped, f.s[start:end], true
}

// skipComma goes from a value's end to what follows the comma, or to the closing bracket.
func skipComma(s string, i int) int {
	if i = skipSpace(s, i); s[i] == ',' {
		i = skipSpace(s, i+1)
	}
	return i
}

// Find returns the text of the field called name in the object that is s, and whether
// there is one.
func Find(s, name string) (value string, ok bool) {
	for f := FieldsOf(s); ; {
		n, escaped, value, more := f.next()
		if !more {
			return "", false
		}
		if n == name && !escaped || escaped && Unescape(n) == name {
			return value, true
		}
	}
}

// Items walks the items of one list's text.
type Items struct {
	s string
	i int // at an item, or at the closing bracket
}

// ItemsOf walks the list that is s.
func ItemsOf(s string) Items { return Items{s, skipSpace(s, 1)} }

// Next returns the next item's text; false at the end, and for the zero Items.
func (t *Items) Next() (item string, ok bool) {
	if t.i >= len(t.s) || t.s[t.i] == ']' {
		return "", false
	}
	end := skipValue(t.s, t.i)
	item = t.s[t.i:end]
	t.i = skipComma(t.s, end)
	return item, true
}

// Unescape decodes a string's text between its quotes.
func Unescape(s string) string {
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
