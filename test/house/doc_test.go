package house

import (
	"go/ast"
	"strings"
	"testing"
)

// TestPackagesAreDocumented: every package says what it is for; one that is tests alone says it
// in a test file.
func TestPackagesAreDocumented(t *testing.T) {
	atRoot(t)
	t.Parallel()
	for _, p := range packages(t) {
		doc := ""
		for _, f := range p.files {
			if f.ast.Doc != nil && (!f.test || p.production() == 0) {
				doc += f.ast.Doc.Text()
			}
		}
		if strings.TrimSpace(doc) == "" {
			t.Errorf("%s has no package documentation: say what it is for, and where to begin reading", p.name())
		}
	}
}

// TestNoInit: nothing registers itself behind the reader's back.
func TestNoInit(t *testing.T) {
	atRoot(t)
	t.Parallel()
	for _, p := range packages(t) {
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s has an init function: call it where it is needed", f.path)
				}
			}
		}
	}
}
