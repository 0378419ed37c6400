package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Change is what becomes of one named piece's state when a graph goes from one
// declaration to another (M33).
type Change struct {
	// Piece is "accumulator", "input", "node" or "output"; Name is its name. "keys", which have none, are all that the
	// graph has, and are named where they are dropped.
	Piece, Name string
	Kept        bool
	// Why is why it is dropped, in a few words; "" when it is kept.
	Why string
}

// String is the change on one line.
func (c Change) String() string {
	named := strings.TrimSpace(c.Piece + " " + c.Name)
	if c.Kept {
		return named
	}
	return named + ": " + c.Why
}

// Changes says what of old's state a graph keeps when it goes on as next: what its
// accumulators have folded and read, their newest values and queues, the values of nodes
// and the last values of on-change outputs. What is new has no state and is not named.
func Changes(old, next *Unit) []Change {
	var list []Change
	was, is := old.Reactor(), next.Reactor()
	if was.Keys != nil && !was.KeepsKeys(&is) {
		list = append(list, Change{"keys", "", false,
			"what gives a boundary its key is another: they begin anew, and what waits in them becomes dead letters"})
	}
	for i := range old.Spec.Accumulators {
		a := &old.Spec.Accumulators[i]
		k := slices.IndexFunc(next.Spec.Accumulators, func(b spec.Accumulator) bool { return b.Name == a.Name })
		if k < 0 {
			list = append(list, Change{
				"accumulator", a.Name, false, "it is gone, and with it its value, its queue and its position",
			})
			continue
		}
		list = append(list, Change{"input", a.Name, true, ""})
		if old.inputs[i].Identity == next.inputs[k].Identity {
			list = append(list, Change{"accumulator", a.Name, true, ""})
		} else {
			list = append(list, Change{
				"accumulator", a.Name, false, dropped(a),
			})
		}
	}
	nodes := next.Plan.Nodes()
	for i, n := range old.Plan.Nodes() {
		k := slices.IndexFunc(nodes, func(b graph.Node) bool { return b.Name == n.Name })
		switch {
		case k < 0:
			list = append(list, Change{"node", n.Name, false, "it is gone"})
		case old.Plan.Print(i) != next.Plan.Print(k):
			list = append(list, Change{"node", n.Name, false, "it computes something else and runs anew"})
		default:
			list = append(list, Change{"node", n.Name, true, ""})
		}
	}
	for _, c := range old.Plan.Cells() {
		if c.Kind == graph.OutputCell {
			kept := slices.Contains(next.Plan.Cells(), c)
			why := ""
			if !kept {
				why = "it is gone, or emits at every tick now"
			}
			list = append(list, Change{"output", c.Name, kept, why})
		}
	}
	slices.SortStableFunc(list, func(a, b Change) int { return cmp.Compare(rank(a.Piece), rank(b.Piece)) })
	return list
}

// rank is the order in which pieces are listed: as in a declaration.
func rank(piece string) int {
	return slices.Index([]string{"keys", "accumulator", "input", "node", "output"}, piece)
}

// Split is the changes as two lists of lines.
func Split(list []Change) (kept, dropped []string) {
	for _, c := range list {
		if c.Kept {
			kept = append(kept, c.String())
		} else {
			dropped = append(dropped, c.String())
		}
	}
	return kept, dropped
}

// dropped is why an accumulator begins anew.
func dropped(a *spec.Accumulator) string {
	if a.Joins() {
		return "its sides, what they are joined on, or the time or emit of one is another: what waits for a partner " +
			"is filtered"
	}
	if a.Folding().Hands == trait.Rows {
		return "its kind, key, emit or source is another: reading begins anew, and all rows go"
	}
	return "its kind or its source is another: reading begins anew, and an open fold is filtered"
}
