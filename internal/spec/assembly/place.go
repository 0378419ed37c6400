package assembly

import (
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/document"
)

// spot is a node of the text that was made, and the one of a file that it comes from.
type spot struct {
	line, column int // of the text
	node, from   *yaml.Node
	source       *source
	text         *document.Source // of the text that was made
}

// spots goes along two trees of the same form.
func spots(root *yaml.Node, again *document.Document, own *source, owners map[*yaml.Node]*source) []spot {
	var list []spot
	var walk func(from, node *yaml.Node, s *source)
	walk = func(from, node *yaml.Node, s *source) {
		if other, ok := owners[from]; ok {
			s = other
		}
		list = append(list, spot{node.Line, node.Column, node, from, s, again.Source})
		for i := range from.Content {
			walk(from.Content[i], node.Content[i], s)
		}
	}
	walk(root, again.Root, own)
	slices.SortStableFunc(list, func(a, b spot) int { return cmp.Or(a.line-b.line, a.column-b.column) })
	return list
}

// firstOn is how a diagnostic names another line of the document.
var firstOn = regexp.MustCompile(`, first on line ([0-9]+); `)

// Place has the diagnostics of the text name the files that what they are about stands in, and the places there. It
// changes the list, and answers with it in the order of the files.
func (w *Document) Place(found decode.Diagnostics) decode.Diagnostics {
	if w.broken { // its includes were not followed, and that is not what is wrong with it
		found = slices.DeleteFunc(found, func(d decode.Diagnostic) bool { return d.Code == decode.CodeBadInclude })
	}
	if len(w.spots) == 0 {
		return found
	}
	anchors := map[*source]document.Anchors{} // a document may have many, and each diagnostic asks for them
	for i := range found {
		d := &found[i]
		if at := firstOn.FindStringSubmatchIndex(d.Text); at != nil {
			line, _ := strconv.Atoi(d.Text[at[2]:at[3]])
			s, line, _ := w.real(line, 1<<20)
			d.Text = d.Text[:at[2]] + strconv.Itoa(line) + " of " + s.name + d.Text[at[3]:]
		}
		var s *source
		s, d.Line, d.Column = w.real(d.Line, d.Column)
		if _, known := anchors[s]; !known {
			anchors[s] = s.doc.Anchors()
		}
		d.File, d.Text = s.name, anchors[s].Noted(d.Text, d.Line, d.Column)
	}
	return sorted(found, w.sources)
}

// real is the place of a file that a place of the text comes from.
func (w *Document) real(line, column int) (s *source, atLine, atColumn int) {
	after := sort.Search(len(w.spots), func(i int) bool {
		at := &w.spots[i]
		return at.line > line || at.line == line && at.column > column
	})
	if after == 0 {
		return w.sources[0], 1, 1
	}
	at := &w.spots[after-1]
	if at.line == line && at.column == column || at.node.Kind != yaml.ScalarNode || document.Copied(at.from) {
		return at.source, at.from.Line, at.from.Column
	}
	offset := sort.Search(len(at.node.Value), func(i int) bool {
		l, c := at.text.Within(at.node, at.node.Value, i+1)
		return l > line || l == line && c > column
	})
	atLine, atColumn = at.source.doc.Source.Within(at.from, at.from.Value, offset)
	return at.source, atLine, atColumn
}

// sorted orders diagnostics by the files that they name, and within these by their places.
func sorted(found decode.Diagnostics, sources []*source) decode.Diagnostics {
	rank := func(d decode.Diagnostic) int {
		return slices.IndexFunc(sources, func(s *source) bool { return s.name == d.File })
	}
	slices.SortStableFunc(found, func(a, b decode.Diagnostic) int {
		return cmp.Or(rank(a)-rank(b), a.Line-b.Line, a.Column-b.Column)
	})
	return found
}
