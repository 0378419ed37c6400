package wire

import (
	"unicode/utf8"

	"github.com/graphd/graphd/internal/api"
)

// MaxDepth is the deepest nesting the scanner can follow.
const MaxDepth = 1000

// Bad is why a text is not JSON, and the byte at which that shows. The zero Bad
// means that the text is JSON.
type Bad struct {
	Code   string
	Offset int
}

// Is reports whether there is something bad.
func (b Bad) Is() bool { return b.Code != "" }

// Validate checks that b is one JSON value in UTF-8, at most maxDepth deep, and nothing
// else but white space. Duplicate keys and the range of numbers are the accumulator's to judge.
func Validate(b []byte, maxDepth int) Bad {
	if !utf8.Valid(b) {
		return Bad{api.CodeInvalidUTF8, firstInvalid(b)}
	}
	i, bad := SkipValue(b, SkipSpace(b, 0), maxDepth)
	if bad.Is() {
		return bad
	}
	if i = SkipSpace(b, i); i != len(b) {
		return Bad{api.CodeInvalidJSON, i}
	}
	return Bad{}
}

func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// SkipSpace returns the index of the first byte from b[i] on that is not white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// nesting is a stack of one bit a level: set for an object, clear for an array.
type nesting struct {
	bits  [(MaxDepth + 63) / 64]uint64
	depth int
}

func (n *nesting) push(object bool) {
	if object {
		n.bits[n.depth/64] |= 1 << (n.depth % 64)
	} else {
		n.bits[n.depth/64] &^= 1 << (n.depth % 64)
	}
	n.depth++
}

func (n *nesting) inObject() bool {
	d := n.depth - 1
	return n.bits[d/64]&(1<<(d%64)) != 0
}

// SkipValue checks the JSON value that begins at b[i] and returns the index just
// after it. It does not recurse: hostile nesting costs no stack.
func SkipValue(b []byte, i, maxDepth int) (int, Bad) {
	if i < len(b) && b[i] != '{' && b[i] != '[' {
		return skipScalar(b, i)
	}
	var in nesting
	for {
		// A value begins at b[i].
		i = SkipSpace(b, i)
		var bad Bad
		switch {
		case i == len(b):
			return i, Bad{api.CodeInvalidJSON, i}
		case b[i] == '{' || b[i] == '[':
			if in.depth == maxDepth {
				return i, Bad{api.CodeTooDeep, i}
			}
			in.push(b[i] == '{')
			i = SkipSpace(b, i+1)
			if i < len(b) && b[i] == closing(&in) {
				break // empty: falls to the closing below
			}
			if in.inObject() {
				i, bad = skipKey(b, i)
			}
			if bad.Is() {
				return i, bad
			}
			continue
		default:
			if i, bad = skipScalar(b, i); bad.Is() {
				return i, bad
			}
		}
		// A value has ended before b[i], or an empty one ends at it.
		for {
			i = SkipSpace(b, i)
			if i == len(b) {
				return i, Bad{api.CodeInvalidJSON, i}
			}
			if b[i] != closing(&in) {
				break
			}
			i++
			if in.depth--; in.depth == 0 {
				return i, Bad{}
			}
		}
		if b[i] != ',' {
			return i, Bad{api.CodeInvalidJSON, i}
		}
		i = SkipSpace(b, i+1)
		if in.inObject() {
			if i, bad = skipKey(b, i); bad.Is() {
				return i, bad
			}
		}
	}
}

func closing(in *nesting) byte {
	if in.inObject() {
		return '}'
	}
	return ']'
}

// skipKey checks a member's name and colon.
func skipKey(b []byte, i int) (int, Bad) {
	if i == len(b) || b[i] != '"' {
		return i, Bad{api.CodeInvalidJSON, i}
	}
	i, bad := SkipString(b, i)
	if bad.Is() {
		return i, bad
	}
	if i = SkipSpace(b, i); i == len(b) || b[i] != ':' {
		return i, Bad{api.CodeInvalidJSON, i}
	}
	return i + 1, Bad{}
}

func skipScalar(b []byte, i int) (int, Bad) {
	switch c := b[i]; {
	case c == '"':
		return SkipString(b, i)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipLiteral(b, i, "true")
	case c == 'f':
		return skipLiteral(b, i, "false")
	case c == 'n':
		return skipLiteral(b, i, "null")
	}
	return i, Bad{api.CodeInvalidJSON, i}
}

func skipLiteral(b []byte, i int, want string) (int, Bad) {
	if len(b)-i < len(want) || string(b[i:i+len(want)]) != want {
		return i, Bad{api.CodeInvalidJSON, i}
	}
	return i + len(want), Bad{}
}

// SkipString checks the string that begins with the quote at b[i].
func SkipString(b []byte, i int) (int, Bad) {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, Bad{}
		case c < 0x20:
			return i, Bad{api.CodeInvalidJSON, i}
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, Bad{api.CodeInvalidJSON, i}
			}
			i += n - 1
		}
	}
	return i, Bad{api.CodeInvalidJSON, i}
}

// escapeLen is the length of the escape sequence at the start of b, 0 when it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func skipNumber(b []byte, i int) (int, Bad) {
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		n := skipDigits(b, i)
		if n == i {
			return i, Bad{api.CodeInvalidJSON, i}
		}
		i = n
	}
	if i < len(b) && b[i] == '.' {
		n := skipDigits(b, i+1)
		if n == i+1 {
			return n, Bad{api.CodeInvalidJSON, n}
		}
		i = n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := skipDigits(b, i)
		if n == i {
			return i, Bad{api.CodeInvalidJSON, i}
		}
		i = n
	}
	return i, Bad{}
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
