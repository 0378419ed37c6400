package document

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Within is the line and column of a byte offset into text, which is what the
// scalar n stands for. It sees through quotes, escapes, folded lines and the
// indentation of blocks.
func (s *Source) Within(n *yaml.Node, text string, offset int) (line, column int) {
	at := s.Offset(n.Line, n.Column)
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		for at < len(s.text) && breakLen(s.text[at:]) == 0 { // the header: | or >, and its modifiers
			at++
		}
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		at++
	}
	return s.Place(follow(text, min(max(offset, 0), len(text)), s.text, at, n.Style))
}

// follow walks a scalar's text and its raw form side by side, from where the raw
// form begins, and returns the place in the raw form of an offset into the text.
func follow(text string, offset int, raw string, at int, style yaml.Style) int {
	for i := 0; at < len(raw); {
		if i >= len(text) || !isSpace(text[i]) {
			at = skipFolds(raw, at, i < len(text), style)
		}
		if i >= offset || at >= len(raw) {
			return at
		}
		if style&yaml.DoubleQuotedStyle != 0 && raw[at] == '\\' {
			n, made := escape(raw[at:])
			if i+made > offset {
				return at
			}
			at, i = at+n, i+made
			continue
		}
		if style&yaml.SingleQuotedStyle != 0 && strings.HasPrefix(raw[at:], "''") {
			at++
		}
		// A space of the text may stand for a whole fold of the raw form; what is left
		// of the fold is skipped before the next character.
		if isSpace(text[i]) != isSpace(raw[at]) {
			i++
			continue
		}
		at, i = at+1, i+1
	}
	return at
}

// skipFolds skips the white space and line continuations that the text does not
// have before its next character. At the end of the text there is nothing to skip.
func skipFolds(raw string, at int, more bool, style yaml.Style) int {
	for more && at < len(raw) {
		switch {
		case isSpace(raw[at]):
			at++
		case style&yaml.DoubleQuotedStyle != 0 && raw[at] == '\\' && at+1 < len(raw) && breakLen(raw[at+1:]) > 0:
			at += 1 + breakLen(raw[at+1:])
		default:
			return at
		}
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// escape measures an escape sequence of a double-quoted scalar: its length, and
// how many bytes it makes.
func escape(raw string) (length, made int) {
	if len(raw) < 2 {
		return len(raw), 1
	}
	if n := breakLen(raw[1:]); n > 0 { // a line that goes on
		return 1 + n, 0
	}
	hex := 0
	switch raw[1] {
	case 'x':
		hex = 2
	case 'u':
		hex = 4
	case 'U':
		hex = 8
	case 'N', '_': // U+0085, U+00A0
		return 2, 2
	case 'L', 'P': // U+2028, U+2029
		return 2, 3
	default:
		return 2, 1
	}
	var r rune
	for i := 2; i < 2+hex && i < len(raw); i++ {
		r = r<<4 | rune(strings.IndexByte("0123456789abcdef", raw[i]|0x20))
	}
	return min(2+hex, len(raw)), max(utf8.RuneLen(r), 1)
}
