// Package cursor reads the text of an expression that is being typed, in which [Word] stands for the word at the
// cursor: which parts of it may be whole, and what is left without the cursor. It knows brackets and dots alone.
package cursor

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Word stands for the word that is being typed. Nobody writes it.
const Word = "qGraphdCursorq"

// Pieces are a text and parts of it with the cursor, of which one can be read: what follows the cursor may not be
// there yet, nor what is before it be whole.
func Pieces(text string) []string {
	at := strings.Index(text, Word)
	begun := text[:at+len(Word)]
	var open []byte
	from := []int{0} // where the innermost bracket, or what follows its last comma, begins
	for i := range at {
		switch c := begun[i]; c {
		case '(', '[', '{':
			open, from = append(open, map[byte]byte{'(': ')', '[': ']', '{': '}'}[c]), append(from, i+1)
		case ')', ']', '}':
			if len(open) > 0 {
				open, from = open[:len(open)-1], from[:len(from)-1]
			}
		case ',', ';', ':':
			from[len(from)-1] = i + 1
		}
	}
	slices.Reverse(open)
	first := at // of the word's operand, such as orders?.lines[0].
	for depth := 0; first > 0; first-- {
		switch c := text[first-1]; {
		case c == ')' || c == ']':
			depth++
		case (c == '(' || c == '[') && depth > 0:
			depth--
		case depth == 0 && !isWord(c) && c != '.' && c != '?' && c != '#':
			return []string{text, begun + string(open), begun[from[len(from)-1]:], begun[first:]}
		}
	}
	return []string{text, begun + string(open), begun[from[len(from)-1]:], begun}
}

// Without is a piece without the cursor: what is before its dot, or nil for a name.
func Without(piece string) string {
	before, after, _ := strings.Cut(piece, Word)
	receiver, dotted := strings.CutSuffix(before, ".")
	end := byte(' ')
	if receiver != "" {
		end = receiver[len(receiver)-1]
	}
	switch {
	case !dotted:
		return before + "nil" + after
	case !isWord(end) && !strings.ContainsRune(")]?#", rune(end)):
		return receiver + "#" + after // of an element, in a predicate
	}
	return strings.TrimSuffix(receiver, "?") + after
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Find is where a field of something is the cursor; nil where none is.
func Find(tree *ast.Node) *ast.MemberNode {
	f := &finder{}
	ast.Walk(tree, f)
	return f.at
}

type finder struct{ at *ast.MemberNode }

// Visit implements [ast.Visitor].
func (f *finder) Visit(n *ast.Node) {
	if m, ok := (*n).(*ast.MemberNode); ok {
		if name, ok := m.Property.(*ast.StringNode); ok && name.Value == Word {
			f.at = m
		}
	}
}
