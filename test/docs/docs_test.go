package docs

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// page is one page of the documentation.
type page struct {
	path   string
	text   string // without the fenced blocks
	blocks []block
}

// block is one fenced block of a page.
type block struct {
	line  int
	info  string // what stands behind the fence: "yaml", "console", …
	text  string
	setup []string // the commands of the comments "setup:" before it
}

// pages are the README, the changelog, the notes for contributors and everything under docs.
func pages(t *testing.T) []page {
	t.Helper()
	paths := []string{"README.md", "CHANGELOG.md", "AGENTS.md"}
	err := filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]page, len(paths))
	for i, path := range paths {
		list[i] = readPage(t, path)
	}
	return list
}

func readPage(t *testing.T, path string) page {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := page{path: path}
	var prose, inside strings.Builder
	var open *block
	var setup []string
	line := 0
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line++
		info, fence := strings.CutPrefix(lines.Text(), "```")
		switch {
		case fence && open == nil:
			open = &block{line: line, info: info, setup: setup}
			setup = nil
		case fence:
			open.text = inside.String()
			p.blocks = append(p.blocks, *open)
			open = nil
			inside.Reset()
		case open != nil:
			inside.WriteString(lines.Text() + "\n")
		case strings.HasPrefix(lines.Text(), "<!-- setup: "):
			setup = append(setup, strings.TrimSuffix(strings.TrimPrefix(lines.Text(), "<!-- setup: "), " -->"))
		default:
			prose.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if open != nil {
		t.Errorf("%s:%d: a block is not closed", path, open.line)
	}
	p.text = prose.String()
	return p
}

// notYet marks a block that shows fields which are not built yet.
const notYet = "yaml not-yet-supported"

// TestDocsDeclarations compiles every declaration in the documentation. A block that shows
// what is not built yet must say so, and must be refused for that alone (M47). A test
// document is run against the declaration before it on its page.
func TestDocsDeclarations(t *testing.T) {
	atRoot(t)
	t.Parallel()
	declarations, refused, tests := 0, 0, 0
	for _, p := range pages(t) {
		var last block
		for _, b := range p.blocks {
			if !strings.HasPrefix(b.info, "yaml") || !strings.HasPrefix(b.text, "graph:") {
				continue
			}
			if strings.Contains(b.text, "\ncases:\n") {
				tests++
				runDocsTest(t, &p, &last, &b)
				continue
			}
			last = b
			_, err := graphd.ParseDeclaration([]byte(b.text), filepath.Join(t.TempDir(), "declaration.yaml"))
			if b.info == notYet {
				refused++
				checkNotYet(t, &p, &b, err)
				continue
			}
			declarations++
			if err != nil {
				t.Errorf("%s:%d: %v", p.path, b.line, err)
			}
		}
	}
	if declarations < 5 || refused < 1 || tests < 1 {
		t.Errorf("only %d declarations, %d of what is not built yet and %d tests were found", declarations, refused,
			tests)
	}
}

func checkNotYet(t *testing.T, p *page, b *block, err error) {
	t.Helper()
	var ds graphd.Diagnostics
	if !errors.As(err, &ds) {
		t.Errorf("%s:%d: this is supported by now: %v", p.path, b.line, err)
	}
	for _, d := range ds {
		if d.Code != "not_yet_supported" {
			t.Errorf("%s:%d: %s", p.path, b.line+d.Line, d.String())
		}
	}
}

func runDocsTest(t *testing.T, p *page, declaration, b *block) {
	t.Helper()
	dir := t.TempDir()
	test := filepath.Join(dir, "shown_test.yaml")
	for path, text := range map[string]string{filepath.Join(dir, "shown.yaml"): declaration.text, test: b.text} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outcomes, err := graphd.TestDeclaration(t.Context(), test)
	if err != nil || len(outcomes) == 0 {
		t.Errorf("%s:%d: %d cases, %v", p.path, b.line, len(outcomes), err)
	}
	for _, o := range outcomes {
		for _, f := range o.Failures {
			t.Errorf("%s:%d: %s: %s", p.path, b.line, o.Case, f)
		}
	}
}

var (
	linkTarget  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingLine = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocsLinks follows every link within the project, to its file and its heading.
func TestDocsLinks(t *testing.T) {
	atRoot(t)
	t.Parallel()
	links := 0
	for _, p := range pages(t) {
		for _, m := range linkTarget.FindAllStringSubmatch(p.text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			path := p.path
			if file != "" {
				path = filepath.Join(filepath.Dir(p.path), file)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: the link %s leads nowhere: %v", p.path, m[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(readPage(t, path).text), anchor) {
				t.Errorf("%s: %s has no heading for %s", p.path, path, m[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were found", links)
	}
}

// anchors are the names that headings can be linked by.
func anchors(text string) []string {
	var names []string
	for _, m := range headingLine.FindAllStringSubmatch(text, -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
