package faults

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// try runs the command as somebody would, and answers with its exit code and what it said.
func try(t *testing.T, dir, server string, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stuck)
	defer cancel()
	cmd := exec.CommandContext(ctx, built, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GRAPHD_SERVER="+server, "NO_COLOR=1")
	var talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &talk, &talk
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), talk.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, talk.String()
}

// A newcomer's mistakes each get one clear line that says what to do, and the exit code that
// tells a script what kind of mistake it was.
func TestNewcomersMistakes(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	apply(t, p, "quotes", `{"graph":"quotes","accumulators":{"book":{}},"nodes":{"n":{"expr":"book"}},`+
		`"outputs":{"o":{"from":"n","sink":{"drop":{}}}}}`)
	for name, text := range map[string]string{
		"good.yaml": "graph: quotes\naccumulators: { book: {} }\nnodes: { n: { expr: book } }\noutputs: { o: { " +
			"from: n, sink: { drop: {} } } }\n",
		"broken.yaml": "graph: quotes\naccumulators: { book: {} }\nnodes: { n: { expr: bok } }\noutputs: { o: { " +
			"from: n, sink: { drop: {} } } }\n",
		"journal.yaml": "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { " +
			"from: n, sink: { drop: {} } } }\ndurability: journal\n",
		"poll.yaml": "graph: g\naccumulators: { a: { source: { poll: { sql: SELECT 1, connection: 'sqlite:x', " +
			"key: a, interval: 5s } } } }\n",
		"size.yaml":   "graph: g\naccumulators: { a: {} }\nreactor: { key: k, max_keys: 10k }\n",
		"exists.yaml": "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: exists(a) } }\n",
		"cause.yaml":  "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: 'cause() == \"timer\"' } }\n",
		"any.yaml": "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a }, m: { expr: a, after: { " +
			"any: [n] } } }\n",
		"on.yaml": "graph: g\naccumulators: { a: { time: event.at }, b: { time: event.at }, j: { join: { left: a, " +
			"right: b, on: event.order, within: 1m } } }\n",
		"true.yaml": "graph: g\naccumulators: { a: { time: event.at }, b: { time: event.at }, j: { join: { left: a, " +
			"right: b, true: order, within: 1m } } }\n",
		"top.yaml": "graph: g\naccumulators: { a: { window: { tumbling: 1m, aggregate: { t: " +
			"'top(event.x, 3)' } } } }\n",
		"distinct.yaml": "graph: g\naccumulators: { a: { window: { tumbling: 1m, aggregate: { t: " +
			"countDistinct(event.x) } } } }\n",
		"session.yaml": "graph: g\naccumulators: { a: { window: { gap: 1m, aggregate: { n: count() } } } }\n",
		"delay.yaml": "graph: g\naccumulators: { a: { strategy: sequential } }\nnodes:\n  n: { expr: a.x }\n  " +
			"m: { expr: a.x + n, delay: n }\n",
		"anchor.yaml": "graph: g\naccumulators:\n  a: { <<: *y }\n",
		"noyaml.yaml": "graph: [quotes\n",
		"events.json": "1 2 nonsense\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listen := strings.TrimPrefix(p.base, "http://")
	for _, tc := range []struct {
		what string
		args string
		code int
		says []string
	}{
		{"wrong verb", "aply -f good.yaml", 2, []string{`there is no command "aply"`, "did you mean apply?"}},
		{"wrong graph", "describe qoutes", 3, []string{`no graph "qoutes"`, "did you mean quotes?"}},
		{"wrong accumulator", "restart quotes bok", 3, []string{`no accumulator "bok"`, "did you mean book?"}},
		{"verb of elsewhere", "ls", 2, []string{`there is no command "ls"`, "did you mean get?"}},
		{"letters of elsewhere", "dlq list", 2, []string{"did you mean dead-letters?"}},
		{"a filter of nothing", "dead-letters quotes --stage snik", 0, []string{`no dead letter of the stage "snik"`}},
		{"tests of a declaration", "test good.yaml", 3, []string{"good.yaml is a declaration", "good_test.yaml"}},
		{"a store that is not there", "migrate --data TYPO", 3, []string{"no folder TYPO", "--data"}},
		{"a journal", "lint journal.yaml", 78, []string{"journal.yaml:5:13", "did you mean { mode: journal }?"}},
		{"a poll of elsewhere", "lint poll.yaml", 78, []string{"poll.yaml:2:", "did you mean every?"}},
		{"a size", "lint size.yaml", 78, []string{"did you mean 10000?"}},
		{"a function of elsewhere", "lint exists.yaml", 78, []string{"unknown function exists; write x != nil"}},
		{"a cause that there is not", "lint cause.yaml", 78, []string{
			"criteria, tick, max_wait, force, with", "did you mean tick?",
		}},
		{"any of several", "lint any.yaml", 78, []string{"a list by itself means that any"}},
		{"an event in a join", "lint on.yaml", 78, []string{"there is no event: write order (where events do have"}},
		{"a join through YAML 1.1", "lint true.yaml", 78, []string{`write "on" in quotes`, "did you mean on?"}},
		{"too few arguments", "lint top.yaml", 78, []string{"top takes 3 arguments here, got 2; write top(x, by, k)"}},
		{"an aggregate of elsewhere", "lint distinct.yaml", 78, []string{"did you mean count_distinct?"}},
		{"a session of elsewhere", "lint session.yaml", 78, []string{`no field "gap"`, "did you mean session?"}},
		{"a name for a list", "lint delay.yaml", 78, []string{"delay.yaml:5:", "did you mean [n]?"}},
		{"an alias of nothing", "lint anchor.yaml", 78, []string{"anchor.yaml:3:", "there is no anchor &y"}},
		{"no argument", "describe", 2, []string{"usage: graphd describe GRAPH"}},
		{"nothing to apply", "apply", 2, []string{"a file, a folder, or -", "-f"}},
		{"wrong format", "get -o xml", 2, []string{"table, wide, json or yaml"}},
		{"wrong flag", "get --frmat json", 2, []string{"--frmat", "graphd get --help"}},
		{"daemon not running", "get --server http://127.0.0.1:1", 69, []string{
			"no daemon answers", "graphd serve", "--server",
		}},
		{"server of another scheme", "get --server ftp://127.0.0.1:1", 2, []string{"host:port", "http://host:port"}},
		{"no daemon at a bare address", "get --server 127.0.0.1:1", 69, []string{"no daemon answers", "--server"}},
		{"port taken", "serve --listen " + listen + " --data other", 69, []string{
			listen, "address already in use", "--listen",
		}},
		{"store locked", "serve --listen 127.0.0.1:0 --data data", 69, []string{"in use by pid", "--data"}},
		{"folder missing", "serve --listen 127.0.0.1:0 --data other --graphs none", 78, []string{"none", "--graphs"}},
		{"open to all", "serve --listen 0.0.0.0:0 --data other", 78, []string{"127.0.0.1", "--insecure"}},
		{"declaration missing", "apply -f none.yaml", 3, []string{"there is no file none.yaml", "correct the path"}},
		{"declaration to validate missing", "validate none.yaml", 3, []string{"none.yaml"}},
		{"events missing", "push quotes book none.json", 3, []string{"there is no file none.json"}},
		{"input missing", "run good.yaml --input book=none.json", 3, []string{
			"input book", "there is no file none.json",
		}},
		{
			"declaration broken", "apply -f broken.yaml", 78, []string{
				"broken.yaml:3:21", "unknown_name", "did you mean book?",
			},
		},
		{"no YAML", "apply -f noyaml.yaml", 78, []string{"noyaml.yaml:1:1", "not YAML"}},
		{"no JSON", "push quotes book events.json", 78, []string{"event 3"}},
		{"a reset by a slip", "reset quotes", 2, []string{"--yes"}},
		{"unknown word", "explain rate_limt", 3, []string{"did you mean rate_limit?"}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			code, said := try(t, dir, p.base, strings.Fields(tc.args)...)
			if code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			for _, words := range tc.says {
				if !strings.Contains(said, words) {
					t.Errorf("it does not say %q", words)
				}
			}
			if n := strings.Count(said, "\n"); n > 2 { // the second says what became of it, or where the help is
				t.Errorf("%d lines", n)
			}
			if t.Failed() {
				t.Logf("$ graphd %s\n%s", tc.args, said)
			}
		})
	}
	if s := p.summary("quotes"); s.Health != "live" {
		t.Errorf("the daemon was disturbed: %+v", s)
	}
}
