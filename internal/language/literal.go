package language

import (
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/expression"
)

// compared is a field that a text in quotes is compared with, as the document writes it, up to the text's first letter
// at the cursor.
var compared = regexp.MustCompile(`([A-Za-z_]\w*)\s*(?:[!=]=|\bin\s*\[(?:[^\]{}]*,)?)\s*(?:\\?"|'{1,2})$`)

// literals are the values of a field's enum, within a text that it is compared with.
func (c *completer) literals() {
	before, after, _ := strings.Cut(c.at.Marked, mark)
	at := compared.FindStringSubmatchIndex(before)
	if at == nil || c.Ask == nil {
		return
	}
	var words []string
	c.Ask(before[:at[2]]+mark+after, func(f expression.Found) {
		if t, ok := f.Of.Field(before[at[2]:at[3]]); f.Dotted && ok && len(t.Words()) > 0 {
			words = t.Words()
		}
	})
	for _, w := range slices.Sorted(slices.Values(words)) {
		if !strings.ContainsAny(w, "\"'\\") {
			c.add(SortWord, w, w, "", "")
		}
	}
}

// maxSaid bounds what is said of a type's values, in characters.
const maxSaid = 80

// oneOf is a type in words: of a field with an enum its values.
func oneOf(t expression.Type) string {
	if len(t.Words()) == 0 {
		return t.String()
	}
	text := strings.Join(t.Words(), ", ")
	if all := []rune(text); len(all) > maxSaid {
		text = string(all[:maxSaid]) + "…"
	}
	return text
}
