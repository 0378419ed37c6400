// Package meaning reduces a declaration to what it means: a tree of names and
// values, without formatting, comments and places. Hashes and differences of
// declarations are those of their trees.
package meaning

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Tree is a named value, a named group of trees, or both. Build one with the
// methods; the zero Tree is empty.
type Tree struct {
	name, value string
	ordered     bool // the order of the branches has a meaning
	branches    []*Tree
}

// Reference is a text that stands for a value which is not to be known here.
type Reference string

func (t *Tree) add(branch *Tree) *Tree {
	t.branches = append(t.branches, branch)
	return branch
}

// Branch adds a group whose order has no meaning.
func (t *Tree) Branch(name string) *Tree { return t.add(&Tree{name: name}) }

// List adds a group whose order has a meaning.
func (t *Tree) List(name string) *Tree { return t.add(&Tree{name: name, ordered: true}) }

// Leaf adds a value as it is.
func (t *Tree) Leaf(name, value string) { t.add(&Tree{name: name, value: value}) }

// Text adds a text.
func (t *Tree) Text(name, value string) { t.Leaf(name, strconv.Quote(value)) }

// Number adds a whole number.
func (t *Tree) Number(name string, value int64) { t.Leaf(name, strconv.FormatInt(value, 10)) }

// Flag adds a boolean.
func (t *Tree) Flag(name string, value bool) { t.Leaf(name, strconv.FormatBool(value)) }

// Span adds a duration.
func (t *Tree) Span(name string, value time.Duration) { t.Leaf(name, value.String()) }

// Free adds a value of free structure: nil, bool, int64, float64, string,
// [Reference], []any or map[string]any of these.
func (t *Tree) Free(name string, x any) {
	switch x := x.(type) {
	case map[string]any:
		b := t.Branch(name)
		b.value = "{}"
		for _, key := range slices.Sorted(maps.Keys(x)) {
			b.Free(key, x[key])
		}
	case []any:
		b := t.List(name)
		b.value = "[]"
		for i, item := range x {
			b.Free("["+strconv.Itoa(i)+"]", item)
		}
	case Reference:
		t.Leaf(name, string(x))
	case string:
		t.Text(name, x)
	case int64:
		t.Number(name, x)
	case float64:
		// 1.0 is not 1: expressions tell integers from floats.
		t.Leaf(name, "float "+strconv.FormatFloat(x, 'g', -1, 64))
	case bool:
		t.Flag(name, x)
	case nil:
		t.Leaf(name, "null")
	}
}

// PutBack replaces the values at the paths given.
func (t *Tree) PutBack(values map[string]string) {
	if len(values) > 0 {
		t.putBack("", values)
	}
}

func (t *Tree) putBack(path string, values map[string]string) {
	if value, ok := values[path]; ok && len(t.branches) == 0 {
		t.value = value
	}
	for _, b := range t.branches {
		b.putBack(join(path, b.name), values)
	}
}

// Hash is the hex SHA-256 of the tree.
func (t *Tree) Hash() string {
	// The version of the canonical form: a change of it changes every hash, and so
	// makes every graph look updated.
	sum := sha256.Sum256(t.appendTo([]byte("graphd declaration 1\n")))
	return hex.EncodeToString(sum[:])
}

// appendTo writes a tree so that no two trees give the same bytes: each part is
// preceded by its length. The order of the branches must be canonical already.
func (t *Tree) appendTo(b []byte) []byte {
	for _, s := range []string{t.name, t.value} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(t.branches)))
	for _, branch := range t.branches {
		b = branch.appendTo(b)
	}
	return b
}
