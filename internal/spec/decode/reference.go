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
	if !v.secret && isReference && v.Blanked("") != v.node.Value {
		d.misplaced(v)
		return "", true, false
	}
	return text, isReference, true
}

// misplaced reports a secret that would be shown, or read by expressions.
func (d *Decoder) misplaced(v Value) {
	d.Report(v.Here(), CodeSecretMisplaced, "",
		"a secret can stand only in a header field of a request, a user or password of SASL, or the address of a "+
			"database, there as a whole or as the password: what stands here is shown, or read by expressions")
}

// SecretFits reports whether the secrets in the address of a database are all of it, or its password: messages name
// the rest.
func (d *Decoder) SecretFits(v Value) bool {
	const mark = "\x00"
	raw := v.Blanked(mark)
	_, authority, _ := strings.Cut(raw, "://")
	before, after, ok := strings.Cut(authority, "@")
	user, _, _ := strings.Cut(before, ":")
	switch {
	case raw == mark, !strings.Contains(raw, mark),
		ok && strings.HasPrefix(raw, "postgres") && !strings.ContainsAny(before, "/?#") &&
			!strings.Contains(user+after, mark):
		return true
	}
	d.misplaced(v)
	return false
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
