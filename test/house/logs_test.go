package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestLogsNameTheTenant: a line of the log that names a graph names its tenant (A11).
func TestLogsNameTheTenant(t *testing.T) {
	atRoot(t)
	t.Parallel()
	lines := 0
	for _, p := range packages(t) {
		for _, f := range p.files {
			if strings.HasSuffix(f.path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			tree, err := parser.ParseFile(fset, f.path, f.text, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !logs(call) || !mentions(call, "graph") {
					return true
				}
				if lines++; !mentions(call, "tenant") {
					t.Errorf("%s: a line of the log names a graph and not its tenant", fset.Position(call.Pos()))
				}
				return true
			})
		}
	}
	if lines < 20 {
		t.Errorf("only %d lines of the log name a graph: the test does not see them", lines)
	}
}

// logs says whether a call writes to the log.
func logs(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.Contains(" Debug Info Warn Error With ", " "+method.Sel.Name+" ") {
		return false
	}
	of := ""
	switch x := method.X.(type) {
	case *ast.SelectorExpr:
		of = x.Sel.Name
	case *ast.Ident:
		of = x.Name
	}
	return strings.EqualFold(of, "log")
}

// mentions says whether a key is among the arguments of a call, or of those in it.
func mentions(call *ast.CallExpr, key string) (found bool) {
	ast.Inspect(call, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		found = found || ok && lit.Kind == token.STRING && lit.Value == `"`+key+`"`
		return true
	})
	return found
}
