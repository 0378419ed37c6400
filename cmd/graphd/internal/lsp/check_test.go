package lsp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/lsp/frame"
	"github.com/graphd/graphd/internal/language/text"
)

const valid = `graph: quotes
accumulators:
  book:
    source: { websocket: {} }
    schema: { type: object, properties: { bid: { type: number }, ask: { type: number } } }
reactor: { when: any, strategy: latest }
nodes:
  mid: { expr: (book.bid + book.ask) / 2 }
outputs:
  mids: { from: mid, sink: { stdout: {} } }
`

// What is told of a document is what graphd validate says, with its codes, texts and places.
func TestMistakesAreThoseOfValidate(t *testing.T) {
	t.Parallel()
	broken := strings.NewReplacer("strategy: latest", "stratgy: latest", "book.ask", "boook.ask").Replace(valid) +
		"  more: { from: 'nothing 🙂', sink: { stdout: {} } }\r\n  # end"
	each(t, func(t *testing.T, e *editor) {
		path := filepath.Join(written(t, map[string]string{"quotes.yaml": broken}), "quotes.yaml")
		_, err := graphd.ReadDeclaration(path)
		var want graphd.Diagnostics
		if !errors.As(err, &want) || len(want) < 3 {
			t.Fatalf("validate says %v", err)
		}
		e.begin()
		e.open(uriOf(path), broken)
		got := e.mistakes(uriOf(path), 1)
		if len(got) != len(want) {
			t.Fatalf("%+v; want %v", got, want)
		}
		of := text.New(broken)
		for i, d := range want {
			message := d.Text
			if d.Suggest != "" {
				message += " (did you mean " + d.Suggest + "?)"
			}
			at := of.Position(of.At(d.Line, d.Column))
			if g := got[i]; g.Code != d.Code || g.Message != message || g.Severity != 1 || g.Source != "graphd" ||
				g.Data != d.Suggest || g.Range.Start != place(at) {
				t.Errorf("%+v; want %v at %v", g, d, at)
			}
		}
		e.edit(uriOf(path), 2, valid)
		if got := e.mistakes(uriOf(path), 2); len(got) != 0 {
			t.Errorf("of what is valid: %+v", got)
		}
		e.finish()
	})
}

// What is hardly meant is a warning, as graphd lint has it.
func TestHints(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		e.open("untitled:Untitled-1", strings.Replace(valid, "outputs:", "  idle: { expr: mid * 2 }\noutputs:", 1))
		got := e.mistakes("untitled:Untitled-1", 1)
		if len(got) != 1 || got[0].Code != "unused_node" || got[0].Severity != 2 || got[0].Range.Start.Line != 8 {
			t.Errorf("%+v", got)
		}
		e.finish()
	})
}

// What is wrong in a file that is included is told there, and as the editor has that file, saved or not.
func TestIncludedFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		dir := written(t, map[string]string{
			"main.yaml": strings.Replace(valid, "nodes:\n  mid: { expr: (book.bid + book.ask) / 2 }\n",
				"include: nodes.yaml\n", 1),
			"nodes.yaml": "# 🙂\nnodes:\n  mid: { expr: (book.bid + boook.ask) / 2 }\n",
		})
		main, nodes := uriOf(filepath.Join(dir, "main.yaml")), uriOf(filepath.Join(dir, "nodes.yaml"))
		text, err := os.ReadFile(filepath.Join(dir, "main.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		e.begin()
		e.open(main, string(text))
		if got := e.mistakes(nodes, -1); len(got) != 1 || got[0].Code != "unknown_name" ||
			got[0].Range.Start.Line != 2 {
			t.Fatalf("%+v", got)
		}
		e.open(nodes, "nodes:\n  mid: { expr: (book.bid + book.ask) / 2 }\n")
		for got := e.mistakes(nodes, 1); len(got) != 0; {
			got = e.mistakes(nodes, 1)
		}
		e.edit(nodes, 2, "nodes:\n  mid: { expr: nobody }\n")
		for got := e.mistakes(nodes, 2); len(got) != 1; {
			got = e.mistakes(nodes, 2)
		}
		e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": nodes}})
		for got := e.mistakes(nodes, -1); len(got) != 1 || got[0].Range.Start.Line != 2; {
			got = e.mistakes(nodes, -1) // the file is as it was written again
		}
		e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": main}})
		if got := e.mistakes(nodes, -1); len(got) != 0 {
			t.Errorf("of a declaration that is closed: %+v", got)
		}
		e.finish()
	})
}

// What is wrong in a file that is included is told as a declaration beside it has it, where none is open; of one that
// nobody includes nothing is said.
func TestIncludedFileAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		const wrong = "nodes:\n  mid: { expr: (book.bid + boook.ask) / 2 }\n"
		whole := strings.Replace(valid, "nodes:\n  mid: { expr: (book.bid + book.ask) / 2 }\n",
			"include: nodes.yaml\n", 1)
		dir := written(t, map[string]string{"main.yaml": whole, "nodes.yaml": wrong, "lonely.yaml": wrong,
			"another.yaml": "graph: another\ninclude: [] # lonely.yaml\n"})
		main, nodes := uriOf(filepath.Join(dir, "main.yaml")), uriOf(filepath.Join(dir, "nodes.yaml"))
		lonely := uriOf(filepath.Join(dir, "lonely.yaml"))
		e.begin()
		e.open(lonely, wrong)
		if got := e.mistakes(lonely, 1); len(got) != 0 {
			t.Errorf("of what nobody includes: %+v", got)
		}
		e.open(nodes, wrong)
		if got := e.mistakes(nodes, 1); len(got) != 1 || got[0].Code != "unknown_name" {
			t.Fatalf("%+v", got)
		}
		e.edit(nodes, 2, strings.Replace(wrong, "boook", "book", 1))
		if got := e.mistakes(nodes, 2); len(got) != 0 {
			t.Errorf("mended: %+v", got)
		}
		e.edit(nodes, 3, wrong)
		if got := e.mistakes(nodes, 3); len(got) != 1 {
			t.Errorf("wrong again: %+v", got)
		}
		// An open declaration counts as the editor has it, whatever its file says.
		e.open(main, strings.Replace(whole, "  book:", "  boook: {}\n  book:", 1))
		for got := e.mistakes(nodes, 3); len(got) != 0; {
			got = e.mistakes(nodes, 3)
		}
		e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": main}})
		for got := e.mistakes(nodes, 3); len(got) != 1; {
			got = e.mistakes(nodes, 3)
		}
		e.finish()
	})
}

// Of what is no declaration nothing is said; tests of declarations are read as such.
func TestOtherDocuments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		for i, text := range []string{"services:\n  web: { image: nginx }\n", "", "- a\n", "{", "\xff", "\x00",
			"a: &a [*a]", "nodes: {}"} {
			uri := fmt.Sprintf("file:///tmp/none/%d.yaml", i)
			e.open(uri, text)
			if got := e.mistakes(uri, 1); len(got) != 0 {
				t.Errorf("%q: %+v", text, got)
			}
		}
		uri := "file:///tmp/none/quotes_test.yaml"
		e.open(uri, "graph: quotes\ncases:\n  - name: x\n    steps:\n      - pusch: {}\n")
		if got := e.mistakes(uri, 1); len(got) != 1 || got[0].Range.Start != (place{4, 8}) {
			t.Errorf("%+v", got)
		}
		e.open("file:///tmp/none/broken.yaml", "graph: x\nnodes: [\n")
		if got := e.mistakes("file:///tmp/none/broken.yaml", 1); len(got) == 0 || got[0].Code != "yaml_syntax" {
			t.Errorf("%+v", got)
		}
		e.finish()
	})
}

func part(from, to place, text string) map[string]any {
	return map[string]any{"range": map[string]any{"start": from, "end": to}, "text": text}
}

// Changes of a part are counted as the editor counts: in units of UTF-16, with whatever line ends.
func TestChangesOfParts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		uri := "untitled:x"
		e.open(uri, "description: '🙂🙂 wrong'\r\n"+strings.ReplaceAll(valid, "\n", "\r\n"))
		if got := e.mistakes(uri, 1); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
		// the emoji are four units: behind the text in quotes, a comment that ends the line
		e.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": 2},
			"contentChanges": []any{
				part(place{0, 19}, place{0, 24}, "right"), part(place{0, 25}, place{0, 99}, "\r\nwhat: 🙂"),
			}})
		got := e.mistakes(uri, 2)
		if len(got) != 1 || got[0].Code != "unknown_field" || got[0].Range.Start != (place{1, 0}) ||
			got[0].Range.End != (place{1, 4}) {
			t.Errorf("%+v", got)
		}
		e.finish()
	})
}

// Whatever is said, the server says what is wrong with it and goes on, or ends with a word where it cannot.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		if m := e.ask("textDocument/hover", nil); m.Error == nil || m.Error.Code != -32002 {
			t.Errorf("before initialize: %+v", m)
		}
		e.begin()
		for method, code := range map[string]int{"textDocument/unheardOf": -32601, "initialize": -32600} {
			if m := e.ask(method, map[string]any{}); m.Error == nil || m.Error.Code != code {
				t.Errorf("%s: %+v", method, m)
			}
		}
		for _, content := range []string{"{", "[]", `"x"`, "7", `{"id":{},"params":[]}`, `{"method":7}`, `{"id":1}`,
			"\xff\xfe"} {
			if err := frame.Write(e.in, []byte(content)); err != nil {
				t.Fatal(err)
			}
			if m := e.receive(); m.Error == nil || m.Error.Message == "" {
				t.Errorf("%q: %+v", content, m)
			}
		}
		for _, n := range []struct {
			method string
			params any
		}{
			{"textDocument/didOpen", nil}, {"textDocument/didOpen", []int{1}}, {"$/whatever", 7},
			{"textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///nobody"}}},
			{"textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": "::"}}},
		} {
			e.notify(n.method, n.params) // nobody waits for an answer
		}
		e.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", frame.MaxBytes+1, strings.Repeat(" ", frame.MaxBytes+1)))
		if m := e.receive(); m.Error == nil || !strings.Contains(m.Error.Message, "too long") {
			t.Errorf("%+v", m)
		}
		e.open("untitled:x", valid)
		if got := e.mistakes("untitled:x", 1); len(got) != 0 {
			t.Errorf("it did not go on: %+v", got)
		}
		if m := e.ask("shutdown", nil); m.Error != nil {
			t.Errorf("%+v", m)
		}
		if m := e.ask("shutdown", nil); m.Error == nil {
			t.Errorf("it was shut down twice")
		}
		e.raw("hello\r\n\r\n")
		if m := e.receive(); m.Error == nil || m.Error.Code != -32700 {
			t.Errorf("%+v", m)
		}
		if err := e.end(); err == nil || !strings.Contains(err.Error(), "hello") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// An editor that goes in the middle of a word ends the server, with a word.
func TestHalfAFrame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		e.open("untitled:x", valid)
		e.raw("Content-Length: 100\r\n\r\n{")
		e.in.Close()
		if err := e.end(); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// Documents are bounded in number and bytes, and what is refused is told.
func TestManyDocuments(t *testing.T) {
	t.Parallel()
	e := inProcess(t)
	e.begin()
	for i := range 257 {
		e.open(fmt.Sprintf("untitled:%d", i), "a: 1")
	}
	saying := func(what string) func(json.RawMessage) bool {
		return func(params json.RawMessage) bool { return strings.Contains(string(params), what) }
	}
	e.told("window/showMessage", saying("256 documents"))
	large := strings.Repeat("# 234567\n", (7<<20)/9)
	for i := range 3 {
		e.edit(fmt.Sprintf("untitled:%d", i), 2, large)
	}
	e.told("window/showMessage", saying("16 MiB"))
	e.finish()
}

// The bytes are bounded where documents are opened too; one that is opened again counts once, and what was refused or
// closed counts no more.
func TestLargeDocuments(t *testing.T) {
	t.Parallel()
	e := inProcess(t)
	e.begin()
	large := strings.Repeat("# 234567\n", (7<<20)/9)
	for range 3 {
		e.open("untitled:0", large)
	}
	e.open("untitled:1", large)
	e.mistakes("untitled:1", 1)
	e.open("untitled:2", large)
	e.told("window/showMessage", func(params json.RawMessage) bool {
		return strings.Contains(string(params), "16 MiB of open documents at most; close some")
	})
	e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": "untitled:0"}})
	e.open("untitled:3", large)
	if got := e.mistakes("untitled:3", 1); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	e.finish()
}

// Who types gets the mistakes of what stands there at the end, however fast it changes.
func TestTyping(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		e.open("untitled:x", "")
		version := 1
		for i := range len(valid) {
			version++
			e.edit("untitled:x", version, valid[:i+1])
		}
		if got := e.mistakes("untitled:x", version); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		e.finish()
	})
}
