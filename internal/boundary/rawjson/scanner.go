package rawjson

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// The codes of an [Error].
const (
	CodeInvalidJSON      = "invalid_json"
	CodeInvalidUTF8      = "invalid_utf8"
	CodeDuplicateKey     = "duplicate_key"
	CodeTooDeep          = "too_deep"
	CodeNumberOutOfRange = "number_out_of_range"
)

// Error says why a text was refused.
type Error struct {
	Code   string // one of the codes above
	Offset int    // the byte at which it was noticed, from 0
	Text   string // for people
}

// Scanner checks one JSON text after another, against RFC 8259 and more strictly: it
// refuses duplicate keys, strings that are not UTF-8 or hold half a surrogate pair, and
// numbers that no float can hold. It does not recurse.
//
// Most methods take the index at which something begins and return the index after it,
// or -1 once something was refused, which Err then tells. The zero Scanner is ready for
// Reset; it belongs to one goroutine.
type Scanner struct {
	s        string
	maxDepth int
	err      Error
	frames   []frame // the lists and objects that are open
	keys     []string
	tables   []keyTable // by depth, for objects with many unordered keys
	deepest  int        // the most frames that were open at once
	// The last places at which the text was not canonical, and had an escape; -1 for
	// none. What begins after them is canonical, or plain.
	loose, escape int
}

// frame is one open list or object.
type frame struct {
	closer  byte // ']' or '}'
	sorted  bool // the keys so far ascend
	keys    int  // where its keys begin in Scanner.keys
	indexed int  // how many of its keys are in its table
}

// Reset begins with the text s, in which lists and objects may nest maxDepth deep.
func (sc *Scanner) Reset(s string, maxDepth int) {
	sc.s, sc.maxDepth = s, maxDepth
	sc.deepest, sc.loose, sc.escape = 0, -1, -1
}

// Err is why the text was refused; it has no meaning when it was not.
func (sc *Scanner) Err() Error { return sc.err }

// keepKeys is how many keys' worth of scratch memory outlives a text.
const keepKeys = 4096

// Free ends a text: it drops what would keep it alive, and scratch memory that has
// grown too large.
func (sc *Scanner) Free() {
	sc.s = ""
	if len(sc.frames) > 0 { // after a failure
		sc.frames = sc.frames[:0]
		clear(sc.keys)
		sc.keys = sc.keys[:0]
	}
	if cap(sc.keys) > keepKeys {
		sc.keys, sc.tables = nil, nil
	}
}

// Fail refuses the text.
func (sc *Scanner) Fail(code string, i int, text string) int {
	sc.err = Error{code, i, text}
	return -1
}

// Unexpected refuses what stands at i, for it is not what is wanted, unless something has failed before.
func (sc *Scanner) Unexpected(i int, want string) int {
	switch {
	case i < 0:
		return -1
	case i >= len(sc.s):
		return sc.Fail(CodeInvalidJSON, len(sc.s), "the document ends where "+want+" should be")
	case i == 0 && len(sc.s) >= 3 && sc.s[:3] == "\uFEFF":
		return sc.Fail(CodeInvalidJSON, 0, "the document begins with a byte order mark; leave it out")
	}
	r, _ := utf8.DecodeRuneInString(sc.s[i:])
	return sc.Fail(CodeInvalidJSON, i, fmt.Sprintf("%q stands where %s should be", r, want))
}

// Canonical reports whether the list or object that began at start and has just ended
// is canonical: no white space, keys in order, every number and string as short as can be.
func (sc *Scanner) Canonical(start int) bool { return sc.loose < start }

// Loosen notes that what began at or before i, and has not ended, is not canonical.
func (sc *Scanner) Loosen(i int) { sc.loose = max(sc.loose, i) }

// Plain reports whether what began at start and has just ended has no escapes.
func (sc *Scanner) Plain(start int) bool { return sc.escape < start }

// Deepest is the most lists and objects that were open at once since Reset.
func (sc *Scanner) Deepest() int { return sc.deepest }

// Space skips white space. A negative i stays as it is.
func (sc *Scanner) Space(i int) int {
	if uint(i) >= uint(len(sc.s)) || sc.s[i] > ' ' {
		return i
	}
	return sc.spaces(i)
}

func (sc *Scanner) spaces(i int) int {
	for i < len(sc.s) {
		switch sc.s[i] {
		case ' ', '\t', '\n', '\r':
			sc.loose = max(sc.loose, i)
			i++
		default:
			return i
		}
	}
	return i
}

// colon skips the colon after a name that ended at i.
func (sc *Scanner) colon(i int) int {
	if i = sc.Space(i); i < len(sc.s) && sc.s[i] == ':' {
		return sc.Space(i + 1)
	}
	return sc.Unexpected(i, "a colon after the field's name")
}

// Skip checks the value at i and makes nothing of it.
func (sc *Scanner) Skip(i int) int {
	if i < len(sc.s) && (sc.s[i] == '{' || sc.s[i] == '[') {
		return sc.nested(i)
	}
	return sc.scalar(i)
}

// scalar checks the value at i, which is no list and no object.
func (sc *Scanner) scalar(i int) int {
	s := sc.s
	if i >= len(s) {
		return sc.Unexpected(i, "a value")
	}
	switch s[i] {
	case '"':
		return sc.Text(i)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, end := sc.Number(i)
		return end
	case 't':
		return sc.Literal(i, "true")
	case 'f':
		return sc.Literal(i, "false")
	case 'n':
		return sc.Literal(i, "null")
	}
	return sc.Unexpected(i, "a value")
}

// Number reads the number at i, where a digit or a minus stands.
func (sc *Scanner) Number(i int) (Number, int) {
	n, end, canonical := few(sc.s, i)
	if canonical {
		return n, end
	}
	sc.loose = i
	if end > 0 {
		return n, end
	}
	return sc.anyNumber(i)
}

// anyNumber is Number for those that are not short.
func (sc *Scanner) anyNumber(i int) (Number, int) {
	n, end, ok := ReadNumber(sc.s, i)
	switch {
	case end == 0:
		end = sc.Fail(CodeInvalidJSON, i, "this is no JSON number; write digits, with no leading zero or plus, and "+
			"digits after a point or an exponent's e")
	case !ok:
		end = sc.Fail(CodeNumberOutOfRange, i, beyond(sc.s[i:end]))
	}
	return n, end
}

// beyond says why the number whose text it is cannot be kept.
func beyond(text string) string {
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) {
		return "the number is larger than 64-bit floats go (about 1.8e308); send it as a string"
	}
	return "the integer does not fit 64 bits with a sign, and a float would change its digits; send it as a string"
}

// Literal checks that word stands at i.
func (sc *Scanner) Literal(i int, word string) int {
	if s := sc.s; len(s)-i < len(word) || s[i:i+len(word)] != word {
		return sc.Fail(CodeInvalidJSON, i, "a value begins like "+word+" and is not; strings need double quotes")
	}
	return i + len(word)
}

// Nested checks the list or object at i, and says how deep lists and objects nest in it.
func (sc *Scanner) Nested(i int) (end, depth int) {
	outer := sc.deepest
	sc.deepest = 0
	end = sc.nested(i)
	depth = sc.deepest - len(sc.frames)
	sc.deepest = max(sc.deepest, outer)
	return end, depth
}

func (sc *Scanner) nested(i int) int {
	floor := len(sc.frames)
	for {
		// A value begins at i.
		opened := i < len(sc.s) && (sc.s[i] == '{' || sc.s[i] == '[')
		if opened {
			i = sc.open(i)
		} else {
			i = sc.scalar(i)
		}
		if i < 0 {
			return -1
		}
		if !opened || sc.Closes(i) {
			if i = sc.close(i, floor); len(sc.frames) == floor {
				return i
			}
			i = sc.Comma(i)
		}
		if i >= 0 && sc.top().closer == '}' {
			_, i = sc.Key(i)
		}
		if i < 0 {
			return -1
		}
	}
}

// open enters the list or object at i and stops at what it begins with.
func (sc *Scanner) open(i int) int {
	if len(sc.frames) >= sc.maxDepth {
		return sc.Fail(CodeTooDeep, i, fmt.Sprintf(
			"lists and objects are nested deeper than %d; flatten the document", sc.maxDepth))
	}
	sc.enter(sc.s[i] + 2) // in ASCII the closing bracket is two after the opening one
	return sc.Space(i + 1)
}

// Enter goes into an object whose opening brace the caller has seen; it must be allowed
// to nest that deep.
func (sc *Scanner) Enter() { sc.enter('}') }

func (sc *Scanner) enter(closer byte) {
	sc.frames = append(sc.frames, frame{closer: closer, sorted: true, keys: len(sc.keys)})
	sc.deepest = max(sc.deepest, len(sc.frames))
}

// top is the innermost list or object that is open.
func (sc *Scanner) top() *frame { return &sc.frames[len(sc.frames)-1] }

// Closes reports whether the innermost list or object is closed at i.
func (sc *Scanner) Closes(i int) bool { return i < len(sc.s) && sc.s[i] == sc.top().closer }

// Leave goes out of the innermost list or object.
func (sc *Scanner) Leave() {
	f := sc.top()
	clear(sc.keys[f.keys:])
	sc.keys = sc.keys[:f.keys]
	sc.frames = sc.frames[:len(sc.frames)-1]
}

// close leaves every list and object that ends at i, until only floor are open, and
// returns the index after the last.
func (sc *Scanner) close(i, floor int) int {
	for i = sc.Space(i); sc.Closes(i); i = sc.Space(i) {
		sc.Leave()
		i++
		if len(sc.frames) == floor {
			break
		}
	}
	return i
}

// Comma skips the comma that must stand at i, for the list or object is not closed there.
func (sc *Scanner) Comma(i int) int {
	switch {
	case i < len(sc.s) && sc.s[i] == ',':
		return sc.Space(i + 1)
	case sc.top().closer == '}':
		return sc.Unexpected(i, "a comma or the closing brace of the object")
	}
	return sc.Unexpected(i, "a comma or the closing bracket of the list")
}
