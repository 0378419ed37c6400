package assembly

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/document"
)

// SetError says why a var cannot be set, and what can be.
type SetError struct{ Text string }

func (e *SetError) Error() string { return e.Text }

func cannotSet(format string, args ...any) error { return &SetError{fmt.Sprintf(format, args...)} }

// edit is a value that takes the place of a stretch of the text; from is -1 where the text has none that could be told.
type edit struct {
	from, to int
	text     string
}

// set gives the vars of a tree their values, and says what that is in the text that the tree was read from, where it
// was read from one.
func set(root *yaml.Node, text *document.Source, values map[string]string) ([]edit, error) {
	_, vars := find(root, "vars")
	if len(values) == 0 || vars != nil && vars.Kind != yaml.MappingNode {
		return nil, nil // the decoder says so
	}
	var declared []string
	for i := 0; vars != nil && i+1 < len(vars.Content); i += 2 {
		declared = append(declared, vars.Content[i].Value)
	}
	var edits []edit
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := slices.Index(declared, name)
		if at < 0 {
			return nil, unknown(name, declared)
		}
		was := vars.Content[2*at+1]
		next, err := typed(name, was, values[name])
		if err != nil {
			return nil, err
		}
		if text != nil {
			from, to := stretch(text, was)
			edits = append(edits, edit{from, to, render(next)})
		}
		was.Kind, was.Style, was.Tag, was.Value, was.Content = next.Kind, next.Style, next.Tag, next.Value, next.Content
		was.Anchor = ""
	}
	return edits, nil
}

func unknown(name string, declared []string) error {
	if len(declared) == 0 {
		return cannotSet("%s cannot be set: the declaration has no vars; declare it there with the value that it has "+
			"when nobody sets it", decode.Quote(name))
	}
	near := ""
	if meant := decode.Nearest(name, declared); meant != "" {
		near = "; did you mean " + meant + "?"
	}
	return cannotSet("the declaration has no var %s, it has %s%s", decode.Quote(name), strings.Join(declared, ", "),
		near)
}

// typed is the value that a text is for a var: of the type of the one that is declared.
func typed(name string, was *yaml.Node, text string) (*yaml.Node, error) {
	if !utf8.ValidString(text) || len(text) > decode.MaxBytes {
		return nil, cannotSet("the value for %s is no text in UTF-8 of at most %d bytes", name, decode.MaxBytes)
	}
	if was.Kind != yaml.ScalarNode {
		return structured(name, was, text)
	}
	tag, plain := was.Tag, document.PlainTag(text)
	if strings.Contains(was.Value, "${") && was.Style == 0 || tag == "!!null" {
		tag = plain // what the reference stands for, or nothing, has the type of its text
	}
	wants := func(what string) error {
		return cannotSet("vars.%s is %s in the declaration, so %s is needed; %q is none", name,
			document.Describe(was), what, document.Shorten(text, 64))
	}
	switch tag {
	case "!!bool":
		if plain != "!!bool" {
			return nil, wants("true or false")
		}
	case "!!int":
		if _, err := document.Int(text, plain); err != nil {
			return nil, wants("a whole number")
		}
	case "!!float":
		if _, err := document.Number(text, plain, true); err != nil {
			return nil, wants("a number")
		}
		if plain == "!!int" { // 1 and 1.0 are of two types
			text = strings.TrimPrefix(text, "+") + ".0"
			if document.PlainTag(text) != "!!float" {
				return nil, wants("a number in decimal digits")
			}
		}
	case "!!null":
		text = "null"
	default:
		return literal(text), nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}, nil
}

// literal is a text that stands for itself: what looks like a reference in it is none, whoever reads it.
func literal(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle,
		Value: strings.ReplaceAll(text, "${", "$${")}
}

// structured is a list or mapping, which is written as JSON or YAML.
func structured(name string, was *yaml.Node, text string) (*yaml.Node, error) {
	doc, problems := document.Load([]byte(text), decode.MaxBytes, decode.MaxDepth)
	if doc == nil || len(problems) > 0 || !doc.Whole() || doc.Root.Kind != was.Kind {
		return nil, cannotSet("vars.%s is %s in the declaration, so one is needed, written as JSON; %q is none", name,
			document.Describe(was), document.Shorten(text, 64))
	}
	inBrackets(doc.Root, false)
	clean(doc.Root, true)
	return doc.Root, nil
}

// inBrackets has a list or mapping stand on one line. Its texts stand for themselves, as keys do.
func inBrackets(n *yaml.Node, key bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style = yaml.FlowStyle
	case n.ShortTag() == "!!str" && key:
		n.Style = yaml.DoubleQuotedStyle
	case n.ShortTag() == "!!str":
		*n = *literal(n.Value)
	default:
		n.Style = 0
	}
	for i, c := range n.Content {
		inBrackets(c, n.Kind == yaml.MappingNode && i%2 == 0)
	}
}

// render writes a value as it can stand in any place of a document.
func render(n *yaml.Node) string {
	var b strings.Builder
	switch {
	case n.Kind == yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(render(n.Content[i]) + ": " + render(n.Content[i+1]))
		}
		b.WriteByte('}')
	case n.Kind == yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(render(c))
		}
		b.WriteByte(']')
	case n.Style == 0:
		return n.Value
	default:
		return quoted(n.Value)
	}
	return b.String()
}

func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

var aliasName = regexp.MustCompile(`^\*[^\s,\[\]{}]+`)

// stretch is where a value stands in the text; -1 where that cannot be told.
func stretch(src *document.Source, n *yaml.Node) (from, to int) {
	from = src.Offset(n.Line, n.Column)
	raw, size := src.From(from), -1
	switch {
	case raw == "":
	case document.Copied(n):
		size = len(aliasName.FindString(raw))
	case n.Anchor != "" || n.Style&(yaml.TaggedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return -1, -1
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		size = quotedSize(raw)
	case n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle != 0:
		size = flowSize(raw)
	case n.Kind == yaml.ScalarNode && n.Value != "" && strings.HasPrefix(raw, n.Value):
		size = len(n.Value)
	}
	if size <= 0 {
		return -1, -1
	}
	return from, from + size
}

// quotedSize is the length of the quoted text that a text begins with, 0 where it does not end.
func quotedSize(raw string) int {
	quote := raw[0]
	for i := 1; i < len(raw); i++ {
		switch {
		case raw[i] == '\\' && quote == '"':
			i++
		case raw[i] == quote && quote == '\'' && strings.HasPrefix(raw[i+1:], "'"):
			i++
		case raw[i] == quote:
			return i + 1
		}
	}
	return 0
}

// flowSize is the length of the list or mapping in brackets that a text begins with, 0 where that cannot be told: what
// was taken for its end is looked at afterwards.
func flowSize(raw string) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			if !strings.ContainsRune("[{,: \t\n", rune(raw[i-1])) {
				continue // within a text
			}
			n := quotedSize(raw[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '#':
			return 0
		}
	}
	return 0
}

// splice puts the values of vars into the text, and leaves all else of it as it is. It reports whether that could be
// done: what the text means then is compared with the tree.
func (w *Document) splice(own *source, edits []edit) bool {
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	text, behind := own.doc.Source.From(0), len(w.Text)+1
	for _, e := range edits {
		if e.from < 0 || e.to > behind {
			return false
		}
		text, behind = text[:e.from]+e.text+text[e.to:], e.from
	}
	again := reread([]byte(text), own.doc.Root)
	if again == nil {
		return false
	}
	w.Text, w.spots = []byte(text), spots(own.doc.Root, again, own, nil)
	return true
}
