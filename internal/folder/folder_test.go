package folder

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/api"
)

// bench is a folder that is looked at, and what was applied and refused of it.
type bench struct {
	t   *testing.T
	dir string
	Folder
	did []string
	log bytes.Buffer
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, dir: t.TempDir()}
	b.Folder = Folder{
		Dir: b.dir, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		Apply: func(_ context.Context, path string, doc []byte, c api.Change) (api.ApplyResult, error) {
			b.did = append(b.did, "applied "+b.name(path)+" "+strings.Join(strings.Fields(string(doc)), " "))
			if strings.Contains(string(doc), "wrong") {
				line := 1 + strings.Count(string(doc)[:strings.Index(string(doc), "wrong")], "\n")
				found := api.Diagnostics{{Line: line, Column: 3, Text: "it is wrong"}}
				return api.ApplyResult{}, api.Invalid(c.Placed(found))
			}
			return api.ApplyResult{}, nil
		},
		Refuse: func(path string, found api.Diagnostics) {
			b.did = append(b.did, "refused "+b.name(path)+" "+found[0].Code)
		},
	}
	return b
}

func (b *bench) name(path string) string {
	below, err := filepath.Rel(b.dir, path)
	if err != nil {
		b.t.Fatal(err)
	}
	return below
}

// put writes files; one without a text is removed.
func (b *bench) put(files map[string]string) {
	b.t.Helper()
	for name, text := range files {
		path := filepath.Join(b.dir, name)
		err := os.Remove(path)
		if text != "" {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.t.Fatal(err)
		}
	}
}

// look is what a look has done, and that the next one does nothing.
func (b *bench) look(want ...string) {
	b.t.Helper()
	b.did = nil
	b.Look(b.t.Context())
	if diff := cmp.Diff(want, b.did); diff != "" {
		b.t.Errorf("%s\n%s", diff, b.log.String())
	}
	b.did = nil
	if b.Look(b.t.Context()); len(b.did) > 0 {
		b.t.Errorf("done again although nothing has changed: %q", b.did)
	}
}

// A declaration is applied with what it includes, again when that changes, and by its own alone otherwise.
func TestIncludedFilesAreNoticed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(map[string]string{
		"a.yaml": "graph: a\ninclude: [shared/one.yaml, two_part.yaml]\n",
		"b.yml":  "graph: b\ninclude: shared/one.yaml\n",
		"c.yaml": "graph: c\n", "c_test.yaml": "graph: c\n", "shared/one.yaml": "vars: { x: 1 }\n",
		"two_part.yaml": "vars: { y: 1 }\n",
	})
	a := "applied a.yaml # It includes shared/one.yaml, two_part.yaml. graph: a vars: x: "
	bb := "applied b.yml # It includes shared/one.yaml. graph: b vars: x: "
	b.look(a+"1 y: 1", bb+"1", "applied c.yaml graph: c")
	b.put(map[string]string{"shared/one.yaml": "vars: { x: 2 }\n"})
	b.look(a+"2 y: 1", bb+"2")
	b.put(map[string]string{"two_part.yaml": "vars: { y: 2 }\n"})
	b.look(a + "2 y: 2")
	b.put(map[string]string{"c.yaml": "graph: d\n", "shared/one.yaml": "vars: { x: 2 }\n"})
	b.look("applied c.yaml graph: d")

	b.put(map[string]string{"two_part.yaml": ""})
	b.look("refused a.yaml bad_include")
	b.put(map[string]string{"two_part.yaml": "vars: { y: 3 }\n"})
	b.look(a + "2 y: 3")
	b.put(map[string]string{"two_part.yaml": "vars:\n  # once\n\n  y: wrong\n"})
	b.log.Reset()
	b.look(a + "2 # once y: wrong")
	if want := "two_part.yaml:4:3: "; !strings.Contains(b.log.String(), want) {
		t.Errorf("%s is not in\n%s", want, b.log.String())
	}
	b.put(map[string]string{"a.yaml": "", "two_part.yaml": "vars: { y: 4 }\n"})
	b.look()
	if len(b.included) != 1 {
		t.Errorf("what a declaration included that is gone is known: %v", b.included)
	}
	b.ForgetAll()
	b.look(bb+"2", "applied c.yaml graph: d")
}

// What is included lies below the folder, also by the links in it: those of a mounted ConfigMap stay in it.
func TestIncludesStayInTheFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	if err := errors.Join(os.WriteFile(outside, []byte("vars: { x: 1 }\n"), 0o600),
		os.Symlink(outside, filepath.Join(b.dir, "link.txt")), os.Mkdir(filepath.Join(b.dir, "..1"), 0o755),
		os.Symlink("..1", filepath.Join(b.dir, "..data")),
		os.Symlink(filepath.Join("..data", "x_part.yaml"), filepath.Join(b.dir, "x_part.yaml"))); err != nil {
		t.Fatal(err)
	}
	way, err := filepath.Rel(b.dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	b.put(map[string]string{
		"..1/x_part.yaml": "vars: { x: 1 }\n", "a.yaml": "include: x_part.yaml\n", "b.yaml": "include: " + way + "\n",
		"c.yaml": "include: link.txt\n", "d.yaml": "include: ..1\n",
	})
	b.look("applied a.yaml # It includes x_part.yaml. vars: x: 1", "refused b.yaml denied", "refused c.yaml denied",
		"refused d.yaml bad_include")
}
