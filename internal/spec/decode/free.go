package decode

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Free reads a value whose structure is the user's own: nil, bool, int64, float64,
// string, []any or map[string]any. It notes the value when references are in it.
func (d *Decoder) Free(v Value) (any, bool) {
	f := freeReader{d: d}
	x, asWritten, ok := f.read(v)
	if f.references {
		d.keepTree(v, asWritten)
	}
	return x, ok
}

// freeReader builds two values side by side: one with references resolved, one as written.
type freeReader struct {
	d          *Decoder
	references bool
}

func (f *freeReader) read(v Value) (x, asWritten any, ok bool) {
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

func (f *freeReader) mapping(v Value) (x, asWritten any, ok bool) {
	ok = true
	m, w := make(map[string]any), make(map[string]any)
	for _, p := range f.d.Pairs(v, true) {
		if p.key.Tag != "!!str" && p.key.Tag != "!!timestamp" {
			f.d.Report(p.Name(), CodeWrongType, "",
				"a key must be a text, found %s; put it in quotes", document.Describe(p.key))
			ok = false
			continue
		}
		item, itemAsWritten, good := f.read(p.Value)
		ok = ok && good
		m[p.key.Value], w[p.key.Value] = item, itemAsWritten
	}
	return m, w, ok
}

func (f *freeReader) list(v Value) (x, asWritten any, ok bool) {
	ok = true
	l, w := make([]any, len(v.node.Content)), make([]any, len(v.node.Content))
	for i := range l {
		var good bool
		l[i], w[i], good = f.read(v.item(i))
		ok = ok && good
	}
	return l, w, ok
}

func (f *freeReader) scalar(v Value) (x, asWritten any, ok bool) {
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
func (d *Decoder) constant(v Value, text, tag string) (any, bool) {
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
		d.Report(v.Here(), CodeWrongType, "", "%v; remove the zero or put it in quotes", err)
	case errors.Is(err, document.ErrTooBig):
		d.Report(v.Here(), CodeBadValue, "",
			"%s does not fit 64 bits with a sign, and a float would change its digits; put it in quotes",
			document.Subject(v.node))
	case err != nil:
		d.Report(v.Here(), CodeNotFinite, "",
			"%s is not a finite number; give one that is, or put it in quotes", document.Subject(v.node))
	}
	return x, err == nil
}
