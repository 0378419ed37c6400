package spec

import (
	"slices"

	"github.com/graphd/graphd/internal/spec/decode"
)

// Joins reports whether the accumulator is a join: it takes what two others hand over.
func (a *Accumulator) Joins() bool {
	sides := a.Folding().Joins
	return sides.Any()
}

// Fed reports whether the accumulator has no source and no socket: a node of the graph feeds it, or it is a join.
func (a *Accumulator) Fed() bool { return a.From != "" || a.Joins() }

// FedBy says in words what feeds an accumulator that is [Accumulator.Fed].
func (a *Accumulator) FedBy() string {
	if a.From != "" {
		return "fed by the node " + a.From + " of its graph"
	}
	sides := a.Folding().Joins
	return "a join of " + sides.Names[0] + " and " + sides.Names[1]
}

// JoinedOn is what an accumulator that a join takes is joined on; nil for all others.
func (g *Graph) JoinedOn(a *Accumulator) []Expr {
	i := slices.IndexFunc(g.Accumulators, func(j Accumulator) bool { return j.Name == a.JoinedBy })
	if a.JoinedBy == "" || i < 0 {
		return nil
	}
	sides := g.Accumulators[i].Folding().Joins
	return sides.On[slices.Index(sides.Names[:], a.Name)]
}

// sideless are the fields that a join has no use for: it takes what others have read, shaped and filtered.
var sideless = []string{"source", "from", "schema", "where", "emit", "time", "time_unit", "timezone", "key",
	"partitioned", "global", "default", "sync_group"}

// checkSideless refuses what only an input with events of its own can have.
func (d *draft) checkSideless(a *Accumulator, got decode.Given) {
	if !a.Joins() {
		return
	}
	for _, name := range sideless {
		if v, given := got[name]; given {
			d.Report(v.Name(), decode.CodeConflict, "", "%s is a join, which takes what its two inputs hand over: "+
				"remove %s, or give it to these", decode.Quote(a.Name), name)
		}
	}
	a.Keys, a.SyncGroup, a.HasDefault, a.Global = nil, "", false, false
}

// checkJoins checks the sides of joins, and has these know whose they are.
func (d *draft) checkJoins() {
	for i := range d.Accumulators {
		a, at := &d.Accumulators[i], d.links.accumulators[i].kind
		if !a.Joins() {
			continue
		}
		sides := a.Folding().Joins
		for side, field := range []string{"left", "right"} {
			if v := at.Find([]string{field}); v.Given() && sides.Names[side] != "" {
				d.checkSide(a, sides.Names[side], v)
			}
		}
		if d.Clock == "arrival" {
			d.Report(d.links.accumulators[i].Name(), decode.CodeConflict, "", "%s joins by the times of events, and "+
				"this graph goes by their arrival: %s", decode.Quote(a.Name), d.toEventClock())
		}
	}
}

// checkSide checks an input that a join takes.
func (d *draft) checkSide(join *Accumulator, name string, at value) {
	names := accumulatorNames(d.Graph)
	i := slices.Index(names, name)
	if i < 0 {
		d.Report(at.Here(), decode.CodeUnknownName, d.Nearest(name, names),
			"there is no accumulator %s; declare it or correct the name", at.Shown())
		return
	}
	a, side := &d.Accumulators[i], d.links.accumulators[i]
	shown, of := decode.Quote(name), decode.Quote(join.Name)
	switch {
	case a.JoinedBy != "":
		d.Report(at.Here(), decode.CodeConflict, "", "%s is a side of the join %s already, and its events go there "+
			"alone; declare an input of its own for this side", shown, decode.Quote(a.JoinedBy))
		return
	case a.Joins() && d.takes(a, join):
		d.Report(at.Here(), decode.CodeConflict, "", "%s would be made of what it hands over itself: a join takes "+
			"other inputs", of)
		return
	case a.Owner != "", a.From != "", a.Config != nil && !a.Joins():
		d.Report(at.Here(), decode.CodeNotYetSupported, "", "a join takes inputs that hand over each event as it "+
			"came, and other joins, and %s is %s; joining what was folded is not supported by this version yet", shown,
			foldedWords(a))
		return
	}
	a.JoinedBy = join.Name
	for _, wrong := range []wrongIf{
		{side.key, a.Keys != nil}, {side.Find([]string{"global"}), a.Global}, {side.group, a.SyncGroup != ""},
		{side.strategy, a.Strategy != "" && a.Strategy != "sequential"},
		waits(side.value, a, "capacity"), waits(side.value, a, "capacity_bytes"),
		{side.Find([]string{"default"}), a.HasDefault}, {side.partitioned, a.Partitioned != ""},
	} {
		if wrong.is && wrong.Given() {
			d.Report(wrong.Name(), decode.CodeConflict, "", "%s is a side of the join %s, which takes each of its "+
				"events, by what they are joined on: remove %s", shown, of, wrong.Key())
		}
	}
	a.Keys, a.Global, a.SyncGroup, a.HasDefault = nil, false, "", false
	if a.Time.IsZero() && !a.Joins() {
		d.Missing(side.value, "time", "a side of the join "+of)
	}
	if k := slices.Index(d.Reactor.Names, name); k >= 0 {
		d.Report(d.links.subset[k].Here(), decode.CodePassiveTrigger, "", "%s is a side of the join %s and fires "+
			"nothing itself; name the join", shown, of)
	}
}

// wrongIf is a field that is wrong, if it is.
type wrongIf struct {
	value
	is bool
}

// waits is a field that says how much may wait, which is wrong where nothing does: of a join that is a side.
func waits(at value, a *Accumulator, name string) wrongIf {
	v := at.Find([]string{name})
	return wrongIf{v, a.Joins() && v.Key() == name}
}

// takes reports whether a join takes another one, directly or not, or is that one.
func (d *draft) takes(join, other *Accumulator) bool {
	for range d.Accumulators {
		by := slices.IndexFunc(d.Accumulators, func(a Accumulator) bool { return a.Name == other.JoinedBy })
		if other == join || other.JoinedBy == "" || by < 0 { // "" is nobody, and not who has no name
			break
		}
		other = &d.Accumulators[by]
	}
	return other == join
}

// foldedWords says in words what an accumulator is that no join can take.
func foldedWords(a *Accumulator) string {
	switch {
	case a.Owner != "":
		return "the input that " + a.Owner + " has of its own"
	case a.Fed():
		return a.FedBy()
	}
	return decode.Article(a.Kind)
}
