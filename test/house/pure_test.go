package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// pure are the packages that decide, and those below them, and neither wait nor look: what happens in them follows from
// what they are given.
var pure = []string{"internal/reactor"}

// clockless are further packages that no clock is read in, and no goroutine started.
var clockless = []string{"internal/graph"}

// impure are the packages through which time, other goroutines and the world come in.
var impure = []string{"sync", "sync/atomic", "context", "net", "net/http", "os", "os/exec", "os/signal", "math/rand",
	"math/rand/v2"}

// clocks are the functions of package time that look at the clock or wait for it.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// TestPureCore: the cores know no goroutine, no clock and no I/O; time is an argument.
func TestPureCore(t *testing.T) {
	atRoot(t)
	t.Parallel()
	for _, p := range packages(t) {
		isPure := slices.ContainsFunc(pure, func(dir string) bool {
			return p.dir == dir || strings.HasPrefix(p.dir, dir+"/")
		})
		if !isPure && !slices.Contains(clockless, p.dir) {
			continue
		}
		for _, f := range p.files {
			if f.test {
				continue
			}
			checkClocks(t, f)
			if isPure {
				checkImports(t, f)
			}
		}
	}
}

func checkImports(t *testing.T, f *file) {
	t.Helper()
	for _, spec := range f.ast.Imports {
		if path := strings.Trim(spec.Path.Value, `"`); slices.Contains(impure, path) {
			t.Errorf("%s imports %s: the core takes messages and gives commands; what waits, locks or looks belongs "+
				"to internal/live", f.path, path)
		}
	}
}

func checkClocks(t *testing.T, f *file) {
	t.Helper()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				t.Errorf("%s calls time.%s: time is an argument of the core", f.path, n.Sel.Name)
			}
		case *ast.GoStmt:
			t.Errorf("%s starts a goroutine: that is for internal/live", f.path)
		}
		return true
	})
}
