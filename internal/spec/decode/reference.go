package decode

import (
	"errors"
	"strings"

	"github.com/graphd/graphd/internal/spec/internal/reference"
)

// expand resolves the references in a scalar.
func (d *Decoder) expand(v Value) (text string, isReference, ok bool) {
	text, isReference, err := d.references.Expand(v.node.Value)
	if bad, failed := errors.AsType[*reference.Error](err); failed {
		d.Report(v.Here(), bad.Code, "", "%s", bad.Text)
		return "", isReference, false
	}
	return text, isReference, true
}

// keepField notes that the field at a path was written with references, or that
// its default follows from a text with references.
func (d *Decoder) keepField(path, asWritten string) {
	if d.written.Fields == nil {
		d.written.Fields = make(map[string]string)
	}
	d.written.Fields[path] = asWritten
}

// Follow notes that what a field means follows from another one too: when that was
// written with references, both texts stand for the field. value is what the field
// says by itself.
func (d *Decoder) Follow(path, other, value string) {
	asWritten, ok := d.written.Fields[other]
	if !ok {
		return
	}
	if own, ok := d.written.Fields[path]; ok {
		value = own
	}
	d.keepField(path, value+" with "+asWritten)
}

// keepTree notes that a free-form value was written with references.
func (d *Decoder) keepTree(v Value, tree any) {
	if d.written.Trees == nil {
		d.written.Trees = make(map[string]any)
	}
	d.written.Trees[v.at.String()] = tree
}

// HoldsReference reports whether a free-form value that was read holds references.
func (d *Decoder) HoldsReference(v Value) bool { return d.written.Trees[v.Path()] != nil }

// AsWritten notes that a list of texts is one value of the declaration: when one of them was
// written with references, all of it counts as it was written.
func (d *Decoder) AsWritten(list Value) {
	texts, references := make([]string, 0, len(list.node.Content)), false
	for _, item := range list.Items() {
		_, reference := d.written.Fields[item.Path()]
		references = references || reference
		texts = append(texts, item.node.Value)
	}
	if references {
		d.keepField(list.Path(), strings.Join(texts, ","))
	}
}
