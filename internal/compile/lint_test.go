package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/spec"
)

// Each finding stands alone: what is changed in the clean declaration is what is found.
func TestLint(t *testing.T) {
	t.Parallel()
	const clean = `graph: g
accumulators:
  a: { schema: { type: object } }
  b: {%s}
%s
reactor: {%s}
nodes:
  mid: { expr: '[a, b]' }
  side: { route: { up: mid != nil%s } }
  up: { after: side.up, expr: mid }
%s
outputs:
  o: { from: up, sink: { %s: {} } }
`
	for name, tc := range map[string]struct {
		parts [6]any
		want  []string
	}{
		"clean": {[6]any{"", "", "", "", "", "websocket"}, nil},
		"a node nobody reads": {
			[6]any{"", "", "", "", "  lost: { expr: mid }", "websocket"}, []string{"unused_node 11"},
		},
		"a guard reads a node": {[6]any{"", "", "guard: lost == nil", "", "  lost: { expr: mid }", "websocket"},
			nil},
		"an input nobody reads": {
			[6]any{"", "  c: { passive: true }", "", "", "", "websocket"}, []string{"unused_accumulator 5"},
		},
		"queued and newest": {
			[6]any{" strategy: sequential ", "", "strategy: latest", "", "", "websocket"},
			[]string{"mixed_strategies 3", "may_conflate 3"},
		},
		"counted and newest": {
			[6]any{" passive: true ", "", "strategy: latest", "", "  last: { expr: lag(mid), after: up }", "websocket"},
			[]string{"may_conflate 3", "unused_node 11"},
		},
		"newest, but passive": {[6]any{" passive: true ", "", "strategy: sequential", "", "", "websocket"}, nil},
		"a key of the event": {
			[6]any{"", "", "key: [event.symbol, symbol]", "", "", "websocket"}, []string{"key_of_event 6"},
		},
		"shards": {[6]any{"", "", "key: symbol, shards: 8", "", "", "websocket"}, nil},
		"shards that run as one": {
			[6]any{" source: { poll: { http: 'http://h/', every: 1s } } ", "", "key: symbol, shards: 8", "",
				"", "websocket"}, []string{"no_schema 4", "one_shard 6"},
		},
		"a zip": {
			[6]any{"", "", "when: all, strategy: sequential", "", "", "websocket"}, []string{"may_fill 4"},
		},
		"a zip that ends its wait": {
			[6]any{"", "", "when: all, strategy: sequential, max_wait: 1s", "", "", "websocket"}, nil,
		},
		"a zip of part": {
			[6]any{"", "", "when: { all: [a] }, strategy: sequential", "", "", "websocket"}, nil,
		},
		"a zip by key": {
			[6]any{"", "", "when: all, strategy: sequential, key: k", "", "", "websocket"}, []string{"may_wait 4"},
		},
		"a zip by key that ends": {
			[6]any{"", "", "when: all, strategy: sequential, key: k, ttl: 1h", "", "", "websocket"}, nil,
		},
		"a stage that is not waited for": {
			[6]any{" time: event.at ", "  s: { from: mid, time: 'event[1].t', window: { tumbling: 1m, idle: 5s, " +
				"aggregate: { n: count() } } }", "", "", "", "websocket"},
			[]string{"mixed_clock 3", "unused_accumulator 5", "idle_stage 5"},
		},
		"a guard of an object": {
			[6]any{"", "", "guard: b", "", "  f: { expr: b.x }", "websocket"},
			[]string{"guard_not_bool 6", "unused_node 11"},
		},
		"a guard of an object by its key": {
			[6]any{"", "", "guard: ' b ', key: k", "", "", "websocket"}, []string{"guard_not_bool 6"},
		},
		"a guard that may be one": {[6]any{"", "", "guard: b", "", "", "websocket"}, nil},
		"a guard that never reads": {
			[6]any{"", "", "guard: '1 < 2'", "", "", "websocket"}, []string{"guard_reads_nothing 6"},
		},
		"behind always": {[6]any{"", "", "", ", rest: true, never: mid == nil", "", "websocket"},
			[]string{"unreachable_route 9"}},
		"never": {
			[6]any{"", "", "", ", no: false", "", "websocket"}, []string{"unreachable_route 9"},
		},
		"an object of JSON": {
			[6]any{"", "", "", "", `  two: { route: { "up": a == nil, "down": b == nil } }
  three: { after: two.up, route: [ { "up": a == nil }, { "down": b == nil } ] }
  four: { after: three.up, route: { "up": a == nil } }
  five: { after: four.up, expr: a }`, "websocket"},
			[]string{"unused_node 11", "route_order 11", "unused_node 12", "unused_node 13", "unused_node 14"},
		},
		"lanes that do nothing": {[6]any{"", "", "", "", `  two: { expr: a, lane: used }
lanes:
  used: { pool: { overflow: reject } }
  idle: { event_loop: {} }
  full: { pool: { overflow: reject, queue_capacity: 1 } }`, "websocket"},
			[]string{"unused_node 11", "idle_lane 13", "idle_lane 14", "idle_lane 15"}},
		"for nobody": {[6]any{"", "", "", "", "", "drop"}, []string{"no_sink 13"}},
		"a poll that leaves rows out": {[6]any{" schema: { type: object }, source: { poll: { every: 1s, key: id, " +
			"after: id, lookback: 0, connection: 'sqlite:x.db', sql: SELECT id FROM (SELECT 1 LIMIT 1) t limit 9 } } ",
			"  c: { schema: { type: object }, source: { poll: { every: 1s, key: id, after: id, lookback: 0, " +
				"connection: 'sqlite:x.db', sql: SELECT id FROM (SELECT 1 LIMIT 1) t } } }", "", "", "", "websocket"},
			[]string{"limited_poll 4", "unused_accumulator 5"}},
		"without a schema": {[6]any{" source: { file: { path: x.ndjson } } ", "", "", "", "", "websocket"},
			[]string{"no_schema 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, clean, tc.parts[:]...), "g.yaml")
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			var got []string
			for _, d := range compile.Lint(u) {
				got = append(got, fmt.Sprintf("%s %d", d.Code, d.Line))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A node that reads an event and a loop that keeps its last values pairs those of two events, unless it asks which are
// new.
func TestLintStalePair(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told, loop, input string
		want              int
	}{
		"the event":           {"told: { expr: '[root, x.id]' }", "", "", 1},
		"a node before it":    {"told: { expr: '[root, half]' }", "", "", 1},
		"what is new":         {"told: { expr: 'fresh(root) ? [root, x.id] : nil' }", "", "", 0},
		"the loop alone":      {"told: { expr: '[root, root]' }", "", "", 0},
		"as of before":        {"told: { expr: '[root, x.id]', delay: [root] }", "", "", 0},
		"a loop that fails":   {"told: { expr: '[root, x.id]' }", ", on_no_convergence: fail", "", 0},
		"what is not awaited": {"told: { expr: '[root, x.id]' }", "", " passive: true", 0},
		"another input":       {"told: { expr: '[root, y]' }", "", "", 0},
	} {
		u, diags := (&builtin.Kinds{}).Parse([]byte(`graph: g
accumulators: { x: {`+c.input+` }, y: {} }
reactor: { strategy: sequential }
loops: { newton: { nodes: [root], until: 'abs(root * root - x.n) < 1e-9'`+c.loop+` } }
nodes:
  half: { expr: 'x.n / 2' }
  root: { expr: '((root ?? 1) + half / (root ?? 1)) / 2' }
  `+c.told+`
outputs: { told: { from: told, sink: { stdout: {} } } }
`), "g.yaml")
		if len(diags) > 0 {
			t.Fatal(name, diags)
		}
		got := slices.DeleteFunc(compile.Lint(u), func(d spec.Diagnostic) bool {
			return d.Code != compile.CodeStalePair
		})
		if len(got) != c.want || c.want > 0 && got[0].Line != 8 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A key that reads what a schema does not have is told, part by part; where nothing is known of the fields, or the
// field is there, nothing is.
func TestLintUndeclaredKey(t *testing.T) {
	t.Parallel()
	const doc = `graph: g
accumulators:
  a: { time: event.at, schema: { type: object, properties: { order: {}, at: {} } } }
  b: { time: event.at }
  j: { join: { left: a, right: b, on: %s, within: 1m } }
  c: { schema: { type: object, properties: { order: {} } } }
reactor: { strategy: sequential%s }
outputs: { o: { from: j, sink: { stdout: {} } }, p: { from: c, sink: { stdout: {} } } }
`
	for _, c := range []struct{ on, key, want string }{
		{"order", "", ""},
		{"[order, ordr]", "", "5:47: ordr"},
		{"{ left: id, right: order }", "", "5:47: id"},
		{"'lower(ordr ?? order) + \"text\"'", "", "5:39: ordr"},
		{"order", ", key: order", ""},
	} {
		text := fmt.Sprintf(doc, c.on, c.key)
		u, diags := (&builtin.Kinds{}).Parse([]byte(text), "g.yaml")
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		var got []string
		for _, d := range compile.Lint(u) {
			if d.Code == compile.CodeUndeclaredKey {
				_, field, _ := strings.Cut(d.Text, " reads ")
				field, _, _ = strings.Cut(field, ",")
				got = append(got, fmt.Sprintf("%d:%d: %s", d.Line, d.Column, field))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("on %s: got %q, want %q", c.on, got, c.want)
		}
	}
}

// An output that cannot be as fresh as it is to be, or that says changes alone, is told; that of a graph with keys is
// not, for each key has a rate of its own.
func TestLintNeverFresh(t *testing.T) {
	t.Parallel()
	const doc = `graph: g
accumulators: { a: { schema: { type: object } } }
lanes: { beat: { fixed_rate: { period: 10s } } }
reactor: { rate_limit: %s%s }
nodes: { n: { expr: a }, m: { expr: a, lane: beat } }
outputs:
  o: { from: %s, fresh: %s, emit: %s, sink: { stdout: {} } }
  p: { from: m, sink: { stdout: {} } }
`
	for _, c := range []struct{ limit, key, from, fresh, emit, want string }{
		{"1s", "", "n", "1s", "each", ""},
		{"2s", "", "n", "1s", "each", "rate_limit"},
		{"2s", ", key: id", "n", "1s", "each", ""},
		{"1s", "", "m", "9s", "each", "lane beat"},
		{"1s", "", "m", "10s", "each", ""},
		{"1s", "", "n", "1s", "on_change", "emit: on_change"},
	} {
		text := fmt.Sprintf(doc, c.limit, c.key, c.from, c.fresh, c.emit)
		if c.key != "" { // which goes with no cadence
			text = strings.ReplaceAll(text, ", lane: beat", "")
			text = strings.ReplaceAll(text, "fixed_rate: { period: 10s }", "event_loop: {}")
		}
		u, diags := (&builtin.Kinds{}).Parse([]byte(text), "g.yaml")
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		said := ""
		for _, d := range compile.Lint(u) {
			if d.Code == compile.CodeNeverFresh {
				said += d.Text
			}
		}
		if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%+v: %s", c, said)
		}
	}
}

// Calls that are made one after the other are told, where they would overlap if asking changed nothing.
func TestLintCallsInTurn(t *testing.T) {
	t.Parallel()
	const doc = `graph: g
accumulators: { a: { schema: { type: object },%s strategy: sequential } }
reactor: {%s }
nodes: { who: { http: { url: "http://h", body: a%s } } }
outputs: { o: { from: who, sink: { stdout: {} } } }
`
	for _, c := range []struct {
		time, key, safe string
		want            int
	}{
		{" time: event.at,", " key: id", "", 1},
		{" time: event.at,", " key: id", ", safe: false", 1},
		{" time: event.at,", " key: id", ", safe: true", 0},
		{" time: event.at,", " key: id", ", method: GET", 0},
		{" time: event.at,", "", "", 0}, // there is no other key to call for meanwhile
		{"", " key: id", "", 0},
		// It would not be made ahead either.
		{" time: event.at,", " key: id, when: all", "", 0},
		{" time: event.at,", " key: id, debounce: 1s", "", 0},
		{" time: event.at,", " key: id, rate_limit: 1s", "", 0},
	} {
		u, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, doc, c.time, c.key, c.safe), "g.yaml")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(compile.Lint(u), func(d spec.Diagnostic) bool {
			return d.Code != compile.CodeCallsInTurn
		})
		if len(got) != c.want || c.want > 0 && got[0].Line != 4 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
