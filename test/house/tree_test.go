package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path that every import of our own begins with.
const module = "github.com/graphd/graphd"

// pkg is one package: a folder with Go files.
type pkg struct {
	dir   string // from the root, with slashes; "" is the root itself
	files []*file
}

// file is one Go file, of whatever system it is built for.
type file struct {
	path  string
	test  bool
	text  string
	ast   *ast.File
	lines int
}

// imports are the paths that the package imports; tests says whether its tests count.
func (p *pkg) imports(tests bool) []string {
	var paths []string
	for _, f := range p.files {
		if f.test && !tests {
			continue
		}
		for _, spec := range f.ast.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// production is how many lines the package has, without its tests.
func (p *pkg) production() (lines int) {
	for _, f := range p.files {
		if !f.test {
			lines += f.lines
		}
	}
	return lines
}

// readTree reads every package of the module, once.
var readTree = sync.OnceValues(func() ([]*pkg, error) {
	var all []*pkg
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if name := e.Name(); path != "." && (name == "testdata" || strings.HasPrefix(name, ".") ||
			strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); path != "." && err == nil {
			return fs.SkipDir // a module of its own
		}
		p, err := readPackage(path)
		if err == nil && len(p.files) > 0 {
			all = append(all, p)
		}
		return err
	})
	return all, err
})

func readPackage(dir string) (*pkg, error) {
	p := &pkg{dir: strings.TrimPrefix(filepath.ToSlash(dir), ".")}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, &file{
			path: filepath.ToSlash(path), test: strings.HasSuffix(path, "_test.go"),
			text: string(text), ast: tree, lines: strings.Count(string(text), "\n"),
		})
	}
	return p, nil
}

// packages are all packages of the module.
func packages(t *testing.T) []*pkg {
	t.Helper()
	all, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Fatalf("only %d packages were found: the search for them is broken", len(all))
	}
	return all
}

// name is what a message calls a package.
func (p *pkg) name() string {
	if p.dir == "" {
		return module
	}
	return p.dir
}
