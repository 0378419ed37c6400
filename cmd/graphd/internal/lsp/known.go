package lsp

import (
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/language"
)

// known is what is known of an open document. It may be older than the document, which is being typed: places are of
// the texts that the indexes keep.
type known struct {
	is       sort
	of       *document       // that was looked at last
	index    *language.Index // nil as long as the document could not be read
	included map[string]*language.Index
	unit     *compile.Unit // the newest without a mistake
}

// knownOf is what is known of a document.
func (d *documents) knownOf(doc *document) *known {
	k := d.known[doc.uri]
	if k == nil {
		k = new(known)
		d.known[doc.uri] = k
	}
	if k.of != doc {
		k.of, k.is = doc, sortOf(doc)
		if len(doc.text.String()) <= maxIndexed {
			if x := language.NewIndex(doc.text); x != nil {
				k.index = x
			}
		}
	}
	return k
}

// maxIndexed is how long a document may be whose names are looked for: a declaration is no longer.
const maxIndexed = 1 << 20

// file is what a file declares.
type file struct {
	uri   string
	index *language.Index
}

// around is what is declared in a document, in what it includes, and in the declarations that include it, with the
// units of these.
func (d *documents) around(doc *document) (files []file, units []*compile.Unit) {
	for _, of := range d.declaring(doc) {
		k := d.knownOf(of)
		if k.index != nil {
			files = append(files, file{of.uri, k.index})
		}
		for _, path := range slices.Sorted(maps.Keys(k.included)) {
			if path != doc.path {
				files = append(files, file{d.uriOf(path), k.included[path]})
			}
		}
		if k.unit != nil {
			units = append(units, k.unit)
		}
	}
	return files, units
}

// declaring are a document and the declarations that include it.
func (d *documents) declaring(doc *document) []*document {
	all := []*document{doc}
	for _, uri := range slices.Sorted(maps.Keys(d.told)) {
		if _, about := d.told[uri][doc.uri]; about && uri != doc.uri && d.open[uri] != nil {
			all = append(all, d.open[uri])
		}
	}
	return all
}

// typeOf is the type of a name in an expression at a path, as far as it is known.
func typeOf(units []*compile.Unit, path []string, name string) (t expression.Type, ok bool) {
	for _, u := range units {
		if name == language.Vars {
			return u.VarsType, true
		}
		if path[0] == language.Accumulators {
			for i := range u.Spec.Accumulators {
				a := &u.Spec.Accumulators[i]
				if len(path) > 1 && a.Name == path[1] && name == "event" && a.Schema != nil {
					return expression.FromSchema(a.Schema), true
				}
			}
			continue
		}
		for i := range u.Spec.Accumulators {
			if u.Spec.Accumulators[i].Name == name {
				return u.InputType(i), true
			}
		}
		for _, n := range u.Plan.Nodes() {
			if n.Name == name {
				return n.Type, true
			}
		}
	}
	return t, false
}

// typeBehind is the type of what stands before a dot.
func typeBehind(units []*compile.Unit, path, chain []string) (t expression.Type, ok bool) {
	if t, ok = typeOf(units, path, chain[0]); !ok {
		return t, false
	}
	for _, field := range chain[1:] {
		if t, ok = t.Field(field); !ok {
			return t, false
		}
	}
	return t, true
}
