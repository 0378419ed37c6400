package eval

import (
	"testing"

	"github.com/expr-lang/expr/ast"

	"github.com/graphd/graphd/internal/boundary"
)

// An Env does not hold on to the values of the last evaluation.
func TestEnvLetsGo(t *testing.T) {
	t.Parallel()
	read := &ast.IdentifierNode{Value: "event"}
	for name, body := range map[string]ast.Node{
		"value":   &ast.IdentifierNode{Value: "x"},
		"failure": &ast.UnaryNode{Operator: "-", Node: &ast.IdentifierNode{Value: "x"}},
	} {
		p, err := Compile(Source{
			Tree:  &ast.VariableDeclaratorNode{Name: "x", Value: read, Expr: body},
			Names: map[string]int{"event": 0}, Width: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		env := &Env{Values: []boundary.Value{boundary.String("large")}}
		if v, err := p.Eval(env); (err == nil) != (name == "value") || err == nil && v.String() != `"large"` {
			t.Errorf("%s: got %v, %v", name, v, err)
		}
		for i, v := range env.vars {
			if !v.IsAbsent() {
				t.Errorf("%s: slot %d still holds %v", name, i, v)
			}
		}
		if env.err != nil || name == "failure" && !env.spill.IsAbsent() {
			t.Errorf("%s: the Env still holds %v, %v", name, env.err, env.spill)
		}
	}
}
