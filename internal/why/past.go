package why

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/api"
)

// A record tells of the declaration that its epoch ran under by names alone. Where that is not the present one, the
// guard, conditions and what rests on what are of another graph, and would explain something that was not so.

// recorded tells of an epoch that ran, or may have run, under another declaration: what its record has, and what has
// become of what it gave.
func (p *Picture) recorded(x *Facts, w *api.Why) {
	f := x.Firing
	w.Cause = p.recordedCause(f)
	var inputs, nodes, outputs []string
	for i := range p.spec.Accumulators {
		inputs = append(inputs, p.spec.Accumulators[i].Name)
	}
	for i := range p.spec.Nodes {
		nodes = append(nodes, p.spec.Nodes[i].Name)
	}
	for i := range p.spec.Outputs {
		outputs = append(outputs, p.spec.Outputs[i].Name)
	}
	for _, name := range inOrder(f.Cut, inputs) {
		w.Inputs = append(w.Inputs, p.input(x, name))
	}
	for _, name := range inOrder(f.Nodes, nodes) {
		did := f.Nodes[name]
		w.Nodes = append(w.Nodes, api.WhyNode{Name: name, Status: did.Status, Value: orNull(did.Value),
			Because: ofItself(name, &did)})
	}
	for _, name := range inOrder(f.Outputs, outputs) {
		if i := slices.Index(outputs, name); i >= 0 {
			w.Outputs = append(w.Outputs, p.given(x, i))
			continue
		}
		w.Outputs = append(w.Outputs, api.WhyOutput{Name: name, Fate: unknown, Value: orNull(f.Outputs[name]),
			Detail: notKnown + "the graph has the output no more"})
	}
	if w.Sentence = p.sentence(w); f.OK && len(w.Outputs) == 0 {
		w.Sentence += "; no output gave anything"
	}
	if x.Revision == nil {
		w.Sentence += "; which declaration it ran under is not known"
	} else {
		w.Sentence += "; it ran under a declaration that is not the present one"
	}
	w.Sentence += ", so that its guard and conditions are not told"
}

// recordedCause puts into words what made an epoch run, as far as its record says so.
func (p *Picture) recordedCause(f *api.FiringDetail) api.Reason {
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(f.Cut)) {
		if f.Cut[name].Taken {
			taken = append(taken, name)
		}
	}
	detail := ""
	switch f.Cause {
	case "criteria":
		if detail = "something new had arrived"; len(taken) > 0 {
			detail = list(taken, "and") + " had something new"
		}
	case "tick":
		if detail = "its cadence was due, with nothing new"; len(f.Lanes) > 0 {
			detail = "the cadence of " + list(f.Lanes, "and") + " was due, with nothing new"
		}
	case "max_wait":
		detail = list(taken, "and") + " had waited for as long as max_wait allowed"
	default: // an operator's, which no declaration has to do with
		return p.cause(f)
	}
	return api.Reason{Code: f.Cause, Detail: detail}
}

// inOrder are the names in a part of a record: those that are declared in their order, and then the others.
func inOrder[V any](record map[string]V, declared []string) (names []string) {
	for _, name := range declared {
		if _, there := record[name]; there {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(record)) {
		if !slices.Contains(declared, name) {
			names = append(names, name)
		}
	}
	return names
}

// ofItself says why a node came to nothing new, where what it did says it whatever it rests on.
func ofItself(name string, did *api.NodeRecord) *api.Because {
	switch did.Status {
	case cutOff:
		return &api.Because{Code: CodeCutOff, Node: name, Values: map[string]json.RawMessage{name: did.Value},
			Detail: "node " + name + " ran and came to what it was before: nothing that rests on it alone runs",
			Do:     "where every event matters, and not only a change, say event: true of the node"}
	case failed:
		b := &api.Because{Code: CodeNodeFailed, Node: name, Detail: "node " + name + " failed"}
		if did.Error != nil {
			b.Detail += ": " + *did.Error
		}
		return b
	}
	return nil
}
