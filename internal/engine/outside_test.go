package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// fx says which graphs a caller sees whose token is narrowed to fx_*.
func fx(graph string) bool { return strings.HasPrefix(graph, "fx_") }

// inText is an error with all it tells.
func inText(err error) string {
	text := fmt.Sprint(err)
	if refused, ok := errors.AsType[*api.Error](err); ok {
		text += fmt.Sprintf(" %+v", refused.Diagnostics)
	}
	return text
}

// A11: a narrowed author neither reads nor feeds graphs outside its names, and is told the same whether they are
// there or not: by what it applies, tries and goes back to. What others have applied goes on, and is not named.
func TestNarrowedLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: eq_a\naccumulators: { a: {} }\noutputs: { o: { from: a, sink: { drop: {} } } }\n", "eq_a")
		g := api.Ref{Tenant: "default", Name: "fx_b"}
		reads := "graph: fx_b\naccumulators: { a: { source: { graph: { name: %s, output: o } } } }\n" +
			"outputs: { p: { from: a, sink: { drop: {} } } }\n"
		feeds := "graph: fx_b\naccumulators: { a: {} }\n" +
			"outputs: { p: { from: a, sink: { graph: { name: %s, accumulator: a } } } }\n"
		for name, doc := range map[string]string{"source": reads, "sink": feeds} {
			for _, dry := range []bool{true, false} {
				change := api.Change{DryRun: dry, Sees: fx}
				_, there := b.e.Apply(t.Context(), g, fmt.Appendf(nil, doc, "eq_a"), change)
				_, none := b.e.Apply(t.Context(), g, fmt.Appendf(nil, doc, "eq_z"), change)
				if !strings.Contains(inText(there), "denied") ||
					strings.ReplaceAll(inText(there), "eq_a", "eq_z") != inText(none) {
					t.Errorf("%s, dry %v: %s and %s", name, dry, inText(there), inText(none))
				}
			}
			if _, err := b.e.Apply(t.Context(), g, fmt.Appendf(nil, doc, "fx_z"), api.Change{DryRun: true,
				Sees: fx}); err != nil {
				t.Errorf("%s of a graph in its names: %v", name, err)
			}
		}
		b.apply(fmt.Sprintf(reads, "eq_a"), "fx_b")
		b.apply(fmt.Sprintf(reads, "fx_z"), "fx_b")
		for _, dry := range []bool{true, false} {
			if _, err := b.e.Rollback(t.Context(), g, 1, api.Change{DryRun: dry, Sees: fx}); !strings.Contains(
				inText(err), "denied") {
				t.Errorf("back to what reads from outside, dry %v: %v", dry, err)
			}
		}
		// A cycle that leads outside is refused without saying whom it leads to.
		b.apply("graph: eq_c\naccumulators: { a: { source: { graph: { name: fx_b, output: p } } } }\n"+
			"outputs: { o: { from: a, sink: { graph: { name: fx_d, accumulator: a } } } }\n", "eq_c")
		back := fmt.Appendf(nil, "graph: fx_d\naccumulators: { a: {} }\noutputs: { p: { from: a, sink: { graph: { "+
			"name: fx_b, accumulator: a } } } }\n")
		for _, dry := range []bool{true, false} {
			_, err := b.e.Apply(t.Context(), api.Ref{Tenant: "default", Name: "fx_d"}, back,
				api.Change{DryRun: dry, Sees: fx})
			if text := inText(err); !strings.Contains(text, "graph_cycle") || strings.Contains(text, "eq_c") {
				t.Errorf("a cycle, dry %v: %s", dry, text)
			}
		}
	})
}
