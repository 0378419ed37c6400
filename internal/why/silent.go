package why

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/api"
)

// The codes of why a node or an output of an epoch gave nothing new.
const (
	CodeCutOff        = "cut_off"
	CodeRouteNotTaken = "route_not_taken"
	CodeNoRoute       = "no_route"
	CodeNoValue       = "no_value"
	CodeNotDue        = "not_due"
	CodeNodeFailed    = "node_failed"
	CodeEpochFailed   = "epoch_failed"
	CodeNull          = "output_null"
	CodeOutputWhere   = "output_where"
	CodeUnchanged     = "output_unchanged"
)

// What a record says of a node.
const (
	ran     = "ran"
	cutOff  = "cut_off"
	skipped = "skipped"

	loopSkipped = "skipped" // why a loop ended
	failed      = "failed"
)

// isNull says that there is no value.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// fits says that a record has what an output sends out: one from before the present declaration may not.
func (p *Picture) fits(f *api.FiringDetail, name string) bool {
	o := p.outputs[name]
	if o == nil || !f.OK { // a failed epoch may have run no node
		return o != nil
	}
	if p.nodes[o.From] != nil {
		_, there := f.Nodes[o.From]
		return there
	}
	_, there := f.Cut[o.From]
	return there || p.accumulator(o.From) == nil
}

// output says why an output gave nothing in an epoch; nil where it gave something.
func (p *Picture) output(f *api.FiringDetail, name string) *api.Because {
	o := p.outputs[name]
	if _, gave := f.Outputs[name]; gave || o == nil {
		return nil
	}
	var b *api.Because
	switch n := p.nodes[o.From]; {
	case !f.OK:
		b = &api.Because{Code: CodeEpochFailed, Detail: "the epoch failed, and a failed epoch gives nothing",
			Do: "see why with 'graphd firings " + p.name + " " + epochText(f) + "', and 'graphd dead-letters " +
				p.name + "'"}
		if f.Error != nil {
			b.Detail += ": " + *f.Error
		}
	case n != nil && f.Nodes[n.Name].Status != ran:
		b = p.node(f, n.Name, map[string]bool{})
	case n == nil && p.accumulator(o.From) == nil:
		b = &api.Because{Code: CodeNotDue, Detail: "the epoch took nothing of any input, which " + name + " sends out"}
	case n == nil && !f.Cut[o.From].Taken:
		b = &api.Because{Code: CodeNotDue, Input: o.From,
			Detail: fmt.Sprintf("the epoch took nothing of input %s, which %s sends out", o.From, name)}
	default:
		b = p.withheld(f, o)
	}
	if b != nil {
		b.Output = name
	}
	return b
}

// withheld says why an output kept back a value that it had.
func (p *Picture) withheld(f *api.FiringDetail, o *output) *api.Because {
	v := f.Inputs[o.From]
	if p.nodes[o.From] != nil {
		v = f.Nodes[o.From].Value
	}
	b := &api.Because{Values: map[string]json.RawMessage{o.From: v}}
	switch {
	case isNull(v) && !o.EmitNull:
		b.Code, b.Detail = CodeNull, fmt.Sprintf("%s came to null, which output %s does not send out", o.From, o.Name)
		b.Do = "say emit_null: true where null means something to who receives it"
	case o.Where && o.Emit == "on_change":
		b.Code = CodeOutputWhere
		b.Detail = fmt.Sprintf("the value of %s does not meet the where of output %s (%s), or is what it sent "+
			"out last (emit: on_change)", o.From, o.Name, p.outputWhere(o.Name))
	case o.Where:
		b.Code = CodeOutputWhere
		b.Detail = fmt.Sprintf("the value of %s does not meet the where of output %s: %s", o.From, o.Name,
			p.outputWhere(o.Name))
	case o.Emit == "on_change":
		b.Code, b.Detail = CodeUnchanged, fmt.Sprintf("%s is what output %s sent out last, and it says emit: on_change",
			o.From, o.Name)
	default:
		b.Code, b.Detail = CodeNoValue, o.From+" has no value"
	}
	return b
}

// node says why a node came to nothing new in an epoch; nil where it did, and where that is told of another node that
// has been seen.
func (p *Picture) node(f *api.FiringDetail, name string, seen map[string]bool) *api.Because {
	n, did := p.nodes[name], f.Nodes[name]
	if n == nil || seen[name] {
		return nil
	}
	seen[name] = true
	switch did.Status {
	case ran:
		if len(n.Routes) > 0 && isNull(did.Value) {
			return &api.Because{Code: CodeNoRoute, Node: name, Detail: "no condition of route " + name + " held",
				Do: "give it a last route whose condition is always true"}
		}
		return nil
	case cutOff, failed:
		return ofItself(name, &did)
	case skipped:
		return p.skipped(f, n, seen)
	}
	return p.idle(f, n, seen)
}

// skipped says why a node that was due has not run.
func (p *Picture) skipped(f *api.FiringDetail, n *node, seen map[string]bool) *api.Because {
	if b := p.shut(f, n, seen); b != nil {
		return b
	}
	if f.Nodes[n.Name].Ended == loopSkipped {
		for _, e := range n.until {
			if b := p.lacks(f, n, e, "the condition that ends the loop of node "+n.Name, seen); b != nil {
				return b
			}
		}
	}
	for _, e := range n.rests {
		if e.Kind != plainEdge {
			continue
		}
		if b := p.lacks(f, n, e, "node "+n.Name, seen); b != nil {
			return b
		}
	}
	return &api.Because{Code: CodeNoValue, Node: n.Name,
		Detail: fmt.Sprintf("node %s reads something that had no value", n.Name)}
}

// lacks says that there was no value of what a node rests on by e, which the reader reads; nil where there was one.
func (p *Picture) lacks(f *api.FiringDetail, n *node, e edge, reader string, seen map[string]bool) *api.Because {
	if p.nodes[e.From] == nil {
		if _, arrived := f.Inputs[e.From]; arrived && !isNull(f.Inputs[e.From]) {
			return nil
		}
		return &api.Because{Code: CodeNoValue, Node: n.Name, Input: e.From,
			Detail: fmt.Sprintf("%s reads input %s, which had no value: nothing had arrived", reader, e.From),
			Do: "see to who sends it, give it a default, or read it as " + e.From + "?.field or " +
				e.From + " ?? 0"}
	}
	if !isNull(f.Nodes[e.From].Value) {
		return nil
	}
	if b := p.node(f, e.From, seen); b != nil {
		return b
	}
	return &api.Because{Code: CodeNoValue, Node: n.Name,
		Detail: fmt.Sprintf("%s reads node %s, which had no value", reader, e.From)}
}

// shut says which of the gates that a node comes after has kept it; nil where they were open.
func (p *Picture) shut(f *api.FiringDetail, n *node, seen map[string]bool) *api.Because {
	var gates []edge
	open := 0
	for _, e := range n.rests {
		if e.Kind != afterEdge {
			continue
		}
		if gates = append(gates, e); gateOpen(f, e) {
			open++
			continue
		}
	}
	all := p.afterAll(n.Name)
	if len(gates) == 0 || open == len(gates) || open > 0 && !all {
		return nil
	}
	for _, e := range gates {
		if gateOpen(f, e) {
			continue
		}
		if v := f.Nodes[e.From].Value; e.Route != "" && !isNull(v) {
			return &api.Because{Code: CodeRouteNotTaken, Node: n.Name, Values: map[string]json.RawMessage{e.From: v},
				Detail: fmt.Sprintf("node %s comes after route %s.%s, and %s took %s", n.Name, e.From, e.Route, e.From,
					strings.Trim(string(v), `"`))}
		}
		if b := p.node(f, e.From, seen); b != nil && b.Code != CodeCutOff {
			return b
		}
		return &api.Because{Code: CodeNoValue, Node: n.Name,
			Detail: fmt.Sprintf("node %s comes after %s, which had no value", n.Name, e.From)}
	}
	return nil
}

func gateOpen(f *api.FiringDetail, e edge) bool {
	v := f.Nodes[e.From].Value
	if e.Route == "" {
		return !isNull(v)
	}
	var took string
	return json.Unmarshal(v, &took) == nil && took == e.Route
}

func (p *Picture) afterAll(name string) bool {
	for i := range p.spec.Nodes {
		if p.spec.Nodes[i].Name == name {
			return p.spec.Nodes[i].AfterAll
		}
	}
	return false
}

// idle says why a node was not due: who before it has cut it off, or that nothing it rests on was new.
func (p *Picture) idle(f *api.FiringDetail, n *node, seen map[string]bool) *api.Because {
	for _, e := range n.rests {
		if p.nodes[e.From] == nil {
			continue
		}
		if b := p.node(f, e.From, seen); b != nil && b.Code != CodeNotDue {
			return b
		}
	}
	inputs := p.roots(n.Name, map[string]bool{})
	detail := "nothing that it rests on had changed"
	if len(inputs) > 0 {
		detail = "the epoch had nothing new of " + list(inputs, "or") + ", on which it rests"
	}
	return &api.Because{Code: CodeNotDue, Node: n.Name, Detail: fmt.Sprintf("node %s was not due: %s", n.Name, detail)}
}

// roots are the inputs that a node rests on, directly or not.
func (p *Picture) roots(name string, seen map[string]bool) (inputs []string) {
	if seen[name] {
		return nil
	}
	seen[name] = true
	n := p.nodes[name]
	if n == nil {
		return []string{name}
	}
	for _, e := range n.rests {
		inputs = append(inputs, p.roots(e.From, seen)...)
	}
	return inputs
}

// epochText is an epoch as the command line takes it.
func epochText(f *api.FiringDetail) string {
	if f.Shard > 0 {
		return fmt.Sprintf("%d/%d", f.Shard, f.Epoch)
	}
	return fmt.Sprint(f.Epoch)
}

// plural is "1 event", "2 events".
func plural(n int64, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "y"):
		what = strings.TrimSuffix(what, "y") + "ies"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// list is names as a sentence has them.
func list(names []string, word string) string {
	switch n := len(names); n {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " " + word + " " + names[n-1]
	}
}
