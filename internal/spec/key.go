package spec

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// maxKeyParts bounds a composite key: each part is evaluated for every event.
const maxKeyParts = 8

// Keyed reports whether the graph has keys: the reactor's, or one of an accumulator.
func (g *Graph) Keyed() bool {
	return g.Reactor.Keys != nil || slices.ContainsFunc(g.Accumulators, func(a Accumulator) bool { return a.Keys != nil })
}

// KeyParts is how many values make a key; 0 in a graph without keys.
func (g *Graph) KeyParts() int {
	if g.Reactor.Keys != nil {
		return len(g.Reactor.Keys)
	}
	for i := range g.Accumulators {
		if n := len(g.Accumulators[i].Keys); n > 0 {
			return n
		}
	}
	return 0
}

// keys reads the expressions that make a key: one, or a list of them.
func (d *decoder) keys(v value) []Expr {
	if v.node.Kind != yaml.SequenceNode || d.doc.Unreadable(v.node) != "" {
		return []Expr{d.expr(v)}
	}
	list := make([]Expr, 0, len(v.node.Content))
	switch n := len(v.node.Content); {
	case n == 0:
		d.report(v.node, v.at, CodeEmptyValue, "", "expected an expression or a list of them, found an empty list; name at least one, or remove it")
	case n > maxKeyParts:
		d.report(v.node, v.at, CodeTooMany, "", "the key has %d parts, more than the %d allowed; shorten it", n, maxKeyParts)
	default:
		for i := range v.node.Content {
			list = append(list, d.expr(v.item(i)))
		}
	}
	return list
}

func readKey(d *decoder, v value, a *Accumulator) {
	a.Keys = d.keys(v)
	d.links.accumulators[len(d.links.accumulators)-1].key = v
}

// ofKeys notes a field that has a meaning only where there are keys.
func (d *decoder) ofKeys(v value) { d.links.ofKeys = append(d.links.ofKeys, v) }

// checkKeys checks that in a keyed graph every input that is not global has a key, all of
// the same number of parts, and that elsewhere nobody speaks of keys.
func (d *decoder) checkKeys(g *Graph) {
	if !g.Keyed() {
		for _, v := range d.links.ofKeys {
			d.report(v.key, v.at, CodeNoKey, "", "%s is about keys, and this graph has none; give reactor.key, or remove it", v.key.Value)
		}
		return
	}
	parts := g.KeyParts()
	for i := range g.Accumulators {
		a, at := &g.Accumulators[i], d.links.accumulators[i]
		shown := document.Quote(a.Name)
		switch {
		case a.Global && a.Keys != nil:
			d.report(at.key.key, at.key.at, CodeConflict, "", "%s is global: one value for all keys, so it has no key; remove one of the two", shown)
		case a.Global:
		case a.Kind == "window" && a.Keys != nil:
			d.report(at.key.key, at.key.at, CodeConflict, "", "%s is a window, and what it hands over is of many events: group them by window.key, and let reactor.key name a field of the result; remove key", shown)
		case a.Kind == "window" && g.Reactor.Keys == nil && a.Window.Key != nil:
			if len(a.Window.Key) != parts {
				d.report(at.value.key, at.value.at, CodeKeyParts, "", "the key of the window has %d parts, the others have %d; keys are equal only part by part", len(a.Window.Key), parts)
			}
		case a.Keys == nil && g.Reactor.Keys == nil:
			d.report(at.value.key, at.value.at, CodeNoKey, "", "the graph has keys, and %s has none; give it a key, give reactor.key, or make it global", shown)
		case len(a.Keys) > 0 && parts > 0 && len(a.Keys) != parts:
			d.report(at.key.node, at.key.at, CodeKeyParts, "", "the key has %d parts, the others have %d; keys are equal only part by part", len(a.Keys), parts)
		case a.Kind == "batch" || a.Kind == "state":
			d.report(at.value.key, at.value.at, CodeNotYetSupported, "", "%s hands over lists of events, which may be of many keys: a %s per key is not supported by this version yet; make it global, or use a graph without keys", shown, a.Kind)
		}
	}
}
