package server

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	apidoc "github.com/graphd/graphd/api"
)

// document is api/openapi.yaml, ready to validate answers against.
type document struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex // the compiler is not for concurrent use
}

var loadDocument = sync.OnceValue(func() *document {
	var root map[string]any
	if err := yaml.Unmarshal(apidoc.OpenAPI(), &root); err != nil {
		panic(err)
	}
	raw, err := json.Marshal(root)
	if err != nil {
		panic(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:openapi", doc); err != nil {
		panic(err)
	}
	return &document{root: doc.(map[string]any), compiler: c}
})

func escape(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
}

// validate checks body against the schema at a pointer into the document.
func (d *document) validate(t *testing.T, pointer string, body []byte) {
	t.Helper()
	d.mu.Lock()
	schema, err := d.compiler.Compile("urn:openapi#" + pointer)
	d.mu.Unlock()
	if err != nil {
		t.Fatalf("compile %s: %v", pointer, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s: not JSON: %v\n%s", pointer, err, body)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %#v\n%s", pointer, err, body)
	}
}

// response finds an operation's response, following one $ref.
func (d *document) response(pattern, method, status string) (pointer string, content map[string]any, ok bool) {
	path, _ := d.root["paths"].(map[string]any)[pattern].(map[string]any)
	op, _ := path[strings.ToLower(method)].(map[string]any)
	responses, _ := op["responses"].(map[string]any)
	r, ok := responses[status].(map[string]any)
	if !ok {
		return "", nil, false
	}
	pointer = "/paths/" + escape(pattern) + "/" + strings.ToLower(method) + "/responses/" + status
	if to, isRef := r["$ref"].(string); isRef {
		pointer = strings.TrimPrefix(to, "#")
		r = d.root["components"].(map[string]any)["responses"].(map[string]any)[filepath.Base(pointer)].(map[string]any)
	}
	content, _ = r["content"].(map[string]any)
	if asked, has := r["x-graphd-asked"].(map[string]any); has {
		content = maps.Clone(content)
		maps.Copy(content, asked)
	}
	return pointer, content, true
}

// checkAnswer holds an answer of the server against the document.
func (d *document) checkAnswer(t *testing.T, pattern, method string, status int, header http.Header, body []byte) {
	t.Helper()
	named := strconv.Itoa(status)
	switch status {
	case http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusInternalServerError:
		named = "default" // any route may
	}
	pointer, content, ok := d.response(pattern, method, named)
	if !ok {
		t.Errorf("%s %s answered %d, which the document does not have\n%s", method, pattern, status, body)
		return
	}
	media, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if len(content) == 0 {
		if len(body) > 0 {
			t.Errorf("%s %s %d has a body, the document none: %s", method, pattern, status, body)
		}
		return
	}
	if _, ok := content[media]; !ok {
		t.Errorf("%s %s %d has the media type %q, which the document does not have", method, pattern, status, media)
		return
	}
	switch schema := pointer + "/content/" + escape(media) + "/schema"; {
	case strings.HasSuffix(media, "ndjson"): // it is each line's
		for line := range bytes.Lines(body) {
			d.validate(t, schema, line)
		}
	case strings.HasSuffix(media, "json"):
		d.validate(t, schema, body)
	}
}

// TestRoutesAreDocumented: the router and the document have the same routes.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{})
	var have, want []string
	err := chi.Walk(s.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		have = append(have, method+" "+route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for path, item := range loadDocument().root["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			want = append(want, strings.ToUpper(method)+" "+path)
			id, _ := op.(map[string]any)["operationId"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: operationId %q is missing or not unique", method, path, id)
			}
			ids[id] = true
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("routes and document differ:\nrouter   %v\ndocument %v", have, want)
	}
}

// TestDocumentHoldsTogether: every reference leads somewhere, every schema compiles, every
// parameter of a path is declared.
func TestDocumentHoldsTogether(t *testing.T) {
	t.Parallel()
	d := loadDocument()
	raw, err := json.Marshal(d.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"\$ref":"#([^"]*)"`).FindAllSubmatch(raw, -1) {
		var at any = d.root
		for part := range strings.SplitSeq(strings.TrimPrefix(string(m[1]), "/"), "/") {
			next, ok := at.(map[string]any)[part]
			if !ok {
				t.Errorf("%s leads nowhere", m[1])
				break
			}
			at = next
		}
	}
	components := d.root["components"].(map[string]any)
	for name := range components["schemas"].(map[string]any) {
		d.mu.Lock()
		_, err := d.compiler.Compile("urn:openapi#/components/schemas/" + name)
		d.mu.Unlock()
		if err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	for path, item := range d.root["paths"].(map[string]any) {
		declared, _ := json.Marshal(item.(map[string]any)["parameters"])
		for _, m := range regexp.MustCompile(`\{([a-z]+)\}`).FindAllStringSubmatch(path, -1) {
			ref := strings.ToUpper(m[1][:1]) + m[1][1:]
			if !bytes.Contains(declared, []byte("/parameters/"+ref+`"`)) &&
				!bytes.Contains(declared, []byte(`"name":"`+m[1]+`"`)) {
				t.Errorf("%s does not declare its parameter %s", path, m[1])
			}
		}
	}
}

// TestProblemCodesAreDocumented: every code that the server or the engine refuses with is in the document.
func TestProblemCodesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	schemas := loadDocument().root["components"].(map[string]any)["schemas"].(map[string]any)
	for _, c := range schemas["ProblemCode"].(map[string]any)["enum"].([]any) {
		documented[c.(string)] = true
	}
	members := schemas["ErrorFrame"].(map[string]any)["properties"].(map[string]any)
	frames := members["code"].(map[string]any)["anyOf"].([]any)[1]
	for _, c := range frames.(map[string]any)["enum"].([]any) {
		documented[c.(string)] = true
	}
	codes := append(stringConstants(t, "../api/codes.go", "Code"), refusalCodes(t)...)
	if len(codes) < 40 {
		t.Fatalf("found only %d codes: the search for them is broken", len(codes))
	}
	used := map[string]bool{}
	for _, c := range codes {
		used[c] = true
		if !documented[c] {
			t.Errorf("code %q is not in the document's ProblemCode", c)
		}
	}
	for c := range documented {
		if !used[c] {
			t.Errorf("the document has the code %q, which nothing refuses with", c)
		}
	}
}

// stringConstants are the values of the constants of a file whose names have a prefix.
func stringConstants(t *testing.T, file, prefix string) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, prefix) && len(v.Values) == 1 {
			out = append(out, unquote(v.Values[0]))
		}
		return true
	})
	return out
}

// refusalCodes are the codes of the literals of api.Error in every package there is.
func refusalCodes(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && isError(lit.Type, tree.Name.Name) {
				out = append(out, codeOf(lit)...)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// isError says whether a literal's type is api.Error; the engine has a short name for it.
func isError(typ ast.Expr, pkg string) bool {
	switch typ := typ.(type) {
	case *ast.Ident:
		return typ.Name == "Error" && pkg == "engine"
	case *ast.SelectorExpr:
		from, ok := typ.X.(*ast.Ident)
		return ok && from.Name == "api" && typ.Sel.Name == "Error"
	}
	return false
}

// codeOf is the code that a literal names, if it does so in words.
func codeOf(lit *ast.CompositeLit) []string {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if name, ok := kv.Key.(*ast.Ident); ok && name.Name == "Code" && unquote(kv.Value) != "" {
			return []string{unquote(kv.Value)}
		}
	}
	return nil
}

func unquote(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok {
		s, _ := strconv.Unquote(lit.Value)
		return s
	}
	return ""
}
