package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/policy"
)

// A1: a variable that is denied is told once, at its place: whoever reads the constant that was to have its value has
// made no mistake. One that there is not is told all the same where nothing was denied.
func TestA1DeniedVariableIsToldOnce(t *testing.T) {
	t.Parallel()
	k := &builtin.Kinds{Reach: builtin.Reach{Access: &policy.Policy{}}}
	const rest = "accumulators: { a: { where: event.x == vars.desk } }\nnodes: { n: { expr: a.x + vars.desk } }\n" +
		"outputs: { o: { from: n, where: vars.desk == value, sink: { drop: {} } } }\n"
	for vars, want := range map[string]string{
		`{ desk: "${PGPASSWORD}" }`:           "2:15 denied",
		`{ desk: "${PGPASSWORD}", other: 1 }`: "2:15 denied",
		`{ other: 1 }`:                        "3:45 unknown_field; 4:32 unknown_field; 5:38 unknown_field",
	} {
		_, diags := k.Parse([]byte("graph: g\nvars: "+vars+"\n"+rest), "")
		said := []string{}
		for _, d := range diags {
			said = append(said, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
		}
		if got := strings.Join(said, "; "); got != want {
			t.Errorf("%s: %s, want %s", vars, got, want)
		}
	}
}
