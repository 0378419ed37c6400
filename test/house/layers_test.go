package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/graphd/graphd"

// layers puts every package of the module on its layer. A package imports packages of
// lower layers only; what is private to a package (its own sub-packages) stands beside it.
var layers = []struct {
	layer int
	path  string // exact, or a prefix when it ends in "/"
}{
	{-1, "api"}, {-1, "docs"}, {-1, "migrations"}, // documents, embedded
	{-1, "internal/testbed/server"}, {0, "internal/testbed"}, // servers for tests, know nothing of graphd
	{-1, "internal/api"}, {0, "internal/boundary"}, {0, "internal/spec"}, {0, "internal/outbound"},
	{1, "internal/expression"}, {1, "internal/checkpoint"}, {0, "internal/failpoint"},
	{2, "internal/graph"}, {2, "internal/accumulator"},
	{3, "internal/kafkanet"}, {3, "internal/reactor"},
	{2, "internal/dal/rules"}, {3, "internal/dal/sqlite"}, {3, "internal/dal/postgres"}, {3, "internal/dal/memory"}, {4, "internal/dal"},
	{4, "internal/compile"}, {4, "internal/source/"}, {4, "internal/sink/"},
	{4, "internal/supervisor"}, {5, "internal/builtin"}, {5, "internal/lease"}, {5, "internal/virtual"},
	{6, "internal/engine"}, {6, "internal/job"}, {6, "internal/scenario"},
	{7, "internal/server"}, {7, "internal/client"}, {7, "internal/telemetry"},
	{8, ""},
	{9, "test/"},
	{9, "cmd/graphd"}, {9, "bench"}, {9, "internal/faults"}, {9, "internal/differential"}, {9, "examples/embedded"}, {0, "examples"},
}

// unknown is the layer of what is not in the table.
const unknown = -2

type listed struct {
	ImportPath string
	Dir        string
	Name       string
	Doc        string
	GoFiles    []string
	Imports    []string
}

// TestLayers holds house order: imports point down, every package says what it is for, and
// no init function registers anything behind the reader's back.
func TestLayers(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,GoFiles,Imports", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		checkPackage(t, &p)
	}
	if seen < 20 {
		t.Fatalf("only %d packages were looked at", seen)
	}
}

func checkPackage(t *testing.T, p *listed) {
	t.Helper()
	if len(p.GoFiles) == 0 {
		return // tests only
	}
	if p.Doc == "" {
		t.Errorf("%s has no package documentation", p.ImportPath)
	}
	own := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	layer, home := layerOf(own)
	if layer == unknown {
		t.Errorf("%s stands on no layer: put it into the table", p.ImportPath)
		return
	}
	testSupport := strings.HasSuffix(own, "test")
	for _, imp := range p.Imports {
		rest, ok := strings.CutPrefix(imp, module)
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, "/")
		l, h := layerOf(rest)
		if l > layer || l == layer && h != home && !testSupport {
			t.Errorf("%s (layer %d) imports %s (layer %d)", p.ImportPath, layer, imp, l)
		}
	}
	for _, f := range p.GoFiles {
		checkNoInit(t, filepath.Join(p.Dir, f))
	}
}

// layerOf is a package's layer, and the package it is private to: itself, or the one whose
// directory it stands in.
func layerOf(path string) (layer int, home string) {
	for _, l := range layers {
		switch {
		case path == l.path:
			return l.layer, path
		case strings.HasSuffix(l.path, "/") && strings.HasPrefix(path, l.path):
			return l.layer, path
		case l.path != "" && strings.HasPrefix(path, l.path+"/"):
			return l.layer, l.path
		}
	}
	return unknown, ""
}

func checkNoInit(t *testing.T, path string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			t.Errorf("%s has an init function", path)
		}
	}
}
