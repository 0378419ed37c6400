package boundary

import (
	"fmt"
	"unicode/utf8"
)

// scanner checks JSON text. Its methods take the index at which something begins and
// return the index after it, or -1 after fail. None recurses, however deep the text.
type scanner struct {
	s        string
	maxDepth int
	err      DecodeError
	frames   []frame // the lists and objects that are open
	keys     []string
	tables   []keyTable // by depth, for objects with many unordered keys
	deepest  int        // the most frames that were open at once
	// The last places at which the text was not as AppendJSON would write it, and
	// had an escape; -1 for none. What begins after them is canonical, or plain.
	loose, escape int
}

// frame is one open list or object.
type frame struct {
	closer  byte // ']' or '}'
	sorted  bool // the keys so far ascend
	keys    int  // where its keys begin in scanner.keys
	indexed int  // how many of its keys are in its table
}

func (sc *scanner) reset(s string, maxDepth int) {
	sc.s, sc.maxDepth = s, maxDepth
	sc.deepest, sc.loose, sc.escape = 0, -1, -1
	sc.err = DecodeError{}
}

// keepKeys is how many keys' worth of scratch memory outlives a document.
const keepKeys = 4096

// release drops what would keep the document alive.
func (sc *scanner) release() {
	sc.s = ""
	sc.frames = sc.frames[:0]
	if cap(sc.keys) > keepKeys {
		sc.keys, sc.tables = nil, nil
		return
	}
	clear(sc.keys) // after a failure
	sc.keys = sc.keys[:0]
}

func (sc *scanner) fail(code string, i int, text string) int {
	sc.err = DecodeError{code, i, text}
	return -1
}

// unexpected fails at i, unless something has failed before.
func (sc *scanner) unexpected(i int, want string) int {
	switch {
	case i < 0:
		return -1
	case i >= len(sc.s):
		return sc.fail(CodeInvalidJSON, len(sc.s), "the document ends where "+want+" should be")
	case i == 0 && len(sc.s) >= 3 && sc.s[:3] == "\uFEFF":
		return sc.fail(CodeInvalidJSON, 0, "the document begins with a byte order mark; leave it out")
	}
	r, _ := utf8.DecodeRuneInString(sc.s[i:])
	return sc.fail(CodeInvalidJSON, i, fmt.Sprintf("%q stands where %s should be", r, want))
}

// flags are the flags of a list or object that began at start and has just ended.
func (sc *scanner) flags(start int) uint64 {
	var f uint64
	if sc.loose < start {
		f = flagCanonical
	}
	if sc.escape < start {
		f |= flagPlain
	}
	return f
}

// space skips white space. A negative i stays as it is.
func (sc *scanner) space(i int) int {
	if uint(i) >= uint(len(sc.s)) || sc.s[i] > ' ' {
		return i
	}
	return sc.spaces(i)
}

func (sc *scanner) spaces(i int) int {
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
func (sc *scanner) colon(i int) int {
	if i = sc.space(i); i < len(sc.s) && sc.s[i] == ':' {
		return sc.space(i + 1)
	}
	return sc.unexpected(i, "a colon after the field's name")
}

// value reads the value at i.
func (sc *scanner) value(i int) (Value, int) {
	s := sc.s
	if i >= len(s) {
		return Value{}, sc.unexpected(i, "a value")
	}
	switch c := s[i]; c {
	case '"':
		end := sc.text(i)
		if end < 0 {
			return Value{}, -1
		}
		if in := s[i+1 : end-1]; sc.escape < i {
			return String(in), end
		} else {
			return String(unescape(in)), end
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return sc.number(i)
	case '{', '[':
		outer := sc.deepest
		sc.deepest = 0
		end := sc.nested(i)
		if end < 0 {
			return Value{}, -1
		}
		num := sc.flags(i) | uint64(sc.deepest-len(sc.frames))<<depthShift | uint64(end-i)
		sc.deepest = max(sc.deepest, outer)
		v := part(s[i:end], flagCanonical) // only for its kind
		v.num = num
		return v, end
	case 't':
		return Bool(true), sc.literal(i, "true")
	case 'f':
		return Bool(false), sc.literal(i, "false")
	case 'n':
		return Null(), sc.literal(i, "null")
	}
	return Value{}, sc.unexpected(i, "a value")
}

// skip checks the value at i and makes nothing of it.
func (sc *scanner) skip(i int) int {
	if i < len(sc.s) && (sc.s[i] == '{' || sc.s[i] == '[') {
		return sc.nested(i)
	}
	return sc.scalar(i)
}

// scalar checks the value at i, which is no list and no object.
func (sc *scanner) scalar(i int) int {
	s := sc.s
	if i >= len(s) {
		return sc.unexpected(i, "a value")
	}
	switch s[i] {
	case '"':
		return sc.text(i)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, end := sc.number(i)
		return end
	case 't':
		return sc.literal(i, "true")
	case 'f':
		return sc.literal(i, "false")
	case 'n':
		return sc.literal(i, "null")
	}
	return sc.unexpected(i, "a value")
}

// number reads the number at i.
func (sc *scanner) number(i int) (Value, int) {
	if v, end, ok := short(sc.s, i); ok {
		return v, end
	}
	return sc.anyNumber(i)
}

// anyNumber is number for the others.
func (sc *scanner) anyNumber(i int) (Value, int) {
	n := scanNumeral(sc.s, i)
	if n.end == 0 {
		return Value{}, sc.badNumber(i)
	}
	sc.loose = i
	v, ok := n.value(sc.s, i)
	if !ok {
		return Value{}, sc.outOfRange(i)
	}
	return v, n.end
}

func (sc *scanner) badNumber(i int) int {
	return sc.fail(CodeInvalidJSON, i, "this is no JSON number; write digits, with no leading zero or plus, and digits after a point or an exponent's e")
}

func (sc *scanner) outOfRange(i int) int {
	return sc.fail(CodeNumberOutOfRange, i, "the number is larger than 64-bit floats go (about 1.8e308); send it as a string")
}

func (sc *scanner) literal(i int, word string) int {
	if s := sc.s; len(s)-i < len(word) || s[i:i+len(word)] != word {
		return sc.fail(CodeInvalidJSON, i, "a value begins like "+word+" and is not; strings need double quotes")
	}
	return i + len(word)
}

// nested checks the list or object at i.
func (sc *scanner) nested(i int) int {
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
		if !opened || sc.closes(i) {
			if i = sc.close(i, floor); len(sc.frames) == floor {
				return i
			}
			i = sc.comma(i)
		}
		if i >= 0 && sc.top().closer == '}' {
			_, i = sc.key(i)
		}
		if i < 0 {
			return -1
		}
	}
}

// open enters the list or object at i and stops at what it begins with.
func (sc *scanner) open(i int) int {
	if len(sc.frames) >= sc.maxDepth {
		return sc.fail(CodeTooDeep, i, fmt.Sprintf(
			"lists and objects are nested deeper than %d; flatten the document or raise the limit", sc.maxDepth))
	}
	sc.push(sc.s[i] + 2) // in ASCII the closing bracket is two after the opening one
	return sc.space(i + 1)
}

func (sc *scanner) push(closer byte) {
	sc.frames = append(sc.frames, frame{closer: closer, sorted: true, keys: len(sc.keys)})
	sc.deepest = max(sc.deepest, len(sc.frames))
}

// top is the innermost list or object that is open.
func (sc *scanner) top() *frame { return &sc.frames[len(sc.frames)-1] }

// closes reports whether the innermost list or object is closed at i.
func (sc *scanner) closes(i int) bool { return i < len(sc.s) && sc.s[i] == sc.top().closer }

// pop leaves the innermost list or object.
func (sc *scanner) pop() {
	f := sc.top()
	clear(sc.keys[f.keys:])
	sc.keys = sc.keys[:f.keys]
	sc.frames = sc.frames[:len(sc.frames)-1]
}

// close leaves every list and object that ends at i, until only floor are open, and
// returns the index after the last.
func (sc *scanner) close(i, floor int) int {
	for i = sc.space(i); sc.closes(i); i = sc.space(i) {
		sc.pop()
		i++
		if len(sc.frames) == floor {
			break
		}
	}
	return i
}

// comma skips the comma that must stand at i, for the list or object is not closed there.
func (sc *scanner) comma(i int) int {
	switch {
	case i < len(sc.s) && sc.s[i] == ',':
		return sc.space(i + 1)
	case sc.top().closer == '}':
		return sc.unexpected(i, "a comma or the closing brace of the object")
	}
	return sc.unexpected(i, "a comma or the closing bracket of the list")
}
