package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/cuts"
	"github.com/graphd/graphd/internal/spec"
)

// outputs resolves where each output's value comes from.
func (c *compiler) outputs(order []int) []Output {
	position, scope := positions(order), c.outputScope(order)
	outputs := make([]Output, len(c.g.Outputs))
	for i := range c.g.Outputs {
		o := &c.g.Outputs[i]
		outputs[i] = Output{Name: o.Name, From: o.From, Node: -1, Input: -1, OnChange: o.Emit == "on_change",
			EmitNull: o.EmitNull, Fresh: o.Fresh, cell: -1}
		at, known := c.index[o.From]
		switch n := at - len(c.inputs); {
		case o.From == "": // it is missing, which has been said
		case !known && o.From == spec.FromReactor:
			outputs[i].Cut = true
		case !known:
			c.report(o.FromPos, spec.CodeUnknownName, fmt.Sprintf("there is no node or accumulator %s to send out",
				o.From), "")
		case n >= len(c.units):
			c.report(o.FromPos, codeNotANode,
				fmt.Sprintf("%s is not a node or accumulator; an output sends the value of one", o.From), "")
		case n >= 0:
			outputs[i].Node = position[n]
		default:
			outputs[i].Input = at
			c.refuseTable(o.FromPos, at, "send out a node, such as one with values("+o.From+")")
			c.refuseSide(o.FromPos, at)
		}
		outputs[i].where = c.condition(o, &outputs[i], scope)
	}
	return outputs
}

// addCuts lays out the cuts, where an output puts them out: of all inputs that have a value of their own.
func (c *compiler) addCuts(p *Plan) {
	if !slices.ContainsFunc(p.outputs, func(o Output) bool { return o.Cut }) {
		return
	}
	var shown []cuts.Input
	for i := range p.inputs {
		if in := &p.inputs[i]; !in.isTable() && in.JoinedBy == "" {
			shown = append(shown, cuts.Input{Name: in.Name, At: i, Type: in.Type})
			p.reads[i].whole = true
		}
	}
	p.cuts = cuts.New(shown, c.g.Keyed())
}

// Cuts is how cuts are written; nil where no output puts them out.
func (p *Plan) Cuts() *cuts.Layout { return p.cuts }

// condition compiles what a value must meet to go out; nil when there is nothing, or it is wrong.
func (c *compiler) condition(o *spec.Output, at *Output, scope *names) *expression.Program {
	if o.Where.IsZero() {
		return nil
	}
	value := &scope.all[c.varsIndex()+2+valueName]
	switch {
	case at.Node >= 0:
		value.Type = scope.all[len(c.inputs)+at.Node].Type
	case at.Input >= 0:
		value.Type = c.inputs[at.Input].Type
	default:
		value.Type = expression.Any()
	}
	program, err := scope.compile(o.Where.Text, expression.CompileBool)
	if err != nil {
		c.reportExpression(o.Where, err)
		return nil
	}
	for _, read := range program.Reads() {
		if read.Name < len(c.inputs) {
			c.refuseSide(o.Where.Pos, read.Name)
		}
	}
	return program
}

// OutputReads are the names of the inputs and nodes that output k's condition reads, and not as its value.
func (p *Plan) OutputReads(k int) (names []string) {
	if p.outputs[k].where == nil {
		return nil
	}
	for _, r := range p.outputs[k].where.Reads() {
		if r.Name < len(p.inputs)+len(p.nodes) {
			names = append(names, p.nameOf(r.Name))
		}
	}
	return names
}

// emit finds what the outputs send out: the values of what ticked in this epoch, or all current
// values where the epoch is to show them.
func (p *Plan) emit(r *Result) {
	for k := range p.outputs {
		o := &p.outputs[k]
		var v boundary.Value
		switch {
		case o.Input >= 0 && (r.emitAll || r.news.Has(o.Input)):
			v = r.env.Values[o.Input]
		case o.Node >= 0 && (r.emitAll || r.ticked.Has(o.Node)):
			v = r.values[o.Node]
		}
		if v.IsAbsent() || o.cell >= 0 && !r.emitAll && boundary.Equal(r.state.cells[o.cell], v) {
			continue
		}
		if v.IsNull() && !o.EmitNull || o.where != nil && !r.passes(o, v) {
			if r.Err != nil {
				return
			}
			r.Filtered = append(r.Filtered, k)
			continue
		}
		r.Emitted = append(r.Emitted, Emission{Output: k, Value: v})
	}
}

// passes says whether a value meets its output's condition. One that plainly reads what is
// absent does not hold; one that cannot be evaluated makes the epoch fail.
func (r *Result) passes(o *Output, v boundary.Value) (holds bool) {
	defer func() {
		if recovered := recover(); recovered != nil {
			r.renewEnv()
			r.conditionFailed(panicOf(-1, o.Name, recovered))
			holds = false
		}
	}()
	own := r.env.Values[len(r.plan.inputs)+len(r.plan.nodes)+2:]
	own[valueName], own[epochName], own[outputName] = v, boundary.Int(r.env.Epoch), boundary.String(o.Name)
	holds, err := o.where.EvalBool(&r.env)
	clear(own)
	if err != nil && !errors.Is(err, expression.ErrAbsent) {
		r.conditionFailed(errorOf(-1, o.Name, err))
	}
	return holds && err == nil
}

func (r *Result) conditionFailed(err *NodeError) {
	err.Text = fmt.Sprintf("output %s: where: %s", err.Name, err.Text)
	r.Err, r.limit = err, len(r.plan.nodes)
}
