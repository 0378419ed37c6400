package document

import (
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Source is the text of a declaration with an index of its lines. It counts
// lines and columns as the YAML reader does: columns in characters, from 1.
type Source struct {
	text   string
	starts []int // the byte offset at which each line starts
}

func newSource(text string) *Source {
	s := &Source{text: text, starts: []int{0}}
	for i := 0; i < len(text); {
		n := breakLen(text[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		s.starts = append(s.starts, i)
	}
	return s
}

// breakLen is the length of the line break that text starts with, 0 for none.
// YAML ends lines at the Unicode separators too.
func breakLen(text string) int {
	switch {
	case strings.HasPrefix(text, "\r\n"):
		return 2
	case text[0] == '\n' || text[0] == '\r':
		return 1
	case strings.HasPrefix(text, "\u0085"):
		return 2
	case strings.HasPrefix(text, "\u2028"), strings.HasPrefix(text, "\u2029"):
		return 3
	}
	return 0
}

// Offset is the byte offset of a place, within the text.
func (s *Source) Offset(line, column int) int {
	if line < 1 {
		return 0
	}
	if line > len(s.starts) {
		return len(s.text)
	}
	at := s.starts[line-1]
	for ; column > 1 && at < len(s.text); column-- {
		_, n := utf8.DecodeRuneInString(s.text[at:])
		at += n
	}
	return at
}

// From is the text from a byte offset on.
func (s *Source) From(offset int) string { return s.text[offset:] }

// Place is the line and column of a byte offset.
func (s *Source) Place(offset int) (line, column int) {
	offset = min(max(offset, 0), len(s.text))
	line = sort.SearchInts(s.starts, offset+1)
	return line, utf8.RuneCountInString(s.text[s.starts[line-1]:offset]) + 1
}

// HasColon reports whether a plain key has a colon behind it: without one, it is a key for YAML alone.
func (s *Source) HasColon(key *yaml.Node) bool {
	rest, ok := strings.CutPrefix(s.text[s.Offset(key.Line, key.Column):], key.Value)
	return ok && strings.HasPrefix(strings.TrimLeft(rest, " \t"), ":")
}

// line is the text of a line (from 1) without its break, and where it starts.
func (s *Source) line(n int) (text string, start int) {
	start = s.starts[n-1]
	end := len(s.text)
	if n < len(s.starts) {
		end = s.starts[n]
	}
	return strings.TrimRight(s.text[start:end], "\r\n\u0085\u2028\u2029"), start
}

// bareTags lists the places of a ! that has white space behind it, in order.
func (s *Source) bareTags() []place {
	var list []place
	for i, start := range s.starts {
		end := len(s.text)
		if i+1 < len(s.starts) {
			end = s.starts[i+1]
		}
		column := 0
		for at, r := range s.text[start:end] {
			column++
			if next := start + at + 1; r == '!' && (next == len(s.text) || isSpace(s.text[next])) {
				list = append(list, place{line: i + 1, column: column})
			}
		}
	}
	return list
}

// place is a line and a column.
type place struct{ line, column int }

func (p place) compare(q place) int {
	if p.line != q.line {
		return p.line - q.line
	}
	return p.column - q.column
}
