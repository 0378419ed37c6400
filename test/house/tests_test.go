package house

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestNoKillTestsElsewhere: the Makefile leaves out what is named like a kill test and runs those of internal/faults in
// full: one elsewhere would never run.
func TestNoKillTestsElsewhere(t *testing.T) {
	atRoot(t)
	t.Parallel()
	there := 0
	for _, p := range packages(t) {
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				fun, ok := d.(*ast.FuncDecl)
				if !ok || !f.test || fun.Recv != nil || !strings.HasPrefix(fun.Name.Name, "TestKill") ||
					fun.Name.Name == "TestKill" {
					continue
				}
				if there++; p.dir != "internal/faults" {
					t.Errorf("%s: %s is named like the tests of internal/faults that `make test` leaves out and runs "+
						"by themselves: name it otherwise", f.path, fun.Name.Name)
				}
			}
		}
	}
	if there < 10 {
		t.Errorf("there are only %d kill tests: this one does not see them", there)
	}
}

// TestWaitsAreLong: what has to come is waited for as long as a machine that is ten times as slow needs. How soon it
// comes is measured beside a control.
func TestWaitsAreLong(t *testing.T) {
	atRoot(t)
	t.Parallel()
	waits := 0
	for _, p := range packages(t) {
		for _, f := range p.files {
			if !f.test {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !waitsFor(call) {
					return true
				}
				waits++
				if seconds, known := bound(call.Args[len(call.Args)-2]); known && seconds < 30 {
					t.Errorf("%s: what %s waits for has to come within %v s: give it half a minute and more",
						f.path, called(call), seconds)
				}
				return true
			})
		}
	}
	if waits < 100 {
		t.Errorf("there are only %d waits: this test does not see them", waits)
	}
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// waitsFor says whether a call waits for a condition, its last argument, within a time, the one before.
func waitsFor(call *ast.CallExpr) bool {
	name, n := called(call), len(call.Args)
	if name != "until" || n < 2 {
		return false
	}
	switch call.Args[n-1].(type) {
	case *ast.FuncLit, *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
		_, text := call.Args[n-2].(*ast.BasicLit)
		return !text
	}
	return false
}

// bound is how many seconds an expression like 20*time.Second is.
func bound(e ast.Expr) (seconds float64, known bool) {
	product, ok := e.(*ast.BinaryExpr)
	if !ok || product.Op != token.MUL {
		unit, known := unitOf(e)
		return unit, known
	}
	lit, ok := product.X.(*ast.BasicLit)
	unit, known := unitOf(product.Y)
	if !ok || !known {
		return 0, false
	}
	n, err := strconv.ParseFloat(lit.Value, 64)
	return n * unit, err == nil
}

func unitOf(e ast.Expr) (seconds float64, known bool) {
	unit, ok := e.(*ast.SelectorExpr)
	if !ok {
		return 0, false
	}
	seconds, known = map[string]float64{"Millisecond": 0.001, "Second": 1, "Minute": 60, "Hour": 3600}[unit.Sel.Name]
	return seconds, known
}
