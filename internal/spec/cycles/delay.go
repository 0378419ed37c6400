// Package cycles is what a declaration says of nodes that come of themselves: [Delay], the nodes that are read as of
// the last epoch, and [Loop], those that run until they agree within one.
package cycles

import (
	"slices"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Name is a name in a list, and where it stands.
type Name struct {
	Name string
	Pos  decode.Pos
}

// Delay are the nodes that a node reads as of the last kept epoch, in the document's order.
type Delay []Name

// ReadDelay reads a list of nodes. Whether they are there is for who knows all of them.
func ReadDelay(d *decode.Decoder, v decode.Value) Delay { return names(d, v) }

// Has says whether a node is read as of the last kept epoch.
func (l Delay) Has(name string) bool {
	return slices.ContainsFunc(l, func(n Name) bool { return n.Name == name })
}

// Canonical writes the nodes, whose order means nothing.
func (l Delay) Canonical(t *meaning.Tree) {
	if len(l) == 0 {
		return
	}
	b := t.Branch("delay")
	for _, name := range l.Sorted() {
		b.Leaf(name, "delayed")
	}
}

// Sorted are the names in alphabetical order.
func (l Delay) Sorted() []string {
	sorted := make([]string, len(l))
	for i, n := range l {
		sorted[i] = n.Name
	}
	slices.Sort(sorted)
	return sorted
}

// names reads a list of nodes, each of them once.
func names(d *decode.Decoder, v decode.Value) (list []Name) {
	if !d.List(v, "a list of nodes") {
		return nil
	}
	for _, item := range d.OneOrMore(v, decode.MaxEntries, "a list of nodes") {
		name := d.NameOf(item, "node")
		switch {
		case name == "":
		case Delay(list).Has(name):
			d.Report(item.Here(), decode.CodeDuplicateEntry, "", "%s is listed twice; remove one", item.Shown())
		default:
			list = append(list, Name{name, item.Here().Pos()})
		}
	}
	return list
}
