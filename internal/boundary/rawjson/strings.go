package rawjson

import (
	"math/bits"
	"unicode/utf8"
)

// Text checks the string whose opening quote is at i.
func (sc *Scanner) Text(i int) int {
	s := sc.s
	i++
	for {
		for i+8 <= len(s) {
			if m := special(Load64(s, i)); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		for i < len(s) && s[i] < utf8.RuneSelf && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
			i++
		}
		if i >= len(s) {
			return sc.Fail(CodeInvalidJSON, len(s), "the document ends inside a string")
		}
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i = sc.escaped(i)
		case c < ' ':
			return sc.Fail(CodeInvalidJSON, i, "a string holds a control character; write it as an escape")
		default:
			i = sc.runes(i)
		}
		if i < 0 {
			return -1
		}
	}
}

// Load64 is the eight bytes of s from i, the first of them lowest.
func Load64(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// The two functions below look at eight bytes at once. They mark, by its high bit,
// the first byte of a kind; bytes above it may be marked wrongly, for the
// subtractions borrow.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// quoteOrSlash marks a quote or a backslash.
func quoteOrSlash(x uint64) uint64 {
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// special marks what a string cannot simply hold: a quote, a backslash, a control
// character, or a byte beyond ASCII.
func special(x uint64) uint64 {
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote - ones) | (slash - ones) | (x - ones*' ') | x) & highs
}

// runes checks the characters beyond ASCII at i.
func (sc *Scanner) runes(i int) int {
	s := sc.s
	for i < len(s) && s[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return sc.Fail(CodeInvalidUTF8, i, "a string is not valid UTF-8; convert the text before it is sent")
		}
		i += n
	}
	return i
}

// escaped checks the escape whose backslash is at i.
func (sc *Scanner) escaped(i int) int {
	s := sc.s
	sc.escape, sc.loose = i, i
	if i+1 >= len(s) {
		return sc.Fail(CodeInvalidJSON, len(s), "the document ends inside a string")
	}
	switch s[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return sc.Fail(CodeInvalidJSON, i, `JSON has no such escape; a backslash itself is written \\`)
	}
	r := hex4(s[i+2:])
	switch {
	case r < 0:
		return sc.Fail(CodeInvalidJSON, i, `\u needs four hex digits`)
	case r < 0xD800 || r > 0xDFFF:
		return i + 6
	case r < 0xDC00 && len(s) >= i+12 && s[i+6:i+8] == `\u`:
		if low := hex4(s[i+8:]); low >= 0xDC00 && low <= 0xDFFF {
			return i + 12
		}
	}
	return sc.Fail(CodeInvalidUTF8, i, `half a surrogate pair; characters beyond \uFFFF are written as two \u escapes`)
}
