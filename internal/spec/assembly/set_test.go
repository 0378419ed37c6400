package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/assembly"
)

const settable = `graph: g # as it is
vars:
  count: 5    # of them
  ratio: 0.5
  desk: fx
  on: true
  quoted: 'it''s "so"'
  read: ${DESK:-fx}
  none: null
  list: [ a, "b, c", [1] ] # three
  map:
    a: 1
  first: &x 7
  again: *x
  long: >
    some
    text
accumulators: { a: { default: { v: *x } } }
`

// one sets one var.
func one(name, value string) assembly.Options {
	return assembly.Options{File: "g.yaml", Set: map[string]string{name: value}}
}

// A var that is set has the type of the one that is declared; the text is otherwise as it was, where that can be.
func TestSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, from, to string }{
		{"count", "7", "count: 5 ", "count: 7 "},
		{"count", "0x1F", "count: 5 ", "count: 0x1F "},
		{"ratio", "1", "ratio: 0.5", "ratio: 1.0"},
		{"ratio", "-2.5e3", "ratio: 0.5", "ratio: -2.5e3"},
		{"desk", "7", "desk: fx", `desk: "7"`},
		{"desk", "", "desk: fx", `desk: ""`},
		{"desk", "a: b # c\n\"d\" <é>", "desk: fx", `desk: "a: b # c\n\"d\" <é>"`},
		{"desk", "${HOME} $${X}", "desk: fx", `desk: "$${HOME} $$${X}"`},
		{"on", "false", "on: true", "on: false"},
		{"quoted", "x", `quoted: 'it''s "so"'`, `quoted: "x"`},
		{"read", "eq", "read: ${DESK:-fx}", `read: "eq"`},
		{"read", "5", "read: ${DESK:-fx}", "read: 5"},
		{"none", "true", "none: null", "none: true"},
		{"none", "", "none: null", "none: null"},
		{"list", "[1, x]", `list: [ a, "b, c", [1] ] #`, `list: [1, "x"] #`},
		{"again", "8", "again: *x", "again: 8"},
	} {
		doc, err := assembly.Make([]byte(settable), one(c.name, c.value))
		if err != nil {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
			continue
		}
		if want := strings.Replace(settable, c.from, c.to, 1); string(doc.Text) != want {
			t.Errorf("%s=%s: got\n%s\nwant\n%s", c.name, c.value, doc.Text, want)
		}
	}
}

// Where the value does not stand in one stretch of the text, the declaration is written anew, and means the same.
func TestSetWritesAnew(t *testing.T) {
	t.Parallel()
	kinds := new(builtin.Kinds).Declared()
	for name, c := range map[string]struct{ value, text string }{
		"map":   {`{"b": [1, null], "c": "${X}"}`, "{b: [1, null], c: '$${X}'}"},
		"long":  {"short", "short"},
		"first": {"9", "9"},
	} {
		doc, err := assembly.Make([]byte(settable), one(name, c.value))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		byHand := map[string]string{
			"map": "  map:\n    a: 1\n", "long": "  long: >\n    some\n    text\n",
			"first": "  first: &x 7\n  again: *x\n",
		}[name]
		instead := "  " + name + ": " + c.text + "\n"
		text := strings.Replace(settable, byHand, instead, 1)
		if name == "first" {
			text = strings.Replace(strings.Replace(settable, byHand, instead+"  again: 7\n", 1), "v: *x", "v: 7", 1)
		}
		want, diags := spec.Parse([]byte(text), kinds, spec.Options{})
		got, more := spec.Parse(doc.Text, kinds, spec.Options{})
		if len(diags)+len(more) > 0 || want.Hash != got.Hash {
			t.Errorf("%s: %v %v %v in\n%s", name, diags, more, spec.Diff(want, got), doc.Text)
		}
		if !strings.HasPrefix(string(doc.Text), "graph: g # as it is\nvars:\n") {
			t.Errorf("%s: the comments are gone:\n%s", name, doc.Text)
		}
	}
}

// What would read as something else with the value put where it seems to stand is written anew, too.
func TestSetWhereAnAliasStandsForTheVars(t *testing.T) {
	t.Parallel()
	const text = "graph: g\naccumulators: { a: { default: &v { x: 1, y: 2 } } }\nvars: *v\n"
	doc, err := assembly.Make([]byte(text), one("x", "3"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "graph: g\naccumulators: {a: {default: {x: 1, y: 2}}}\nvars: {x: 3, y: 2}\n"
	if string(doc.Text) != want {
		t.Errorf("got\n%s", doc.Text)
	}
}

// What cannot be set is told with what could be.
func TestCannotSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"cuont", "7", `the declaration has no var "cuont", it has count, ratio, desk, on, quoted, read, none, list, ` +
			`map, first, again, long; did you mean count?`},
		{"count", "1.5", `vars.count is the number 5 in the declaration, so a whole number is needed; "1.5" is none`},
		{"count", "", `vars.count is the number 5 in the declaration, so a whole number is needed; "" is none`},
		{"count", "99999999999999999999", "so a whole number is needed"},
		{"ratio", "much", `so a number is needed; "much" is none`},
		{"ratio", ".inf", `so a number is needed; ".inf" is none`},
		{"on", "yes", `vars.on is true in the declaration, so true or false is needed; "yes" is none`},
		{"list", "{}", "vars.list is a list in the declaration, so one is needed, written as JSON"},
		{"map", "[", "vars.map is a mapping in the declaration, so one is needed, written as JSON"},
		{"desk", "\xff", "is no text in UTF-8"},
	} {
		_, err := assembly.Make([]byte(settable), one(c.name, c.value))
		if refused, ok := errors.AsType[*assembly.SetError](err); !ok || !strings.Contains(refused.Text, c.want) {
			t.Errorf("%s=%q: got %v, want %s", c.name, c.value, err, c.want)
		}
	}
	_, err := assembly.Make([]byte("graph: g\naccumulators: { a: {} }\n"), one("x", "1"))
	if refused, ok := errors.AsType[*assembly.SetError](err); !ok || !strings.Contains(refused.Text, "has no vars") {
		t.Errorf("got %v", err)
	}
}

// A var of an included file is set as one of the declaration itself is.
func TestSetWhatIsIncluded(t *testing.T) {
	t.Parallel()
	doc, g, lines := told(t, shared(), map[string]string{"limit": "9", "own": "2"})
	if len(lines) > 0 {
		t.Fatal(strings.Join(lines, "\n"))
	}
	for _, v := range g.Vars {
		if want := map[string]any{"limit": int64(9), "own": int64(2)}[v.Name]; v.Value != want {
			t.Errorf("%s is %v, want %v in\n%s", v.Name, v.Value, want, doc.Text)
		}
	}
}

// Whatever a declaration looks like, its text with a var set reads back as what the tree of it says: no panic, and
// what is told of it has a place in the file.
func FuzzSet(f *testing.F) {
	f.Add([]byte(settable), "count", "7")
	f.Add([]byte(main), "own", "x")
	for _, pattern := range []string{"../testdata/mistakes/*", "../testdata/valid/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, "threshold", "0.1")
			f.Add(data, "a", "[1, {b: c}]")
		}
	}
	kinds := new(builtin.Kinds).Declared()
	f.Fuzz(func(t *testing.T, data []byte, name, value string) {
		inc := files{"d/g.yaml": string(data), "d/part.yaml": string(data)}
		for _, o := range []assembly.Options{{}, {Read: inc.read}} {
			o.File, o.Set = "d/g.yaml", map[string]string{name: value}
			doc, err := assembly.Make(data, o)
			if err != nil {
				continue
			}
			_, found := spec.Parse(doc.Text, kinds, spec.Options{File: "d/g.yaml"})
			lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + len(data) + 1
			for _, d := range doc.Place(found) {
				if d.Line < 1 || d.Column < 1 || d.Line > lines || d.File == "" {
					t.Errorf("%v has no place in the file", d)
				}
			}
		}
	})
}
