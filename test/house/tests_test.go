package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
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
		everywhere := constants{}
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
					everywhere.add(d)
				}
			}
		}
		for _, f := range p.files {
			if f.test {
				waits += longWaits(t, f, everywhere)
			}
		}
	}
	if waits < 100 {
		t.Errorf("there are only %d waits: this test does not see them", waits)
	}
}

// longWaits holds the waits of a file, and answers how many there are.
func longWaits(t *testing.T, f *file, everywhere constants) (waits int) {
	t.Helper()
	for _, d := range f.ast.Decls {
		known := everywhere.with(d)
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !waitsFor(call) {
				return true
			}
			waits++
			if v, ok := known.value(call.Args[len(call.Args)-2]); ok && v.time && v.n < 30 {
				t.Errorf("%s: what %s waits for has to come within %v s: give it half a minute and more",
					f.path, called(call), v.n)
			}
			return true
		})
	}
	return waits
}

// TestBoundsAreRead: a bound is known also where it is a constant, of the function or of the package, or made of some.
func TestBoundsAreRead(t *testing.T) {
	t.Parallel()
	const text = "package p\nconst slack, wait = 3, 7 * time.Second\n" +
		"func f(given time.Duration) { const own = 2 * wait\n" +
		"until(wait, f); until(slack*time.Second, f); until(own+time.Second, f); x.waitFor(own/2, f)\n" +
		"until(given, f); until(\"a text\", f) }\n"
	tree, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	everywhere := constants{}
	everywhere.add(tree.Decls[0])
	known := everywhere.with(tree.Decls[1])
	var got []float64
	ast.Inspect(tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && waitsFor(call) {
			v, known := known.value(call.Args[0])
			if !known || !v.time {
				v.n = -1
			}
			got = append(got, v.n)
		}
		return true
	})
	if want := []float64{7, 3, 15, 7, -1}; !slices.Equal(got, want) {
		t.Errorf("the bounds are %v, want %v", got, want)
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
	if name != "until" && name != "waitFor" || n < 2 {
		return false
	}
	switch call.Args[n-1].(type) {
	case *ast.FuncLit, *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
		_, text := call.Args[n-2].(*ast.BasicLit)
		return !text
	}
	return false
}

// constants are the expressions of names; nil for one that is no constant.
type constants map[string]ast.Expr

// add adds those that are declared somewhere in a node, and hides those whose names are of something else there.
func (c constants) add(in ast.Node) {
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				v, ok := spec.(*ast.ValueSpec)
				for i := 0; ok && i < len(v.Names); i++ {
					c[v.Names[i].Name] = nil
					if n.Tok == token.CONST && i < len(v.Values) {
						c[v.Names[i].Name] = v.Values[i]
					}
				}
			}
		case *ast.Field:
			for _, name := range n.Names {
				c[name.Name] = nil
			}
		case *ast.AssignStmt:
			c.hide(n.Lhs...)
		case *ast.RangeStmt:
			c.hide(n.Key, n.Value)
		}
		return true
	})
}

func (c constants) hide(names ...ast.Expr) {
	for _, e := range names {
		if name, ok := e.(*ast.Ident); ok {
			c[name.Name] = nil
		}
	}
}

// with are these and those of a function.
func (c constants) with(in ast.Node) constants {
	all := maps.Clone(c)
	all.add(in)
	return all
}

// number is what an expression comes to; time says that it is of seconds.
type number struct {
	n    float64
	time bool
}

// value is what an expression like slack*20*time.Second comes to, where it is known.
func (c constants) value(e ast.Expr) (v number, known bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.value(e.X)
	case *ast.BasicLit:
		n, err := strconv.ParseFloat(e.Value, 64)
		return number{n: n}, err == nil
	case *ast.Ident:
		if named := c[e.Name]; named != nil {
			rest := maps.Clone(c)
			rest[e.Name] = nil // what is made of an outer one of its name is not known
			return rest.value(named)
		}
	case *ast.SelectorExpr:
		seconds, known := unitOf(e)
		return number{n: seconds, time: true}, known
	case *ast.BinaryExpr:
		x, ok := c.value(e.X)
		y, known := c.value(e.Y)
		v.time = x.time || y.time
		switch e.Op {
		case token.MUL:
			v.n = x.n * y.n
		case token.QUO:
			v.n = x.n / y.n
		case token.ADD:
			v.n = x.n + y.n
		case token.SUB:
			v.n = x.n - y.n
		default:
			known = false
		}
		return v, ok && known
	}
	return v, false
}

func unitOf(e ast.Expr) (seconds float64, known bool) {
	unit, ok := e.(*ast.SelectorExpr)
	if !ok {
		return 0, false
	}
	seconds, known = map[string]float64{"Millisecond": 0.001, "Second": 1, "Minute": 60, "Hour": 3600}[unit.Sel.Name]
	return seconds, known
}

// TestWhatIsRunAloneIsThere: the Makefile names tests that `make test` runs without the race detector only, in
// internal/differential: each is one of it, and of no other package.
func TestWhatIsRunAloneIsThere(t *testing.T) {
	atRoot(t)
	t.Parallel()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\nALONE := ")
	list, _, _ = strings.Cut(list, "\n")
	where := map[string]string{}
	for _, name := range strings.Split(list, "|") {
		where[name] = ""
	}
	for _, p := range packages(t) {
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				fun, ok := d.(*ast.FuncDecl)
				if !ok || !f.test || fun.Recv != nil {
					continue
				}
				if before, named := where[fun.Name.Name]; named {
					where[fun.Name.Name] = strings.TrimSpace(before + " " + p.dir)
				}
			}
		}
	}
	for name, in := range where {
		if in != "internal/differential" {
			t.Errorf("the Makefile runs %s of internal/differential alone, and it is in %q", name, in)
		}
	}
}
