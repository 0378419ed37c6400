package assembly_test

import (
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/assembly"
	"github.com/graphd/graphd/internal/spec/decode"
)

// files are what is on the disk.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, ok := f[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// told are the diagnostics of a declaration by what they say, of its includes or of the whole text.
func told(t *testing.T, f files, set map[string]string) (doc *assembly.Document, g *spec.Graph, lines []string) {
	t.Helper()
	doc, err := assembly.Make([]byte(f["d/g.yaml"]), assembly.Options{File: "d/g.yaml", Read: f.read, Set: set})
	found, ok := err.(decode.Diagnostics) //nolint:errorlint // it is the error itself
	if err != nil && !ok {
		t.Fatal(err)
	}
	if err == nil {
		g, found = spec.Parse(doc.Text, new(builtin.Kinds).Declared(), spec.Options{File: "d/g.yaml", Resolve: resolve})
		found = doc.Place(found)
	}
	for _, d := range found {
		lines = append(lines, d.String())
	}
	return doc, g, lines
}

const main = `# The book.

graph: g
include: [shared/book_part.yaml, rules.yaml]
vars: { own: 1 } # kept
accumulators:
  # the second
  pricing: { source: { websocket: {} } }
nodes:
  spread: { expr: 'book.ask - book.bid' }
outputs:
  out: { from: spread, sink: { drop: {} } }
`

func shared() files {
	return files{
		"d/g.yaml": main,
		"d/shared/book_part.yaml": "include: ../more.yaml\naccumulators:\n  book:\n    where: event.bid > 0\n" +
			"    emit: { bid: event.bid, ask: event.ask }\n",
		"d/rules.yaml": `{"nodes": {"up": {"route": {"high": "spread > vars.limit", "low": "true"}}}}`,
		"d/more.yaml":  "vars:\n  limit: 5 # of it\n",
	}
}

// What is included stands before what the declaration has itself, in the order in which it is named, and means what it
// would mean if it were written there.
func TestIncludesArePutIn(t *testing.T) {
	t.Parallel()
	doc, g, lines := told(t, shared(), nil)
	if len(lines) > 0 {
		t.Fatal(strings.Join(lines, "\n"))
	}
	want := `# The book.

# It includes shared/book_part.yaml, more.yaml, rules.yaml.

graph: g
# kept
vars:
  limit: 5 # of it
  own: 1
accumulators:
  book:
    where: event.bid > 0
    emit: {bid: event.bid, ask: event.ask}
  # the second
  pricing: {source: {websocket: {}}}
nodes:
  "up": {"route": {"high": "spread > vars.limit", "low": "true"}}
  spread: {expr: 'book.ask - book.bid'}
outputs:
  out: {from: spread, sink: {drop: {}}}
`
	if diff := cmp.Diff(want, string(doc.Text)); diff != "" {
		t.Error(diff)
	}
	written, diags := spec.Parse([]byte(want), new(builtin.Kinds).Declared(), spec.Options{})
	if len(diags) > 0 || written.Hash != g.Hash {
		t.Errorf("%v; the hashes are %s and %s", diags, written.Hash, g.Hash)
	}
	if diff := cmp.Diff([]string{"d/shared/book_part.yaml", "d/more.yaml", "d/rules.yaml"}, doc.Files); diff != "" {
		t.Error(diff)
	}
	if len(doc.Remarks) > 0 {
		t.Error(doc.Remarks)
	}
}

// What is wrong is told where it is written.
func TestMistakesAreToldInTheirFiles(t *testing.T) {
	t.Parallel()
	in := func(file, from, to string) func(files) {
		return func(f files) {
			if !strings.Contains(f[file], from) {
				panic(fmt.Sprintf("%q is not in %s", from, file))
			}
			f[file] = strings.Replace(f[file], from, to, 1)
		}
	}
	add := func(file, text string) func(files) { return func(f files) { f[file] += text } }
	for _, c := range []struct {
		name   string
		change func(files)
		want   []string
	}{
		{
			"an unknown field in each", func(f files) {
				in("d/g.yaml", "pricing: { source", "pricing: { sauce: 1, source")(f)
				in("d/more.yaml", "limit: 5", "limit: ${")(f)
				in("d/shared/book_part.yaml", "    where", "    wheer")(f)
				in("d/rules.yaml", `"route"`, `"rout"`)(f)
			},
			[]string{
				"d/g.yaml:8:14: unknown_field: ", "d/shared/book_part.yaml:4:5: unknown_field: ",
				"d/more.yaml:2:10: bad_reference: ", "d/rules.yaml:1:12: missing_kind: ",
				"d/rules.yaml:1:19: unknown_field: ",
			},
		},
		{
			"a name twice", add("d/more.yaml", "accumulators: { pricing: {} }\n"),
			[]string{`d/g.yaml:8:3: duplicate_name: an accumulator of this name, "pricing", cannot stand beside that ` +
				`of d/more.yaml on line 3; rename one of the two`},
		},
		{
			"a name of two things", in("d/rules.yaml", `"up"`, `"book"`),
			[]string{`d/rules.yaml:1:12: duplicate_name: a node of this name, "book", cannot stand beside that of ` +
				`d/shared/book_part.yaml on line 3; rename one of the two`},
		},
		{
			"a name twice in a file", add("d/shared/book_part.yaml", "  book: {}\n"),
			[]string{`d/shared/book_part.yaml:6:3: duplicate_key: "book" is given twice, first on line 3; remove one`},
		},
		{
			"a field twice below", add("d/shared/book_part.yaml", "    where: true\n"),
			[]string{`d/shared/book_part.yaml:6:5: duplicate_key: "where" is given twice, first on line 4 of ` +
				`d/shared/book_part.yaml; remove one`},
		},
		{
			"what has no place", add("d/rules.yaml", "\n# more\n"),
			nil,
		},
		{
			"a reactor", in("d/more.yaml", "vars:", "reactor: { when: all }\nvars:"),
			[]string{"d/more.yaml:1:1: unknown_field: \"reactor\" has no place here: "},
		},
		{
			"no mapping", in("d/rules.yaml", `{"nodes": `, `[{"nodes": `), []string{"d/rules.yaml:1:"},
		},
		{
			"a loop", func(f files) {
				f["d/more.yaml"] = "vars: { limit: 5 }\nloops:\n  settle: { nods: [up] }\n"
			},
			[]string{"d/more.yaml:3:13: unknown_field: "},
		},
		{"a list", func(f files) { f["d/rules.yaml"] = "- a\n" }, []string{"d/rules.yaml:1:1: wrong_type: "}},
		{"no section", func(f files) { f["d/more.yaml"] = "vars: 7\n" }, []string{"d/more.yaml:1:7: wrong_type: "}},
		{"empty", func(f files) { f["d/more.yaml"] = "# nothing\n" },
			[]string{"d/more.yaml:1:1: empty_document: nothing stands in this file; "}},
		{"no YAML", func(f files) { f["d/more.yaml"] = "vars:\n  a: !\"\n" }, []string{"d/more.yaml:2:"}},
		{
			"a cycle", func(f files) { f["d/more.yaml"] = "include: g.yaml" },
			[]string{"d/more.yaml:1:10: bad_include: the files include each other in a cycle: d/g.yaml → " +
				"d/shared/book_part.yaml → d/more.yaml → d/g.yaml; "},
		},
		{"itself", in("d/g.yaml", "rules.yaml", "./g.yaml"),
			[]string{"d/g.yaml:4:34: bad_include: the files include each other in a cycle: d/g.yaml → d/g.yaml; "}},
		{"twice in a list", in("d/g.yaml", "rules.yaml", "shared/../shared/book_part.yaml"),
			[]string{"d/g.yaml:4:34: duplicate_entry: "}},
		{"two lists", in("d/g.yaml", "vars: { own", "include: rules.yaml\nvars: { own"),
			[]string{"d/g.yaml:5:10: duplicate_key: "}},
		{"no file", in("d/g.yaml", "rules.yaml", "nowhere.yaml"),
			[]string{`d/g.yaml:4:34: bad_include: there is no file "d/nowhere.yaml"; `}},
		{"an absolute path", in("d/g.yaml", "rules.yaml", "/etc/rules.yaml"),
			[]string{`d/g.yaml:4:34: bad_include: "/etc/rules.yaml" is an absolute path; `}},
		{"a reference", in("d/g.yaml", "rules.yaml", "'${FILE}'"), []string{"d/g.yaml:4:34: not_allowed: "}},
		{"a mapping", in("d/g.yaml", "rules.yaml", "{ file: rules.yaml }"), []string{"d/g.yaml:4:34: wrong_type: "}},
		{"no list", in("d/g.yaml", "[shared/book_part.yaml, rules.yaml]", "[]"),
			[]string{"d/g.yaml:4:10: empty_value: "}},
		{
			"an alias", func(f files) {
				f["d/more.yaml"] = "vars:\n  limit: &five 5\naccumulators:\n  a: { capacity: &words many }\n" +
					"  b: { capacity: *words }\n"
			},
			[]string{
				"d/more.yaml:4:18: wrong_type: ",
				`d/more.yaml:5:18: wrong_type: expected a whole number, found the text "many"; *words stands here ` +
					"for what is written at &words on line 4",
			},
		},
		{"a declaration that is no YAML", func(f files) {
			f["d/g.yaml"] = "graph: g\ninclude: rules.yaml\naccumulators:\n  a: { where: !\"x }\n"
		}, []string{"d/g.yaml:4:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := shared()
			c.change(f)
			_, _, got := told(t, f, nil)
			fits := len(got) == len(c.want)
			for i := 0; fits && i < len(got); i++ {
				fits = strings.HasPrefix(got[i], c.want[i])
			}
			if !fits {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A place within an expression is found again, however the text that was made writes it.
func TestPlaceWithinAnExpression(t *testing.T) {
	t.Parallel()
	f := shared()
	f["d/shared/book_part.yaml"] = "accumulators:\n   book:\n      where: >\n        event.bid > 0 &&\n\n" +
		"        nothing\n"
	f["d/more.yaml"] = "{}"
	doc, g, lines := told(t, f, nil)
	if len(lines) > 0 {
		t.Fatal(strings.Join(lines, "\n"))
	}
	e := g.Accumulators[0].Where
	line, column := e.At(strings.Index(e.Text, "nothing") + 3)
	placed := doc.Place(decode.Diagnostics{{Line: line, Column: column, Text: "here"}})
	if got, want := placed[0].String(), "d/shared/book_part.yaml:6:12: : here"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBoundsOfIncludes(t *testing.T) {
	t.Parallel()
	row, many := files{"d/g.yaml": "graph: g\ninclude: f1\n"}, files{"d/g.yaml": "graph: g\ninclude:\n"}
	for i := 1; i < 20; i++ {
		row[fmt.Sprintf("d/f%d", i)] = fmt.Sprintf("include: f%d\nvars: { v%d: 1 }\n", i+1, i)
	}
	for i := range 70 {
		many["d/g.yaml"] += fmt.Sprintf("- f%d\n", i)
		many[fmt.Sprintf("d/f%d", i)] = fmt.Sprintf("vars: { v%d: 1 }\n", i)
	}
	large := files{"d/g.yaml": "graph: g\ninclude: [a, b]\n"}
	large["d/a"] = "vars: { a: '" + strings.Repeat("x", 600_000) + "' }"
	large["d/b"] = strings.Replace(large["d/a"], "a:", "b:", 1)
	for name, c := range map[string]struct {
		files files
		want  string
	}{
		"too deep":  {row, "d/f8:1:10: bad_include: this is the 9th file in a row"},
		"too many":  {many, "d/g.yaml:67:3: bad_include: the declaration includes more than the 64 files allowed"},
		"too large": {large, "d/g.yaml:2:14: too_large: "},
	} {
		if _, _, got := told(t, c.files, nil); len(got) == 0 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: got\n%s\nwant %s", name, strings.Join(got, "\n"), c.want)
		}
	}
}

// Of several files that include one, it is there once; what brings nothing is remarked.
func TestWhatIsSharedIsThereOnce(t *testing.T) {
	t.Parallel()
	doc, _, lines := told(t, files{
		"d/g.yaml": "graph: g\ninclude: [a, b, c]\naccumulators: { x: {} }\n", "d/a": "include: s",
		"d/b": "include: s\nvars: {}", "d/s": "vars: { v: 1 }", "d/c": "{}",
	}, nil)
	if len(lines) > 0 {
		t.Fatal(strings.Join(lines, "\n"))
	}
	if got := strings.Count(string(doc.Text), "v: 1"); got != 1 {
		t.Errorf("it is there %d times:\n%s", got, doc.Text)
	}
	var remarks []string
	for _, d := range doc.Remarks {
		remarks = append(remarks, d.String())
	}
	want := []string{
		`d/g.yaml:2:14: idle_include: "b" brings nothing; leave it out, or write into it what is shared`,
		`d/g.yaml:2:17: idle_include: "c" brings nothing; leave it out, or write into it what is shared`,
	}
	if diff := cmp.Diff(want, remarks); diff != "" {
		t.Error(diff)
	}
}

// A declaration that includes nothing is as it was written, and so is one whose includes nobody can read.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "graph: g", "- a", "graph: g\ninclude: a.yaml", "a: !\"", "a: 1\n---\nb: 1"} {
		doc, err := assembly.Make([]byte(text), assembly.Options{})
		if err != nil || string(doc.Text) != text {
			t.Errorf("%q: got %q, %v", text, doc.Text, err)
		}
	}
}

// What is told of a declaration with many aliases is placed without going through all of them each time.
func TestPlacingIsCheap(t *testing.T) {
	var text strings.Builder
	text.WriteString("graph: g\ninclude: more.yaml\nvars:\n  v: &x 1\n")
	const aliases = 5000
	for i := range aliases {
		fmt.Fprintf(&text, "  v%d: *x\n", i)
	}
	f := files{"more.yaml": "vars: { w: 1 }\n"}
	doc, err := assembly.Make([]byte(text.String()), assembly.Options{File: "g.yaml", Read: f.read})
	if err != nil {
		t.Fatal(err)
	}
	found := make(decode.Diagnostics, 1000)
	for i := range found {
		found[i] = decode.Diagnostic{Line: 4 + i, Column: 3, Text: "wrong"}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found = doc.Place(found)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 || len(found) != 1000 || found[0].File != "g.yaml" {
		t.Errorf("%d diagnostics in %s take %d bytes", len(found), found[0].File, n)
	}
}
