package graphd_test

import (
	"bufio"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	line int
	info string // what stands behind the fence: "yaml", "console", …
	text string
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
	line := 0
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line++
		info, fence := strings.CutPrefix(lines.Text(), "```")
		switch {
		case fence && open == nil:
			open = &block{line: line, info: info}
		case fence:
			open.text = inside.String()
			p.blocks = append(p.blocks, *open)
			open = nil
			inside.Reset()
		case open != nil:
			inside.WriteString(lines.Text() + "\n")
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
		t.Errorf("only %d declarations, %d of what is not built yet and %d tests were found", declarations, refused, tests)
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
	outcomes, err := graphd.TestDeclaration(test)
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

// coded are the packages whose diagnostics a declaration can have.
var coded = []string{
	"internal/spec", "internal/expression", "internal/expression/rules", "internal/graph", "internal/accumulator",
	"internal/compile", "internal/builtin", "internal/source/generator",
}

// runtimeCodes are what nodes fail with and no declaration can have; the page names them in its last words.
var runtimeCodes = []string{"panic", "epoch_timeout", "cancelled"}

// TestDocsDiagnostics holds docs/diagnostics.md against the sources: every code that a
// declaration's mistake can have has a row, and every row is a code.
func TestDocsDiagnostics(t *testing.T) {
	t.Parallel()
	text := readPage(t, "docs/diagnostics.md").text
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|").FindAllStringSubmatch(text, -1) {
		if rows[m[1]] {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = true
	}
	codes := map[string]string{}
	for _, dir := range coded {
		collectCodes(t, dir, codes)
	}
	if len(codes) < 50 {
		t.Fatalf("only %d codes were found", len(codes))
	}
	for code, where := range codes {
		if !rows[code] && !(slices.Contains(runtimeCodes, code) && strings.Contains(text, "`"+code+"`")) {
			t.Errorf("%s of %s is not on the page", code, where)
		}
	}
	for code := range rows {
		if codes[code] == "" {
			t.Errorf("the page has %s, which no package gives", code)
		}
	}
}

// collectCodes finds the codes of a package: constants named Code…, and literals that stand
// for a code in a diagnostic.
func collectCodes(t *testing.T, dir string, codes map[string]string) {
	t.Helper()
	for _, file := range sources(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			var found ast.Expr
			switch n := n.(type) {
			case *ast.ValueSpec:
				if len(n.Values) == 1 && strings.HasPrefix(strings.ToLower(n.Names[0].Name), "code") {
					found = n.Values[0]
				}
			case *ast.CompositeLit:
				if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Diagnostic" {
					found = fieldOf(n, "Code")
				}
			case *ast.CallExpr: // diagnostic(pos, code, text)
				if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "diagnostic" && len(n.Args) == 3 {
					found = n.Args[1]
				}
			}
			if code, ok := literal(found); ok {
				codes[code] = dir
			}
			return true
		})
	}
}

func fieldOf(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil && s != ""
}

// sources are the parsed files of a package, without its tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(paths), err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// TestDocsGuarantees: docs/guarantees.md has every sentence that GET /v1/graphs/{graph} may
// answer (M31), and every test it names is there.
func TestDocsGuarantees(t *testing.T) {
	t.Parallel()
	text := readPage(t, "docs/guarantees.md").text
	sentences := 0
	for _, file := range sources(t, "internal/engine") {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "guarantees" {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				e, _ := n.(ast.Expr)
				if s, ok := literal(e); ok && strings.Contains(s, " ") {
					sentences++
					if s = strings.Trim(s, "; ."); !strings.Contains(text, s) {
						t.Errorf("the page does not say: %s", s)
					}
				}
				return true
			})
		}
	}
	if sentences < 6 {
		t.Errorf("only %d sentences were found", sentences)
	}
	tests := testNames(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1)
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("there is no test %s", m[1])
		}
	}
}

// testNames are the test functions of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(data, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var (
	verbUsed = regexp.MustCompile(`(?:^|[|;&] *)(?:graphd|go run \./cmd/graphd) +(?:--server \S+ +)?([a-z-]+)(.*)`)
	flagUsed = regexp.MustCompile(`(?:^| )(--?[a-z][a-z-]*)`)
	flagHelp = regexp.MustCompile(`(?m)^ +(?:(-[a-z]), )?(?:--([a-z-]+))`)
)

// TestDocsCommands holds every command line in the documentation against the binary's own
// help: its verbs and its flags.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "graphd")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/graphd").CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	help := sync.OnceValue(func() string { return helpOf(t, binary) })
	verbs := map[string]string{}
	commands := 0
	for _, p := range pages(t) {
		for _, line := range commandLines(&p) {
			m := verbUsed.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			commands++
			verb := m[1]
			if !strings.Contains(help(), "\n  "+verb+" ") {
				t.Errorf("%s: there is no command %s: %s", p.path, verb, line)
				continue
			}
			if verbs[verb] == "" {
				verbs[verb] = helpOf(t, binary, verb)
			}
			for _, f := range flagUsed.FindAllStringSubmatch(m[2], -1) {
				if !hasFlag(verbs[verb], f[1]) {
					t.Errorf("%s: graphd %s has no flag %s: %s", p.path, verb, f[1], line)
				}
			}
		}
	}
	if commands < 30 {
		t.Errorf("only %d command lines were found", commands)
	}
}

// commandLines are what a reader would type: the lines of console blocks that begin with $.
func commandLines(p *page) []string {
	var lines []string
	for _, b := range p.blocks {
		if b.info != "console" {
			continue
		}
		typed := false
		for line := range strings.Lines(b.text) {
			command, prompt := strings.CutPrefix(strings.TrimRight(line, "\n"), "$ ")
			if !prompt && typed { // the line before ended with |
				command, prompt = strings.TrimSpace(command), true
			}
			typed = prompt && strings.HasSuffix(command, "|")
			if prompt {
				lines = append(lines, command)
			}
		}
	}
	return lines
}

func helpOf(t *testing.T, binary string, verb ...string) string {
	t.Helper()
	out, err := exec.Command(binary, append(verb, "--help")...).Output()
	if err != nil {
		t.Errorf("graphd %v --help: %v", verb, err)
	}
	return string(out)
}

func hasFlag(help, flag string) bool {
	for _, m := range flagHelp.FindAllStringSubmatch(help, -1) {
		if flag == m[1] || flag == "--"+m[2] {
			return true
		}
	}
	return false
}
