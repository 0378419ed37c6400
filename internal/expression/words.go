package expression

import (
	"slices"
	"strings"
	"unicode"
)

// keywords are words that are never fields.
var keywords = []string{"true", "false", "nil", "not", "and", "or", "in", "matches", "contains", "startsWith",
	"endsWith", "let", "if", "else"}

// Words ranges over the names in an expression's text and says whether each is called.
// Words in a string are among them, which does no harm.
func Words(text string) func(yield func(word string, call bool) bool) {
	return func(yield func(string, bool) bool) {
		for rest := text; rest != ""; {
			start := strings.IndexFunc(rest, isWord)
			if start < 0 {
				return
			}
			member := start > 0 && rest[start-1] == '.'
			rest = rest[start:]
			end := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
			if end < 0 {
				end = len(rest)
			}
			word := rest[:end]
			rest = rest[end:]
			if member || word[0] >= '0' && word[0] <= '9' || slices.Contains(keywords, word) {
				continue
			}
			if !yield(word, strings.HasPrefix(strings.TrimLeft(rest, " "), "(")) {
				return
			}
		}
	}
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
