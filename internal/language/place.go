// Package language tells what stands at a place of a declaration, and what can: where in the document the cursor is,
// what the JSON Schema says of that place, which names are declared, and which functions there are.
//
// Start with [At], which finds the place of a cursor, and [Grammar.At], which finds what the language says of one. An
// [Index] holds the names of a document. Everything here is immutable once it is made, and reads no file.
package language

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/language/text"
	"github.com/graphd/graphd/internal/spec/decode"
	"go.yaml.in/yaml/v3"
)

// Item stands in a path for any item of a list.
const Item = "[]"

// Place is where a cursor is.
type Place struct {
	// Path leads to the value or key that the cursor is in: keys of mappings, and [Item].
	Path []string
	// Key says that it is a key, the last of Path, and Word what stands there up to the cursor.
	Key  bool
	Word string
	// Whole is the word that the cursor is in. From and To are where it stands in the text.
	Whole    string
	From, To int
	// Text is what the value is up to the cursor.
	Text string
	// Colon says that a colon follows the word.
	Colon bool
	// Marked is the document, with [expression.Cursor] in the place of the word.
	Marked string
	// Siblings are the other keys of the mapping, and Alone says that nothing else stands on the line.
	Siblings []string
	Alone    bool
	// Beside are the other values of the list that the cursor is in one of.
	Beside []string
}

// mark stands in for the word at the cursor.
const mark = expression.Cursor

// At finds the place of a byte. The document need not be whole: what is being typed seldom is. ok is false when nothing
// can be told.
func At(all string, offset int) (p Place, ok bool) {
	if len(all) > decode.MaxBytes || offset < 0 || offset > len(all) || !utf8.ValidString(all) {
		return p, false
	}
	from, to := offset, offset
	for from > 0 && IsWord(all[from-1]) {
		from--
	}
	for to < len(all) && IsWord(all[to]) {
		to++
	}
	p = Place{Word: all[from:offset], Whole: all[from:to], From: from, To: to}
	line := all[strings.LastIndexByte(all[:from], '\n')+1 : from]
	rest, _, _ := strings.Cut(all[to:], "\n")
	below := all[to+len(rest):]
	p.Colon = strings.HasPrefix(strings.TrimLeft(rest, " "), ":")
	p.Alone = strings.Trim(line, " -") == "" && strings.TrimSpace(rest) == ""
	cut := all[:from] + mark
	end, now := closing(line+rest), closing(line)
	for _, text := range []string{cut + all[to:], cut + ": " + all[to:], cut + rest + end + below, cut + now + below,
		cut + rest + end, cut + now, cut + ":" + now, cut + closing(all[:from])} {
		if p.find(text) {
			p.Marked = text
			return p, true
		}
	}
	return p, false
}

// Index is what a document declares with the cursor at the place: as it stands, or else as it can be read with what is
// open closed.
func (p *Place) Index(doc *text.Text) *Index {
	if x := NewIndex(doc); x != nil {
		return x
	}
	return NewIndex(text.New(p.Marked))
}

// IsWord reports whether a byte belongs to a name. Characters beyond ASCII belong to none.
func IsWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// closing closes the brackets and quotes that a line, or several, have opened.
func closing(line string) string {
	var open []byte
	quote := byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	slices.Reverse(open)
	if quote != 0 {
		return string(quote) + string(open)
	}
	return string(open)
}

// find finds the mark in a text.
func (p *Place) find(text string) bool {
	root := read(text)
	return root != nil && p.walk(root, nil)
}

// read is the tree of a text, nil where YAML cannot read it. The library has panics of its own for what it believes
// impossible.
func read(text string) (root *yaml.Node) {
	defer func() {
		if recover() != nil {
			root = nil
		}
	}()
	var n yaml.Node
	if yaml.Unmarshal([]byte(text), &n) != nil || len(n.Content) != 1 {
		return nil
	}
	return n.Content[0]
}

func (p *Place) walk(n *yaml.Node, path []string) bool {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			below := append(slices.Clone(path), key.Value)
			if at := strings.Index(key.Value, mark); at >= 0 {
				below[len(path)] = key.Value[:at] + p.Whole + key.Value[at+len(mark):]
				p.Path, p.Key, p.Text = below, true, key.Value[:at]+p.Word
				for k := 0; k+1 < len(n.Content); k += 2 {
					if k != i {
						p.Siblings = append(p.Siblings, n.Content[k].Value)
					}
				}
				return true
			}
			if p.walk(value, below) {
				return true
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if !p.walk(item, append(slices.Clone(path), Item)) {
				continue
			}
			for k, other := range n.Content {
				if k != i && item.Kind == yaml.ScalarNode {
					p.Beside = append(p.Beside, other.Value)
				}
			}
			return true
		}
	case yaml.ScalarNode:
		if at := strings.Index(n.Value, mark); at >= 0 {
			p.Path, p.Text = path, n.Value[:at]+p.Word
			return true
		}
	}
	return false
}
