package scenario

import "go.yaml.in/yaml/v3"

// What a few lines of aliases could make of themselves is bounded.
const (
	maxValues = 1_000_000
	maxBytes  = 16 << 20 // beside those of the document itself
)

// size is how much a node is, counted as often as aliases name what is in it.
type size struct{ values, bytes int }

// sizeOf is the size of a node. One that is within itself has too many values.
func sizeOf(n *yaml.Node, known map[*yaml.Node]size) size {
	if of, ok := known[n]; ok {
		return of
	}
	known[n] = size{values: maxValues + 1} // until it is known: who meets it now is within it
	of := size{1, len(n.Value)}
	within := n.Content
	if n.Alias != nil {
		within = []*yaml.Node{n.Alias}
	}
	for _, inner := range within {
		more := sizeOf(inner, known)
		of = size{min(of.values+more.values, maxValues+1), min(of.bytes+more.bytes, 1<<40)}
	}
	known[n] = of
	return of
}
