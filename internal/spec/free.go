package spec

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/meaning"
)

// free reads a value whose structure is the user's own: nil, bool, int64, float64,
// string, []any or map[string]any. It notes the value when references are in it.
func (d *decoder) free(v value) (any, bool) {
	f := freeReader{d: d}
	x, asWritten, ok := f.read(v)
	if f.references {
		d.keepTree(v, asWritten)
	}
	return x, ok
}

// freeReader builds two values side by side: one with references resolved, one as written.
type freeReader struct {
	d          *decoder
	references bool
}

func (f *freeReader) read(v value) (x, asWritten any, ok bool) {
	if !f.d.plain(v.node, v.at) {
		return nil, nil, false
	}
	switch v.node.Kind {
	case yaml.MappingNode:
		return f.mapping(v)
	case yaml.SequenceNode:
		return f.list(v)
	default:
		return f.scalar(v)
	}
}

func (f *freeReader) mapping(v value) (x, asWritten any, ok bool) {
	ok = true
	m, w := make(map[string]any), make(map[string]any)
	for _, p := range f.d.pairs(v, func(string) bool { return true }) {
		if p.key.Tag != "!!str" && p.key.Tag != "!!timestamp" {
			f.d.report(p.key, p.at, CodeWrongType, "", "a key must be a text, found %s; put it in quotes", document.Describe(p.key))
			ok = false
			continue
		}
		item, itemAsWritten, good := f.read(p.value)
		ok = ok && good
		m[p.key.Value], w[p.key.Value] = item, itemAsWritten
	}
	return m, w, ok
}

func (f *freeReader) list(v value) (x, asWritten any, ok bool) {
	ok = true
	l, w := make([]any, len(v.node.Content)), make([]any, len(v.node.Content))
	for i := range l {
		var good bool
		l[i], w[i], good = f.read(v.item(i))
		ok = ok && good
	}
	return l, w, ok
}

func (f *freeReader) scalar(v value) (x, asWritten any, ok bool) {
	text, isReference, ok := f.d.expand(v)
	if !ok {
		return nil, nil, false
	}
	tag := v.node.Tag
	if isReference {
		f.references = true
		if tag = "!!str"; v.node.Style == 0 {
			tag = document.PlainTag(text)
		}
	}
	x, ok = f.d.constant(v, text, tag)
	if isReference {
		return x, meaning.Reference(v.node.Value), ok
	}
	return x, x, ok
}

// constant is the value of a scalar.
func (d *decoder) constant(v value, text, tag string) (any, bool) {
	switch tag {
	case "!!null":
		return nil, true
	case "!!bool":
		return strings.EqualFold(text, "true"), true
	}
	x, err := document.Number(text, tag, v.node.Style == 0)
	switch {
	case errors.Is(err, document.ErrNotNumber):
		return text, true
	case errors.Is(err, document.ErrLeadingZero):
		d.report(v.node, v.at, CodeWrongType, "", "%v; remove the zero or put it in quotes", err)
	case err != nil:
		d.report(v.node, v.at, CodeNotFinite, "", "%s is not a finite number; give one that is, or put it in quotes", document.Subject(v.node))
	}
	return x, err == nil
}
