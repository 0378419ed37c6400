package decode

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/reference"
)

// Pos is a place in a declaration: 1-based line and column, and the path of
// the field there ("accumulators.orderbook.where"). The zero Pos is unknown.
type Pos struct {
	Line, Column int
	Path         string
}

// Value is a value of the document with the key it stands under (none for the document
// itself and for items of a list) and its path. The zero Value was not given.
type Value struct {
	node, key *yaml.Node
	at        *trail
	secret    bool // a secret may stand here
}

// Secret is the value where a secret may stand: what nobody is shown, and no expression reads.
func (v Value) Secret() Value {
	v.secret = true
	return v
}

// Blanked is a text as it was written, with its secrets replaced.
func (v Value) Blanked(by string) string { return reference.Blank(v.node.Value, by) }

// Given reports whether there is a value.
func (v Value) Given() bool { return v.node != nil }

// Here is the place of the value.
func (v Value) Here() Place { return Place{v.node, v.at} }

// Name is the place of its key.
func (v Value) Name() Place { return Place{v.key, v.at} }

// Whole is where something about the value as a whole is reported: its key.
func (v Value) Whole() Place { return Place{v.anchor(), v.at} }

func (v Value) anchor() *yaml.Node {
	if v.key != nil {
		return v.key
	}
	return v.node
}

// Key is the key as it was written.
func (v Value) Key() string { return v.key.Value }

// Text is the value as it was written, "" for no scalar.
func (v Value) Text() string { return v.node.Value }

// Line is where the key stands.
func (v Value) Line() int { return v.key.Line }

// Path is the path of the value.
func (v Value) Path() string { return v.at.String() }

// Shown is the value as it was written, in quotes. Neither it nor Described and Subject show
// what a reference resolved to.
func (v Value) Shown() string { return document.Quote(v.node.Value) }

// Described says what the value is.
func (v Value) Described() string { return document.Describe(v.node) }

// Subject is how a sentence about the value begins.
func (v Value) Subject() string { return document.Subject(v.node) }

// IsMapping reports whether the value has keys.
func (v Value) IsMapping() bool { return v.node.Kind == yaml.MappingNode }

// IsJSON reports whether a mapping is written as JSON has objects, whose order means nothing there.
func (v Value) IsJSON() bool {
	return v.IsMapping() && v.node.Style&yaml.FlowStyle != 0 &&
		!slices.ContainsFunc(v.Entries(), func(e Value) bool { return e.key.Style&yaml.DoubleQuotedStyle == 0 })
}

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.node.Kind == yaml.SequenceNode }

// IsScalar reports whether the value is a single one.
func (v Value) IsScalar() bool { return v.node.Kind == yaml.ScalarNode }

// IsEmpty reports whether a mapping or list has no entries.
func (v Value) IsEmpty() bool { return len(v.node.Content) == 0 }

// Items are the values of a list.
func (v Value) Items() []Value {
	list := make([]Value, len(v.node.Content))
	for i := range list {
		list[i] = v.item(i)
	}
	return list
}

// Entries are the values of a mapping, as they are: repeated keys too.
func (v Value) Entries() []Value {
	list := make([]Value, 0, len(v.node.Content)/2)
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		list = append(list, v.child(v.node.Content[i], v.node.Content[i+1]))
	}
	return list
}

// AsName is the value standing for a name of its own.
func (v Value) AsName() Value { return Value{node: v.node, key: v.node, at: v.at} }

// Find follows a path of keys and indexes from a value as far as it goes.
func (v Value) Find(path []string) Value {
	for _, token := range path {
		next, ok := v.step(token)
		if !ok {
			break
		}
		v = next
	}
	return v
}

func (v Value) step(token string) (Value, bool) {
	switch v.node.Kind {
	case yaml.MappingNode:
		entries := v.Entries()
		if i := slices.IndexFunc(entries, func(e Value) bool { return e.key.Value == token }); i >= 0 {
			return entries[i], true
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.node.Content) {
			return v.item(i), true
		}
	}
	return Value{}, false
}

// Later is the one of two fields that stands later in the document.
func Later(a, b Value) Value {
	if CompareNames(a, b) < 0 {
		return b
	}
	return a
}

// CompareNames orders two values by where their keys stand.
func CompareNames(a, b Value) int {
	if a.key.Line != b.key.Line {
		return a.key.Line - b.key.Line
	}
	return a.key.Column - b.key.Column
}

// trail is a path, linked upwards; it becomes text only when something is
// reported, since most never is.
type trail struct {
	up   *trail
	name string
	item int // of a list, when name is ""
}

func (v Value) child(key, node *yaml.Node) Value {
	return Value{node: node, key: key, at: &trail{up: v.at, name: key.Value}}
}

func (v Value) item(i int) Value {
	return Value{node: v.node.Content[i], at: &trail{up: v.at, item: i}}
}

// String is the path as diagnostics show it: "accumulators.orderbook.emit".
func (t *trail) String() string {
	if t == nil {
		return ""
	}
	up := t.up.String()
	switch {
	case t.name == "":
		return up + "[" + strconv.Itoa(t.item) + "]"
	case up == "":
		return document.Shorten(t.name, 64)
	}
	return up + "." + document.Shorten(t.name, 64)
}
