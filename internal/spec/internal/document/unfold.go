package document

import (
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Aliases and merge keys are unfolded before anybody walks the tree: in the place of an alias stands a copy of what its
// anchor names, and in the place of a merge key the entries that it brings. What is wrong within a copy is told at the
// alias, for that is where it is wrong: the same text may be right at its anchor.

// The bounds of what aliases unfold to: a few lines of them can stand for a thousand million values.
const (
	maxUnfolded      = 100_000 // nodes of copies
	maxUnfoldedBytes = 1 << 20 // of their texts, as much as a document has
)

// CodeAlias is the code of an alias or merge key that cannot be unfolded.
const CodeAlias = "alias_not_allowed"

// anchor is what an alias refers to.
type anchor struct {
	name string
	line int
}

// Anchors are the aliases of a document by their places; nil where there are none.
type Anchors map[place]anchor

// Anchors are the document's aliases.
func (d *Document) Anchors() Anchors { return maps.Clone(d.aliases) }

// Noted is a text about a place with a word on the anchor, where an alias stands there. It is had once.
func (a Anchors) Noted(text string, line, column int) string {
	at, ok := a[place{line, column}]
	if note := at.note(); ok && !strings.HasSuffix(text, note) {
		return text + note
	}
	return text
}

func (a anchor) note() string {
	name := Shorten(a.name, 64)
	return fmt.Sprintf("; *%s stands here for what is written at &%s on line %d", name, name, a.line)
}

// Copied reports whether a node stands in the place of an alias: its text is not written there.
func Copied(n *yaml.Node) bool { return n.Kind != yaml.AliasNode && n.Alias != nil }

// unfold replaces aliases and merge keys below the root. It reports the first thing that cannot be unfolded.
func (d *Document) unfold() []Problem {
	u := unfolder{d: d, open: map[*yaml.Node]bool{}, nodes: maxUnfolded, bytes: maxUnfoldedBytes}
	d.Root = u.node(d.Root)
	return u.problems
}

type unfolder struct {
	d            *Document
	open         map[*yaml.Node]bool // anchors that are not read to their end
	nodes, bytes int                 // that copies may still have
	problems     []Problem
}

func (u *unfolder) problem(n *yaml.Node, code, format string, args ...any) {
	u.problems = append(u.problems, Problem{Line: n.Line, Column: n.Column, Code: code,
		Text: fmt.Sprintf(format, args...)})
}

// node unfolds what is at and below a node, in the order of the document: what an alias stands for has been unfolded
// when the alias comes.
func (u *unfolder) node(n *yaml.Node) *yaml.Node {
	if len(u.problems) > 0 {
		return n
	}
	if n.Kind == yaml.AliasNode {
		return u.alias(n)
	}
	if n.Anchor != "" {
		u.open[n] = true
		defer delete(u.open, n)
	}
	merges := false
	for i, c := range n.Content {
		n.Content[i] = u.node(c)
		merges = merges || n.Kind == yaml.MappingNode && i%2 == 0 && isMerge(n.Content[i])
	}
	if merges && len(u.problems) == 0 {
		u.merge(n)
	}
	return n
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == "!!merge" }

// alias is what stands in the place of an alias.
func (u *unfolder) alias(n *yaml.Node) *yaml.Node {
	if u.open[n.Alias] {
		u.problem(n, CodeAlias, "*%s stands within what it stands for, &%s on line %d; write out what is meant",
			Shorten(n.Value, 64), Shorten(n.Value, 64), n.Alias.Line)
		return n
	}
	if u.d.aliases == nil {
		u.d.aliases = Anchors{}
	}
	u.d.aliases[place{n.Line, n.Column}] = anchor{name: n.Value, line: n.Alias.Line}
	whole := u.copied(n.Alias, n)
	if whole.Kind == yaml.ScalarNode {
		whole.HeadComment, whole.LineComment, whole.FootComment = n.HeadComment, n.LineComment, n.FootComment
	}
	if u.nodes < 0 || u.bytes < 0 {
		u.problem(n, CodeTooLarge, "up to here the aliases of the declaration stand for more than %d values or %d "+
			"bytes; write less by them", maxUnfolded, maxUnfoldedBytes)
	}
	return whole
}

// copied is a copy of a node that stands at an alias. It is made whole before the bounds are looked at: what it is a
// copy of is within them.
func (u *unfolder) copied(n, at *yaml.Node) *yaml.Node {
	u.nodes, u.bytes = u.nodes-1, u.bytes-len(n.Value)
	c := &yaml.Node{
		Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value, Line: at.Line, Column: at.Column, Alias: n,
	}
	c.Content = make([]*yaml.Node, 0, len(n.Content))
	for _, below := range n.Content {
		c.Content = append(c.Content, u.copied(below, at))
	}
	return c
}

// merge puts the entries that merge keys bring into a mapping: its own come before them, and of several the first.
func (u *unfolder) merge(n *yaml.Node) {
	own := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			own[n.Content[i].Value] = true
		}
	}
	merged := make([]*yaml.Node, 0, len(n.Content))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isMerge(key) {
			merged = append(merged, key, value)
			continue
		}
		for _, from := range u.sources(value) {
			for k := 0; k+1 < len(from.Content); k += 2 {
				if name := from.Content[k].Value; !own[name] {
					own[name] = true
					merged = append(merged, from.Content[k], from.Content[k+1])
				}
			}
		}
	}
	n.Content = merged
}

// sources are the mappings that a merge key names.
func (u *unfolder) sources(value *yaml.Node) []*yaml.Node {
	list := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		list = value.Content
	}
	for _, from := range list {
		if from.Kind != yaml.MappingNode {
			u.problem(from, CodeAlias, "a merge key takes a mapping or a list of them, found %s; write the fields out",
				Describe(from))
			return nil
		}
	}
	return list
}
