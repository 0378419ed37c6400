package virtual_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor/form"
)

const keptKeys = `graph: g
accumulators:
  a: { time: event.at, time_unit: s, strategy: sequential }
  b: { time: event.at, time_unit: s, strategy: sequential }
%snodes: { n: { expr: '[a?.at, b?.at]' } }
outputs: { n: { from: n, sink: { drop: {} } } }
reactor: { key: %s, when: all }
`

// M13, M33: an input that comes or goes, with a key of its own, leaves the keys that there are, also where that happens
// again and again; the key of an input that both declarations have is what they mean.
func TestM13AnInputThatComesOrGoesLeavesTheKeys(t *testing.T) {
	t.Parallel()
	read := func(more, key string) *compile.Unit {
		return declared(t, fmt.Sprintf(keptKeys, more, key))
	}
	const c, d, other = "  c: { key: event.order }\n", "  d: { key: event.id }\n", "  c: { key: event.id }\n"
	two, three, four := read("", "order"), read(c, "order"), read(c+d, "order")
	emitting := func(order string) *compile.Unit {
		emit := "emit: { at: event.at, order: " + order + " }, strategy: sequential"
		return declared(t, strings.Replace(fmt.Sprintf(keptKeys, "", "order"), "strategy: sequential", emit, 1))
	}
	for name, x := range map[string]struct {
		steps []*compile.Unit
		kept  bool
	}{
		"one comes":            {[]*compile.Unit{two, three}, true},
		"one goes":             {[]*compile.Unit{three, two}, true},
		"they come and go":     {[]*compile.Unit{two, three, four, three, two, four}, true},
		"one comes for it":     {[]*compile.Unit{three, read(d, "order")}, true},
		"the key of one":       {[]*compile.Unit{three, read(other, "order")}, false},
		"the reactor's":        {[]*compile.Unit{two, read("", "at")}, false},
		"one comes, and it is": {[]*compile.Unit{two, read(c, "at")}, false},
		"what makes its field": {[]*compile.Unit{two, emitting("event.id")}, false},
		"what made it before":  {[]*compile.Unit{two, emitting("event.order")}, true},
	} {
		j := newJournaled(t, x.steps[0])
		j.takeInto(0, 100, order("x", 100)) // and waits for the others
		j.seal()
		for i, next := range x.steps[1:] {
			said := slices.ContainsFunc(compile.Changes(j.u, next), func(c compile.Change) bool {
				return strings.HasPrefix(c.String(), "keys: ")
			})
			j.crash(next)
			if b := j.core.Books(0); said == x.kept || x.kept != (b.Queued == 1) || x.kept != (b.DeadLettered == 0) {
				t.Errorf("%s, step %d: books %+v, said to be dropped: %t", name, i, b, said)
			}
			j.seal()
			for _, cell := range j.cells {
				if r := (form.Reader{Rest: cell.Data}); cell.Kind == form.CellLayout &&
					r.Text() != next.Reactor().Keys.Identity {
					t.Errorf("%s, step %d: a layout that an earlier release would not know", name, i)
				}
			}
		}
	}
	others := strings.NewReplacer("  a:", "  p:", "  b:", "  q:", "a?", "p?", "b?", "q?").Replace(keptKeys)
	was, is := three.Reactor(), declared(t, fmt.Sprintf(others, "", "order")).Reactor()
	if was.KeepsKeys(&is) {
		t.Error("keys are kept though no input is")
	}
}
