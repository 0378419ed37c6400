package document

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Describe says what stands at a node, for a diagnostic. It shows what the user
// wrote, never what a reference resolved to.
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch {
	case strings.Contains(n.Value, "${"):
		return "what " + Quote(n.Value) + " stands for"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!bool":
		return n.Value
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "the number " + Shorten(n.Value, 64)
	}
	return "the text " + Quote(n.Value)
}

// Subject is how a sentence about a scalar begins.
func Subject(n *yaml.Node) string {
	if strings.Contains(n.Value, "${") {
		return Describe(n)
	}
	return Shorten(n.Value, 64)
}

// Quote shows a text that the user wrote.
func Quote(s string) string { return strconv.Quote(Shorten(s, 64)) }

// Shorten cuts a text to at most n bytes.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
