package spec

import (
	"errors"

	"github.com/graphd/graphd/internal/spec/internal/reference"
)

// unresolved keeps what was written with references, so that hashes and diffs
// show that and never what they resolve to.
type unresolved struct {
	fields map[string]string // path of a field to its text
	trees  map[string]any    // path of a free-form value to the value, with meaning.Reference for such texts
}

// expand resolves the references in a scalar.
func (d *decoder) expand(v value) (text string, isReference, ok bool) {
	text, isReference, err := d.references.Expand(v.node.Value)
	if bad, failed := errors.AsType[*reference.Error](err); failed {
		d.report(v.node, v.at, bad.Code, "", "%s", bad.Text)
		return "", isReference, false
	}
	return text, isReference, true
}

// keepField notes that the field at a path was written with references, or that
// its default follows from a text with references.
func (d *decoder) keepField(path, asWritten string) {
	if d.unresolved.fields == nil {
		d.unresolved.fields = make(map[string]string)
	}
	d.unresolved.fields[path] = asWritten
}

// follow notes that what a field means follows from another one too: when that was
// written with references, both texts stand for the field. value is what the field
// says by itself.
func (d *decoder) follow(path, other, value string) {
	asWritten, ok := d.unresolved.fields[other]
	if !ok {
		return
	}
	if own, ok := d.unresolved.fields[path]; ok {
		value = own
	}
	d.keepField(path, value+" with "+asWritten)
}

// keepTree notes that a free-form value was written with references.
func (d *decoder) keepTree(v value, tree any) {
	if d.unresolved.trees == nil {
		d.unresolved.trees = make(map[string]any)
	}
	d.unresolved.trees[v.at.String()] = tree
}
