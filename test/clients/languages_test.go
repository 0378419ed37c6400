package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/testbed"
)

// installing and running are how long these may take, where others have the machine too.
const installing, running = 5 * time.Minute, 10 * time.Minute

// TestTypeScript: of the document that the daemon serves openapi-typescript makes types, which hold in strict mode, and
// a program of these applies, pushes, fires, looks inside and subscribes.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not a short test")
	}
	home := filepath.Join("testdata", "typescript")
	modules := filepath.Join(node(t, home), "node_modules")
	d := guarded(t)
	dir := t.TempDir()
	copyFiles(t, home, dir, "package.json", "tsconfig.json", "smoke.ts")
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	tool := func(path ...string) string { return filepath.Join(append([]string{modules}, path...)...) }
	for _, step := range [][]string{
		{tool("openapi-typescript", "bin", "cli.js"), d.document(), "--output", "schema.d.ts"},
		{tool("typescript", "bin", "tsc"), "--project", "."},
		{filepath.Join("out", "smoke.js"), d.base, d.create("author")},
	} {
		out, err := run(t, running, dir, "node", step...)
		if err != nil {
			t.Fatalf("node %s: %v\n%s", filepath.Base(step[0]), err, out)
		}
	}
}

// TestPython: of the document that the daemon serves openapi-python-client makes a package, which holds under mypy in
// strict mode, and a program of it does the same.
func TestPython(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not a short test")
	}
	home := filepath.Join("testdata", "python")
	interpreter := python(t, filepath.Join(home, "requirements.txt"))
	d := guarded(t)
	dir := t.TempDir()
	copyFiles(t, home, dir, "generate.yaml", "smoke.py")
	out, err := run(t, running, dir, interpreter, "-m", "openapi_python_client", "generate", "--path", d.document(),
		"--config", "generate.yaml", "--meta", "none", "--output-path", "graphd_api")
	// NDJSON is beyond the generator: events go as a list, and the audit is read by other means.
	unread := strings.Count(out, "type application/x-ndjson")
	if err != nil || unread != 2 || strings.Count(out, "WARNING") != unread || strings.Contains(out, "ERROR") {
		t.Fatalf("generate: %v\n%s", err, out)
	}
	for _, step := range [][]string{
		{"-m", "mypy", "--strict", "graphd_api", "smoke.py"},
		{"smoke.py", d.base, d.create("author")},
	} {
		if out, err := run(t, running, dir, interpreter, step...); err != nil {
			t.Fatalf("python %v: %v\n%s", step, err, out)
		}
	}
}

// node is a folder with the packages of home's lock file.
func node(t *testing.T, home string) string {
	t.Helper()
	list, lock := filepath.Join(home, "package.json"), filepath.Join(home, "package-lock.json")
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			testbed.Lacking(t, "there is no "+program+": apt-get install nodejs npm")
		}
	}
	return cached(t, "node", []string{list, lock}, func(dir string) error {
		copyFiles(t, home, dir, "package.json", "package-lock.json")
		out, err := run(t, installing, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		if err != nil {
			return fmt.Errorf("npm ci: %w\n%s", err, out)
		}
		return nil
	})
}

func copyFiles(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
