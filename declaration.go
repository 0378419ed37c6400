package graphd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/includes"
	"github.com/graphd/graphd/internal/scenario"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/assembly"
	"github.com/graphd/graphd/internal/spec/words"
)

// Diagnostic is one mistake in a declaration, with its place, a stable code and advice.
type Diagnostic = spec.Diagnostic

// Diagnostics are all mistakes of a declaration, in the order of the document.
type Diagnostics = spec.Diagnostics

// Declaration is a graph's document, checked and compiled. It is immutable.
type Declaration struct {
	unit *compile.Unit
	doc  *assembly.Document
}

// ReadDeclaration reads and compiles the declaration in a file, "-" for standard input, with what it includes. A
// broken declaration is a [Diagnostics] error that holds every mistake.
func ReadDeclaration(path string) (*Declaration, error) { return ReadDeclarationWith(path, nil) }

// ReadDeclarationWith is [ReadDeclaration] with other values for vars that the declaration has, by their names, each
// read as the type of the value there. A name that it does not have is an error that lists those it has.
func ReadDeclarationWith(path string, set map[string]string) (*Declaration, error) {
	doc, err := includes.Read(path, set)
	if err != nil {
		return nil, err
	}
	return compiled(local(), doc, doc.Name)
}

// ParseDeclaration compiles a declaration; name is its file, for diagnostics, relative paths and includes. Without a
// name it can include nothing.
func ParseDeclaration(doc []byte, name string) (*Declaration, error) {
	return parsed(local(), doc, name)
}

// local are the kinds of declarations that no daemon runs. GRAPHD_PLAIN=1 is for the benchmarks: the same results
// without what makes them fast.
func local() *builtin.Kinds { return &builtin.Kinds{Plain: os.Getenv("GRAPHD_PLAIN") == "1"} }

func parsed(kinds *builtin.Kinds, doc []byte, name string) (*Declaration, error) {
	made, err := includes.Whole(doc, assembly.Options{File: name})
	if err != nil {
		return nil, err
	}
	return compiled(kinds, made, name)
}

func compiled(kinds *builtin.Kinds, doc *assembly.Document, name string) (*Declaration, error) {
	unit, diags := kinds.Parse(doc.Text, name)
	if err := doc.Place(diags).Err(); err != nil {
		return nil, err
	}
	return &Declaration{unit, doc}, nil
}

// Name is the graph's name.
func (d *Declaration) Name() string { return d.unit.Spec.Name }

// PlanJSON is the compiled plan: byte-identical for identical declarations (M14).
func (d *Declaration) PlanJSON() ([]byte, error) { return d.unit.PlanJSON() }

// ClockBy says in words what the graph's time goes by: the times of which inputs, or the arrival of events.
func (d *Declaration) ClockBy() string { return words.ClockBy(d.unit.Spec) }

// ShardsBy says in words how the keys are dealt to shards, and what runs them; "" where there is one shard.
func (d *Declaration) ShardsBy() string { return d.unit.ShardsBy() }

// Lint says what in the declaration is valid, but hardly meant.
func (d *Declaration) Lint() Diagnostics {
	return append(d.doc.Place(compile.Lint(d.unit)), d.doc.Remarks...)
}

// Diff says in which places next differs from d in meaning, a line each, and what of its
// state a graph keeps and drops that goes on as next.
func (d *Declaration) Diff(next *Declaration) (changes, kept, dropped []string) {
	changes = spec.Diff(d.unit.Spec, next.unit.Spec)
	kept, dropped = compile.Split(compile.Changes(d.unit, next.unit))
	return changes, kept, dropped
}

// Schema is the JSON Schema of a declaration, for editors.
func Schema() []byte { return new(builtin.Kinds).Schema() }

// TestOutcome is what became of one case of a declaration's test document.
type TestOutcome = scenario.Outcome

// TestDeclaration runs a test document (NAME_test.yaml) against the declaration beside it
// (NAME.yaml), every case on a fresh graph under virtual time. The error is for what could
// not be run at all, and for the end of ctx; cases that failed say so in their outcome.
func TestDeclaration(ctx context.Context, path string) ([]TestOutcome, error) {
	return TestDeclarationWith(ctx, path, nil)
}

// TestDeclarationWith is [TestDeclaration] with other values for vars, as [ReadDeclarationWith] has them.
func TestDeclarationWith(ctx context.Context, path string, set map[string]string) ([]TestOutcome, error) {
	return testDeclaration(ctx, path, func(path string) (*Declaration, error) { return ReadDeclarationWith(path, set) })
}

func testDeclaration(ctx context.Context, path string, read func(string) (*Declaration, error)) ([]TestOutcome, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the test document: %w", err)
	}
	tests, err := scenario.Parse(doc, path)
	if err != nil {
		return nil, err
	}
	base, ok := strings.CutSuffix(strings.TrimSuffix(strings.TrimSuffix(path, ".yaml"), ".yml"), "_test")
	if !ok {
		return nil, fmt.Errorf("%s is not named NAME_test.yaml, so there is no telling which declaration it tests",
			path)
	}
	d, err := read(base + filepath.Ext(path))
	if err != nil {
		return nil, err
	}
	if d.Name() != tests.Graph {
		return nil, fmt.Errorf("%s tests graph %q, but %s declares %q", path, tests.Graph, base+filepath.Ext(path),
			d.Name())
	}
	return scenario.Run(ctx, d.unit, tests)
}
