package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/spec"
)

// joinsLast are the accumulators in the order in which they are compiled: what a join hands over is made of what its
// sides do, which may be declared after it.
func joinsLast(g *spec.Graph) (order []int) {
	begun := make([]bool, len(g.Accumulators)) // joins that are made of themselves are wrong, and end all the same
	var add func(i int)
	add = func(i int) {
		if begun[i] {
			return
		}
		begun[i] = true
		for _, name := range joinNames(&g.Accumulators[i]) {
			if side := named(g, name); side >= 0 && g.Accumulators[side].JoinedBy == g.Accumulators[i].Name {
				add(side) // else it is wrong, which has been told
			}
		}
		order = append(order, i)
	}
	for i := range g.Accumulators {
		add(i)
	}
	return order
}

// named is the place of an accumulator, -1 where there is none of the name.
func named(g *spec.Graph, name string) int {
	return slices.IndexFunc(g.Accumulators, func(a spec.Accumulator) bool { return a.Name == name })
}

// joinOptions fills in what is otherwise where a join takes what an accumulator hands over, and at a join: a side is
// keyed by what it is joined on, and says of each event when it happened.
func (u *Unit) joinOptions(a *spec.Accumulator, o *accumulator.CompileOptions) {
	if on := u.Spec.JoinedOn(a); on != nil {
		o.Keys, o.Keyed, o.Dates = on, true, true
	}
	if !a.Joins() {
		return
	}
	for side, name := range a.Folding().Joins.Names {
		o.Sides[side] = unknownSide
		if p := u.program(name); p != nil && !u.Spec.Unsure[name] {
			o.Sides[side] = p.AsSide()
		}
	}
}

// unknownSide is what is known of a side that is wrong, which has been told.
var unknownSide fold.Side

// joinNames are the accumulators that a join takes; none for all others.
func joinNames(a *spec.Accumulator) []string {
	if !a.Joins() {
		return nil
	}
	names := a.Folding().Joins.Names
	return names[:]
}

// sides are the inputs that a join takes, the left one first.
func (u *Unit) sides(a *spec.Accumulator) (inputs []int) {
	for _, name := range joinNames(a) {
		inputs = append(inputs, named(u.Spec, name))
	}
	return inputs
}

// identity names what the state of an accumulator belongs to. What a join keeps are its sides' values, as of their
// times: what these are made of is part of it.
func (u *Unit) identity(a *spec.Accumulator) string {
	text := a.Identity()
	for _, i := range u.sides(a) {
		if i < 0 {
			continue // it is wrong, which has been told
		}
		side := &u.Spec.Accumulators[i]
		if side.Joins() && side.JoinedBy == a.Name {
			text += ";" + u.identity(side)
			continue
		}
		text += fmt.Sprintf(";%q/%q/%q/%q", side.Time.Text, side.TimeUnit, side.Timezone, side.EmitExpr.Text)
		for _, f := range side.Emit {
			text += fmt.Sprintf("/%q:%q", f.Name, f.Expr.Text)
		}
	}
	return text
}

// joinUndealt says why what a join hands over is not of the shard that its events were dealt to, by what they are
// joined on, and what to do about it; "" when it is.
func (u *Unit) joinUndealt(a *spec.Accumulator, p *accumulator.Program) string {
	on := a.Folding().Joins.On
	if len(on[0]) != len(on[1]) {
		return "" // which has been told
	}
	same := make([]string, len(on[0])) // the fields under which a boundary has the parts
	for i := range same {
		if l, r := strings.TrimSpace(on[0][i].Text), strings.TrimSpace(on[1][i].Text); l == r {
			same[i] = l
		}
	}
	keys := u.Spec.Reactor.Keys
	key := make([]string, len(keys))
	for i := range keys {
		key[i] = strings.TrimSpace(keys[i].Text)
	}
	names := p.GroupFields()
	switch {
	case len(keys) == 0: // the key of the join is its own
		return ""
	case a.JoinedBy != "": // what it hands over is not the graph's
		return ""
	case len(same) == 1 && key[0] == "key" && len(key) == 1:
		return ""
	case slices.Equal(key, same) &&
		!slices.ContainsFunc(same, func(s string) bool { return !slices.Contains(names, s) }):
		return ""
	case len(same) == 1:
		return "its events are dealt by what they are joined on, and the reactor's key is another: write reactor: " +
			"{ key: key }"
	}
	return "its events are dealt by what they are joined on, and the reactor's key is another: join on fields that " +
		"both sides have under the same names, and let reactor.key be the same list"
}
