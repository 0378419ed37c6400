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

// follow notes that a default at path follows from the fields at others: when one of
// them was written with references, its text stands for the default too.
func (d *decoder) follow(path string, others ...string) {
	for _, other := range others {
		if asWritten, ok := d.unresolved.fields[other]; ok {
			d.keepField(path, asWritten)
			return
		}
	}
}

// keepTree notes that a free-form value was written with references.
func (d *decoder) keepTree(v value, tree any) {
	if d.unresolved.trees == nil {
		d.unresolved.trees = make(map[string]any)
	}
	d.unresolved.trees[v.at.String()] = tree
}
