// Package meaning reduces a declaration to what it means: a tree of names and
// values, without formatting, comments and places. Hashes and differences of
// declarations are those of their trees.
//
// Start with [New]. Each part of a declaration writes itself into a branch, under the
// names that its fields have in the document: a value that was written with references
// is then shown as it was written, and never as what it resolved to.
package meaning

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Tree is a named value, a named group of trees, or both. Build one with the
// methods; the zero Tree is empty.
type Tree struct {
	name, value string
	shown       string // what stands for a hidden value, "" for its value
	ordered     bool   // the order of the branches has a meaning
	branches    []*Tree

	path    string
	written *AsWritten // shared by the whole tree; nil: nothing holds references
}

// AsWritten is what in a declaration was written with references.
type AsWritten struct {
	Fields map[string]string // path of a field to its text
	Trees  map[string]any    // path of a free-form value to the value, with [Reference] for such texts
	Read   map[string]string // a reference to what it has resolved to, which nobody is told
}

// Refers reports whether anything was written with references. Of what was made in Go, which is nil, nothing was.
func (w *AsWritten) Refers() bool { return w != nil && len(w.Fields)+len(w.Trees)+len(w.Read) > 0 }

// Reread says which references of b have resolved to something else than in a, a line each, by their names.
func Reread(a, b *AsWritten) (lines []string) {
	if a == nil || b == nil { // made in Go
		return nil
	}
	for _, ref := range slices.Sorted(maps.Keys(b.Read)) {
		if was, known := a.Read[ref]; known && was != b.Read[ref] {
			lines = append(lines, "changed the value of a reference: ${"+ref+"}")
		}
	}
	return lines
}

// New is an empty tree for a declaration.
func New(written *AsWritten) *Tree { return &Tree{written: written} }

// Reference is a text that stands for a value which is not to be known here.
type Reference string

func (t *Tree) add(branch *Tree) *Tree {
	branch.path, branch.written = join(t.path, branch.name), t.written
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

// Given adds a text. One that was not given is left out.
func (t *Tree) Given(name, value string) {
	if value != "" {
		t.Text(name, value)
	}
}

// Expr adds an expression by its text. One that was not given is left out: that is no difference.
func (t *Tree) Expr(name, text string) {
	if text != "" {
		t.Leaf(name, text)
	}
}

// Secret adds a value that is shown to nobody, also where it was written into the document: of a change it is told
// that there is one.
func (t *Tree) Secret(name, value string) {
	sum := sha256.Sum256([]byte(value))
	t.Hidden(name, "(hidden, "+hex.EncodeToString(sum[:4])+")")
}

// Hidden adds a value as Leaf does that is shown to nobody.
func (t *Tree) Hidden(name, value string) { t.add(&Tree{name: name, value: value, shown: "(hidden)"}) }

// Address adds a URL, of which scheme, host and path are shown: what else is in one may be a secret.
func (t *Tree) Address(name, address string) {
	shown := "(hidden)"
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		whole := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
		if shown = strconv.Quote(whole.String()); u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			shown += " and what is hidden"
		}
	}
	t.add(&Tree{name: name, value: strconv.Quote(address), shown: shown})
}

// Texts adds a list of texts, an entry each.
func (t *Tree) Texts(name string, values []string) {
	for i, value := range values {
		t.Leaf(name+"["+strconv.Itoa(i)+"]", value)
	}
}

// Free adds a value of free structure: nil, bool, int64, float64, string,
// [Reference], []any or map[string]any of these.
func (t *Tree) Free(name string, x any) {
	if t.written != nil {
		if asWritten, ok := t.written.Trees[join(t.path, name)]; ok {
			x = asWritten
		}
	}
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

// Close ends a tree: what was written with references is put back in place of what it
// resolved to.
func (t *Tree) Close() *Tree {
	if t.written != nil && len(t.written.Fields) > 0 {
		t.putBack()
	}
	return t
}

func (t *Tree) putBack() {
	if text, ok := t.written.Fields[t.path]; ok && len(t.branches) == 0 {
		t.value = text
		if t.shown != "" {
			t.shown = "(hidden)" // beside a reference there may be more
		}
	}
	for _, b := range t.branches {
		b.putBack()
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
