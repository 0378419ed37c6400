package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// The parser takes a brace behind a comma or an opening bracket for the block of a predicate, so
// that it refuses map(list, {"a": .x}). No block begins as an object does (a name and a colon, or
// nothing at all), so such an object gets brackets around it, which the parser reads as meant; the
// places of what is found then are moved back.

// bracketed is a text in which brackets were put around objects.
type bracketed struct {
	text string
	at   []int // where in text brackets were put in, ascending, in bytes
}

// bracketObjects puts brackets around the objects that stand where a predicate may.
func bracketObjects(text string) bracketed {
	if !strings.Contains(text, "{") {
		return bracketed{text: text}
	}
	tokens, err := lexer.Lex(file.NewSource(text))
	if err != nil {
		return bracketed{text: text} // the parser says why
	}
	put := map[int]string{} // by the place in text, in characters
	for i := 1; i < len(tokens); i++ {
		before := tokens[i-1].Value
		if !isBracket(tokens[i], "{") || before != "," && !isBracket(tokens[i-1], "(") || !isObject(tokens[i+1:]) {
			continue
		}
		if end := closingOf(tokens, i); end > 0 {
			put[tokens[i].From] += "("
			put[tokens[end].To] = ")" + put[tokens[end].To]
		}
	}
	if len(put) == 0 {
		return bracketed{text: text}
	}
	var out bracketed
	var b strings.Builder
	i := 0
	for _, c := range text + "\n" { // one more, for what stands at the end
		for range put[i] {
			out.at = append(out.at, b.Len())
			b.WriteString(put[i][:1])
			put[i] = put[i][1:]
		}
		b.WriteRune(c)
		i++
	}
	out.text = strings.TrimSuffix(b.String(), "\n")
	return out
}

func isBracket(t lexer.Token, value string) bool { return t.Kind == lexer.Bracket && t.Value == value }

// isObject says whether what follows a brace is the inside of an object: nothing, or a name and
// a colon, the name in brackets if it is computed.
func isObject(rest []lexer.Token) bool {
	if len(rest) < 2 {
		return false
	}
	name := 0
	switch {
	case isBracket(rest[0], "}"):
		return true
	case isBracket(rest[0], "("):
		if name = closingOf(rest, 0); name < 0 {
			return false
		}
	case rest[0].Kind != lexer.Identifier && rest[0].Kind != lexer.String && rest[0].Kind != lexer.Number:
		return false
	}
	return name+1 < len(rest) && rest[name+1].Kind == lexer.Operator && rest[name+1].Value == ":"
}

// closingOf is the place of the bracket that closes the one at i; -1 when there is none.
func closingOf(tokens []lexer.Token, i int) int {
	depth := 0
	for k := i; k < len(tokens); k++ {
		switch {
		case tokens[k].Kind != lexer.Bracket:
		case strings.Contains("([{", tokens[k].Value):
			depth++
		default:
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return -1
}

// original is the place in the text as it was written, in bytes, of one in the text with brackets.
func (b *bracketed) original(offset int) int {
	before, _ := slices.BinarySearch(b.at, offset)
	return offset - before
}

// moveBack gives a mistake its place in the text as it was written.
func (b *bracketed) moveBack(e *Error) *Error {
	if e != nil {
		e.Offset = b.original(e.Offset)
	}
	return e
}
