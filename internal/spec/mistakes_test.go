package spec_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Each file in testdata/mistakes is a declaration as a user might get it wrong. It
// starts with comments that say what is found, all of it and in this order:
//
//	# want LINE:COLUMN: CODE [SUGGESTION]
func TestMistakes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/mistakes/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 70 {
		t.Fatalf("got %d mistakes, want at least 70", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(data)) {
				if text, ok := strings.CutPrefix(line, "# want "); ok {
					want = append(want, strings.TrimSpace(text))
				}
			}
			_, diags := parse(data, spec.Options{File: file, Resolve: environment})
			var got, shown []string
			for _, d := range diags {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%d:%d: %s %s", d.Line, d.Column, d.Code, d.Suggest)))
				shown = append(shown, d.String())
				wellFormed(t, d)
			}
			if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s\nin full:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"),
					strings.Join(shown, "\n"))
			}
		})
	}
}

// Every code has a mistake that shows it, here or in the tests of bounds, and no
// diagnostic has a code that is not listed.
func TestEveryCodeIsShown(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "decode/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	// TestBounds, TestCutShort
	shown := map[string]bool{decode.CodeTooLarge: true, decode.CodeTooMany: true, decode.CodeTooManyErrors: true}
	files, err := filepath.Glob("testdata/mistakes/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, diags := parse(data, spec.Options{Resolve: environment})
		for _, d := range diags {
			shown[d.Code] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok {
			return true
		}
		code := strings.Trim(lit.Value, `"`)
		if !shown[code] {
			t.Errorf("no mistake shows the code %s", code)
		}
		delete(shown, code)
		return true
	})
	for code := range shown {
		t.Errorf("the code %s is not listed in codes.go", code)
	}
}

// kinds are those of a daemon.
var kinds = new(builtin.Kinds).Declared()

func parse(data []byte, o spec.Options) (*spec.Graph, spec.Diagnostics) {
	return spec.Parse(data, kinds, o)
}

// environment is what references in tests resolve against.
func environment(ref string) (string, bool, error) {
	value, ok := map[string]string{
		"CAPACITY": "64", "WORD": "sequential", "EMPTY": "", "PATH_TO": "events.ndjson",
		"file:/run/secrets/token": secret, "SECRET": secret, "INTERVAL": "5s", "YES": "true",
		"GRAPHD_SECRET_TOKEN": secret,
	}[ref]
	if ref == "file:/run/secrets/locked" {
		return "", false, os.ErrPermission
	}
	if ref == "PGPASSWORD" {
		return "", false, &policy.DeniedError{What: "it is the daemon's own", Advice: "name another"}
	}
	return value, ok, nil
}

const secret = "hunter2-very-secret"

// wellFormed holds every diagnostic to the promise of the format: a place, a code,
// and one line of text.
func wellFormed(t *testing.T, d spec.Diagnostic) {
	t.Helper()
	switch {
	case d.Line < 1 || d.Column < 1:
		t.Errorf("%v has no place", d)
	case d.Code == "" || strings.Trim(d.Code, "abcdefghijklmnopqrstuvwxyz_0123456789") != "":
		t.Errorf("%v has no stable code", d)
	case d.Text == "" || strings.ContainsAny(d.Text+d.Suggest+d.Path, "\r\n"):
		t.Errorf("%q is not one line of text", d.Text)
	case strings.Contains(d.String(), secret):
		t.Errorf("%v shows a secret", d)
	}
}
