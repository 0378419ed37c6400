package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// M14: a side of a join has no value, so nothing can read it: no node, no condition of a loop or an output.
func TestM14SidesAreReadNowhere(t *testing.T) {
	t.Parallel()
	const doc = `graph: g
accumulators:
  a: { time: event.at }
  b: { time: event.at }
  j: { join: { left: a, right: b, on: k, within: 1m } }
loops: { l: { nodes: [n], until: %s } }
nodes: { n: { expr: '%s + (n ?? 0)' } }
outputs: { o: { from: n, where: %s, sink: { drop: {} } } }
`
	for _, c := range []struct{ until, node, where, at string }{
		{"n > 3", "j.left.x", "value > 0", ""},
		{"a.x > 0", "j.left.x", "value > 0", "loops.l.until"},
		{"n > 3", "b.x", "value > 0", "nodes.n.expr"},
		{"n > 3", "j.left.x", "value > b.x", "outputs.o.where"},
	} {
		_, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, doc, c.until, c.node, c.where), "g.yaml")
		var at []string
		for _, d := range diags {
			at = append(at, strings.TrimSpace(d.Path+" "+d.Code))
		}
		want := ""
		if c.at != "" {
			want = c.at + " not_a_node"
		}
		if got := strings.Join(at, ", "); got != want {
			t.Errorf("%+v: %s\n%v", c, got, diags)
		}
	}
}
