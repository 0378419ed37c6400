// Package text finds places in the text of a document. Editors count lines from 0 and, within a line, the units of
// UTF-16 from 0; diagnostics count lines and characters from 1, as YAML does, for which some characters of Unicode end
// a line that do not end one for editors.
//
// Start with [New]. All places are made to fit: one that is not in the text is the nearest that is. A [Text] is
// immutable.
package text

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Position is a place as editors count.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is from a place up to another.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Text is the text of a document.
type Text struct {
	all         string
	lines, rows []int // the offsets at which the lines of editors and those of YAML begin
}

// New is a text with its lines.
func New(all string) *Text {
	t := &Text{all: all, lines: []int{0}, rows: []int{0}}
	for i := 0; i < len(all); {
		n, editors := breakAt(all[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		t.rows = append(t.rows, i)
		if editors {
			t.lines = append(t.lines, i)
		}
	}
	return t
}

// breakAt is the length of the line end that a text begins with, 0 for none, and whether editors see one there.
func breakAt(s string) (n int, editors bool) {
	switch c := s[0]; {
	case c > '\r' && c != 0xc2 && c != 0xe2: // nearly all there are
		return 0, false
	case strings.HasPrefix(s, "\r\n"):
		return 2, true
	case c == '\n', c == '\r':
		return 1, true
	case strings.HasPrefix(s, "\u0085"):
		return 2, false
	case strings.HasPrefix(s, "\u2028"), strings.HasPrefix(s, "\u2029"):
		return 3, false
	}
	return 0, false
}

// String is all of the text.
func (t *Text) String() string { return t.all }

// Offset is the byte at which a place of an editor is; one within a character is the character's.
func (t *Text) Offset(p Position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.all)
	}
	at, end := t.lines[p.Line], t.endOf(p.Line)
	for units := 0; at < end; {
		r, n := utf8.DecodeRuneInString(t.all[at:])
		if units += width(r); units > p.Character {
			break
		}
		at += n
	}
	return at
}

// endOf is where a line of editors ends, before its line end.
func (t *Text) endOf(line int) int {
	if line+1 == len(t.lines) {
		return len(t.all)
	}
	end := t.lines[line+1] - 1
	if end > t.lines[line] && t.all[end] == '\n' && t.all[end-1] == '\r' {
		end--
	}
	return end
}

// width is how many units of UTF-16 a character has.
func width(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// Position is the place of a byte.
func (t *Text) Position(offset int) Position {
	offset = min(max(offset, 0), len(t.all))
	line := sort.SearchInts(t.lines, offset+1) - 1
	p := Position{Line: line}
	for _, r := range t.all[t.lines[line]:min(offset, t.endOf(line))] {
		p.Character += width(r)
	}
	return p
}

// Range is from a byte up to another.
func (t *Text) Range(from, to int) Range { return Range{t.Position(from), t.Position(max(from, to))} }

// At is the byte at which a place of a diagnostic is.
func (t *Text) At(line, column int) int {
	if line < 1 {
		return 0
	}
	if line > len(t.rows) {
		return len(t.all)
	}
	at, end := t.rows[line-1], len(t.all)
	if line < len(t.rows) {
		end = t.rows[line]
	}
	for ; column > 1 && at < end; column-- {
		_, n := utf8.DecodeRuneInString(t.all[at:])
		at += n
	}
	return at
}

// Marked is what a diagnostic at a byte is to be shown under: the word or the text in quotes there, within its line.
func (t *Text) Marked(at int) Range {
	at = min(max(at, 0), len(t.all))
	line := sort.SearchInts(t.lines, at+1) - 1
	rest := t.all[at:max(at, t.endOf(line))]
	n := strings.IndexAny(rest, " \t,:{}[]#\"'")
	switch {
	case rest == "":
		return t.Range(at, at)
	case n == 0 && (rest[0] == '"' || rest[0] == '\''):
		if n = strings.IndexByte(rest[1:], rest[0]) + 2; n == 1 {
			n = len(rest)
		}
	case n == 0:
		_, n = utf8.DecodeRuneInString(rest)
	case n < 0:
		n = len(rest)
	}
	return t.Range(at, at+n)
}

// Replace is the text with another in the place of a part of it.
func (t *Text) Replace(r Range, by string) string {
	from, to := t.Offset(r.Start), t.Offset(r.End)
	return t.all[:from] + by + t.all[max(from, to):]
}

// Begin is the first byte of a line of YAML, from 1, behind its spaces and the dash of an item.
func (t *Text) Begin(line int) int {
	at := t.At(line, 1)
	for at < len(t.all) && (t.all[at] == ' ' || strings.HasPrefix(t.all[at:], "- ")) {
		at++
	}
	return at
}
