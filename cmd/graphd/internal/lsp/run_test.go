package lsp_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const casesOfRich = `graph: quotes
cases:
  - name: one trades
    steps:
      - push: { book: { bid: 100, ask: 102, size: 9 } }
      - expect: { signals: [{ at: 101, size: 9 }] }
  - name: another does not
    steps:
      - push: { book: { bid: 1, ask: 1, size: 9 } }
      - expect: { signals: [{ at: 1 }] }
`

// The tests of a declaration run as the editor has both documents, and what fails is shown where it stands.
func TestRunTests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		dir := written(t, map[string]string{"rich.yaml": "not yet", "rich_test.yaml": "not yet"})
		main, tests := uriOf(filepath.Join(dir, "rich.yaml")), uriOf(filepath.Join(dir, "rich_test.yaml"))
		e.begin()
		e.open(main, rich)
		e.open(tests, casesOfRich)
		lenses := func(uri string) (titles []string) {
			var list []struct {
				Command struct{ Title, Command string }
			}
			e.result("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}}, &list)
			for _, l := range list {
				titles = append(titles, l.Command.Command+": "+l.Command.Title)
			}
			return titles
		}
		want := "[graphd.test: Run tests] [graphd.test: Run all tests " +
			"graphd.test: Run this test graphd.test: Run this test]"
		if got := fmt.Sprint(lenses(main), lenses(tests)); got != want {
			t.Errorf("%s", got)
		}
		e.mistakes(tests, 1)
		var ran struct {
			Passed, Failed int
			Cases          []struct {
				Case     string
				Failures []string
			}
		}
		run := func(arguments ...string) map[string]any {
			return map[string]any{"command": "graphd.test", "arguments": arguments}
		}
		e.result("workspace/executeCommand", run(tests), &ran)
		if ran.Passed != 1 || ran.Failed != 1 || len(ran.Cases[1].Failures) == 0 {
			t.Errorf("%+v", ran)
		}
		if got := e.mistakes(tests, 1); len(got) != 1 || got[0].Source != "graphd test" ||
			got[0].Range.Start.Line != 6 {
			t.Errorf("%+v", got)
		}
		e.result("workspace/executeCommand", run(tests, "one trades"), &ran)
		if ran.Passed != 1 || ran.Failed != 0 {
			t.Errorf("%+v", ran)
		}
		e.edit(tests, 2, strings.Replace(casesOfRich, "[{ at: 1 }]", "[]", 1))
		if e.result("workspace/executeCommand", run(tests), &ran); ran.Passed != 2 || ran.Failed != 0 {
			t.Errorf("%+v", ran)
		}
		for _, p := range []map[string]any{run(), run("untitled:x"), run(tests, "nobody"), run(main),
			run(tests, "", ""), {"command": "rm"}} {
			if m := e.ask("workspace/executeCommand", p); m.Error == nil {
				t.Errorf("%v: %s", p, m.Result)
			}
		}
		e.edit(main, 2, strings.Replace(rich, "vars.limit,", "vars.limit >,", 1))
		if m := e.ask("workspace/executeCommand", run(tests)); m.Error == nil ||
			!strings.Contains(m.Error.Message, "rich.yaml") {
			t.Errorf("of a broken declaration: %+v", m)
		}
		e.finish()
	})
}

// Tests that do not come to an end can be cancelled, and the server answers meanwhile.
func TestCancelTests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		dir := written(t, map[string]string{
			"slow.yaml": "graph: slow\naccumulators:\n  a: { source: { websocket: {} } }\n" +
				"reactor: { when: any, strategy: latest, every: 1ms }\nnodes:\n  n: { expr: epoch() }\n" +
				"outputs:\n  o: { from: n, sink: { stdout: {} } }\n",
			"slow_test.yaml": "graph: slow\ncases:\n  - name: a\n" +
				"    steps: [{ push: { a: 1 } }, { advance: 100000h }]\n",
		})
		e.begin()
		e.next++
		id := e.next
		e.send(map[string]any{"id": id, "method": "workspace/executeCommand", "params": map[string]any{
			"command": "graphd.test", "arguments": []string{uriOf(filepath.Join(dir, "slow_test.yaml"))}}})
		e.open("untitled:x", rich)
		e.mistakes("untitled:x", 1)
		e.notify("$/cancelRequest", map[string]any{"id": id})
		for m := e.receive(); ; m = e.receive() {
			if string(m.ID) == fmt.Sprint(id) {
				if m.Error == nil || m.Error.Code != -32800 {
					t.Errorf("%+v", m)
				}
				break
			}
		}
		e.finish()
	})
}
