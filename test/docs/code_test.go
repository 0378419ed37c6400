package docs

import (
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
	"testing"
)

// coded are the packages whose diagnostics a declaration can have.
var coded = []string{
	"internal/spec", "internal/spec/assembly", "internal/spec/decode", "internal/registered", "internal/kind",
	"internal/expression", "internal/expression/rules", "internal/graph",
	"internal/accumulator", "internal/accumulator/*", "internal/compile",
	"internal/builtin",
	"internal/node/*", "internal/source/*", "internal/sink/*",
}

// runtimeCodes are what nodes fail with and no declaration can have; the page names them in its last words.
var runtimeCodes = []string{"rows_forgotten", "panic", "epoch_timeout", "cancelled", "no_convergence", "over_budget",
	"lane_overflow", "stuck_node"}

var codeRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|")

// TestDocsDiagnostics holds docs/diagnostics.md against the sources: every code that a
// declaration's mistake can have has a row, and every row is a code; those of commands are
// answers of the API.
func TestDocsDiagnostics(t *testing.T) {
	atRoot(t)
	t.Parallel()
	text, refusals, _ := strings.Cut(readPage(t, "docs/diagnostics.md").text, "\n## Commands\n")
	refusals, more, _ := strings.Cut(refusals, "\n## ")
	text += more
	answers := readPage(t, "api/openapi.yaml").text
	for _, m := range codeRow.FindAllStringSubmatch(refusals, -1) {
		if !strings.Contains(answers, "\n        - "+m[1]+"\n") {
			t.Errorf("the page has %s, which no command is refused with", m[1])
		}
	}
	rows := map[string]bool{}
	for _, m := range codeRow.FindAllStringSubmatch(text, -1) {
		if rows[m[1]] {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = true
	}
	codes := map[string]string{}
	for _, pattern := range coded {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				collectCodes(t, dir, codes)
			}
		}
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
				if strings.EqualFold(calledName(n), "diagnostic") && len(n.Args) == 3 {
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

// calledName is the name of the function that is called, without its package.
func calledName(call *ast.CallExpr) string {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
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
	if err != nil {
		t.Fatal(err)
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

// allSources are the parsed files of every package of the daemon, without the tests.
func allSources(t *testing.T) []*ast.File {
	t.Helper()
	var files []*ast.File
	err := filepath.WalkDir("internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestDocsGuarantees: docs/guarantees.md has every sentence that GET /v1/graphs/{graph} may
// answer (M31), and every test it names is there.
func TestDocsGuarantees(t *testing.T) {
	atRoot(t)
	t.Parallel()
	page := readPage(t, "docs/guarantees.md").text
	text := strings.ToLower(page) // a clause may begin a sentence or stand within one
	sentences := 0
	for _, file := range allSources(t) {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains([]string{"guarantees", "stateGuarantee", "deliveryGuarantee"}, fn.Name.Name) {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				e, _ := n.(ast.Expr)
				if s, ok := literal(e); ok && strings.Contains(s, " ") {
					sentences++
					if s = strings.Trim(s, "; ."); !strings.Contains(text, strings.ToLower(s)) {
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
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(page, -1)
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

// TestDocsCommands runs every command line in the documentation, and holds those that cannot be
// run in a test against the binary's own help.
func TestDocsCommands(t *testing.T) {
	atRoot(t)
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "graphd")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/graphd").CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	t.Run("help", func(t *testing.T) { checkHelp(t, binary) })
	runPages(t, binary)
}

// checkHelp holds every command line against the binary's help: its verbs and its flags.
func checkHelp(t *testing.T, binary string) {
	t.Helper()
	help := helpOf(t, binary)
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
			if !strings.Contains(help, "\n  "+verb+" ") {
				t.Errorf("%s: there is no command %s: %s", p.path, verb, line)
				continue
			}
			if verbs[verb] == "" {
				verbs[verb] = helpOf(t, binary, verb)
			}
			if words := strings.Fields(m[2]); len(words) > 0 && strings.Contains(verbs[verb], "\n  "+words[0]+" ") {
				whole := verb + " " + words[0] // a verb of a verb, such as token create
				verbs[whole] = helpOf(t, binary, verb, words[0])
				verb = whole
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

// commandLines are what a reader would type.
func commandLines(p *page) []string {
	var lines []string
	for _, b := range p.blocks {
		if !strings.HasPrefix(b.info, "console") {
			continue
		}
		for _, c := range shownCommands(&b) {
			lines = append(lines, strings.Split(c.text, "\n")...)
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
