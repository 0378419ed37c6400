package builtin_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// All mistakes of what an alias stands for are told, at the alias: in fields, and in the expressions that are checked
// later.
func TestMistakesAtOneAlias(t *testing.T) {
	t.Parallel()
	_, diags := new(builtin.Kinds).Parse([]byte(`graph: g
accumulators:
  a: &base
    passiv: true
    capcity: 5
    emit: { x: nothing, y: nowhere }
  b: *base
`), "g.yaml")
	var at []string
	for _, d := range diags {
		if d.Line == 7 {
			at = append(at, d.Code+" "+d.Path)
		}
		if noted := strings.HasSuffix(d.Text, "; *base stands here for what is written at &base on line 3"); noted !=
			(d.Line == 7) {
			t.Errorf("%v", d)
		}
	}
	want := "unknown_field accumulators.b.passiv, unknown_field accumulators.b.capcity, " +
		"unknown_name accumulators.b.emit.x, unknown_name accumulators.b.emit.y"
	if got := strings.Join(at, ", "); got != want {
		t.Errorf("got %s", got)
	}
}
