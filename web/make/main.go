// Command make bundles what the page uses of others' into web/vendor: vendor.js, vendor.css and LICENSES.txt. It is run
// from the root, by `make web`, and needs npm, which fetches the packages that web/vendor/packages.txt lists with their
// sums. Nothing of them is run: what bundles them, esbuild, is a Go module.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/web/make/npm"
)

const (
	folder  = "web/vendor"
	esbuild = "github.com/evanw/esbuild/cmd/esbuild@v0.28.2"
)

func main() {
	made, err := build(context.Background(), folder)
	for name, text := range made {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// packages reads the list: a name, a version and a sum in each line that is no comment.
func packages(path string) (all []npm.Package, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the list of packages: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("%s: %q is no name, version and SHA-256", path, line)
		}
		all = append(all, npm.Package{Name: f[0], Version: f[1], Sum: f[2]})
	}
	return all, nil
}

// build makes the files of the folder, by name.
func build(ctx context.Context, folder string) (map[string][]byte, error) {
	all, err := packages(filepath.Join(folder, "packages.txt"))
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "graphd-web-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to work in: %w", err)
	}
	defer os.RemoveAll(work)
	var licences strings.Builder
	licences.WriteString("What the page is made of beside graphd's own, and under which licences.\n")
	for _, p := range all {
		licence, err := unpack(ctx, p, filepath.Join(work, "node_modules", filepath.FromSlash(p.Name)))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&licences, "\n%s\n%s %s\n\n%s\n", strings.Repeat("=", 72), p.Name, p.Version,
			strings.TrimSpace(licence))
	}
	for _, name := range []string{"entry.js", "dagre.js"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(work, name), text, 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
	}
	script, err := bundle(ctx, work)
	if err != nil {
		return nil, err
	}
	style, err := os.ReadFile(filepath.Join(work, "node_modules", "uplot", "dist", "uPlot.min.css"))
	if err != nil {
		return nil, fmt.Errorf("read the style of charts: %w", err)
	}
	return map[string][]byte{"vendor.js": script, "vendor.css": style, "LICENSES.txt": []byte(licences.String())}, nil
}

// bundle makes one module of entry.js and what it imports.
func bundle(ctx context.Context, work string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "run", esbuild, filepath.Join(work, "entry.js"), "--bundle", "--minify",
		"--format=esm", "--target=es2022", "--legal-comments=none", "--log-level=warning")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("bundle the packages: %w", err)
	}
	const head = "// Bundled by `make web` of the packages that packages.txt lists; LICENSES.txt has their licences.\n"
	return append([]byte(head), text...), nil
}

var licenceName = regexp.MustCompile(`(?i)^licen[cs]e(\.(md|txt))?$`)

// unpack writes a package's files into a folder, and is its licence.
func unpack(ctx context.Context, p npm.Package, to string) (licence string, err error) {
	archive, err := npm.Fetch(ctx, p)
	if err != nil {
		return "", err
	}
	root, err := openRoot(to)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // what was written has its own error
	err = npm.Each(archive, func(name string, text []byte) error {
		if licenceName.MatchString(name) {
			licence = string(text)
		}
		if !slices.Contains([]string{".js", ".mjs", ".cjs", ".json", ".css"}, filepath.Ext(name)) {
			return nil
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return root.WriteFile(name, text, 0o600)
	})
	if err == nil && licence == "" {
		err = fmt.Errorf("%s has no licence in its archive", p.Name)
	}
	return licence, err
}

func openRoot(dir string) (*os.Root, error) {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(dir); err == nil {
			return root, nil
		}
	}
	return nil, fmt.Errorf("make a folder for a package: %w", err)
}
