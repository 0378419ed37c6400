package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
)

// M13, M33: keys are what the expressions come to that make them: with the emit of the fields that they read, the vars
// in it, what groups the events, and what the sides of a join are joined on. What no key reads leaves them, and so does
// the same in other words. What drops them is told.
func TestM13KeysAreWhatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	const (
		plain  = "graph: g\nvars: { of: eu, other: 1 }\naccumulators:\n  a: { emit: { id: event.id, x: event.x } }\n"
		varied = "  b: { emit: { id: event.id + vars.of } }\n"
		other  = "  b: { key: [event.u, event.v] }\n"
		window = "graph: g\naccumulators:\n  a: { time: event.at, emit: { id: event.n, x: event.x }, window: { " +
			"tumbling: 1m, late: drop, key: [event.id, event.g], aggregate: { top: max(event.x) } } }\n"
		joins = "graph: g\naccumulators:\n  l: { time: event.at, emit: { id: event.id, x: event.x } }\n" +
			"  r: { time: event.at, emit: { id: event.id, x: event.x } }\n" +
			"  a: { join: { left: l, right: r, on: id, within: 1m } }\n"
		out = "outputs: { o: { from: a, sink: { drop: {} } } }\n"
	)
	for name, c := range map[string]struct {
		doc, key, was, is string
		kept              bool
	}{
		"the field's emit":     {plain, "id", "id: event.id", "id: event.user", false},
		"another field's":      {plain, "id", "x: event.x", "x: event.y", true},
		"one of two fields'":   {plain, "[id, x]", "x: event.x", "x: event.y", false},
		"within an expression": {plain, "'lower(id)'", "id: event.id", "id: event.user", false},
		"in other words": {plain, "id", "emit: { id: event.id, x: event.x }",
			"emit: { id:  event.id }", true},
		"emit that says the same": {plain, "id", "emit: { id: event.id, x: event.x }", "emit: event", true},
		"the whole is another":    {plain, "id", "emit: { id: event.id, x: event.x }", "emit: event.of", false},
		"none, which is the same": {plain, "id", "emit: { id: event.id, x: event.x }", "", true},
		"its own, which is":       {plain, "id", "a: {", "a: { key: event.id,", true},
		"its own, which is not":   {plain, "id", "a: {", "a: { key: event.x,", false},
		"a var that it reads":     {plain + varied, "id", "of: eu", "of: us", false},
		"a var that it does not":  {plain + varied, "id", "other: 1", "other: 2", true},
		"a group's emit":          {window, "id", "id: event.n", "id: event.m", true},
		"a late event's": {strings.Replace(window, "drop",
			"old", 1), "id", "id: event.n", "id: event.m", false},
		"in another order":         {window, "id", "[event.id, event.g]", "[event.g, event.id]", true},
		"the other part":           {window, "id", "[event.id, event.g]", "[event.id, event.h]", true},
		"both parts":               {window, "'key[1]'", "[event.id, event.g]", "[event.id, event.h]", false},
		"an aggregate":             {window, "top", "max(event.x)", "min(event.x)", false},
		"the emit of an aggregate": {window, "top", "x: event.x", "x: event.y", false},
		"none, and its group":      {window + other, "", "[event.id, event.g]", "[event.user, event.g]", false},
		"joined on":                {joins, "key", "on: id", "on: x", false},
		"the emit of what it is":   {joins, "key", "id: event.id", "id: event.user", false},
		"under its name":           {joins, "id", "id: event.id", "id: event.user", false},
		"the emit of another":      {joins, "key", "x: event.x", "x: event.y", true},
		"a side's field":           {joins, "left.x", "x: event.x", "x: event.y", false},
		"a field in a text":        {plain, `'id + "x"'`, "x: event.x", "x: event.y", true},
		"a var in a text": {strings.Replace(plain, "event.id", `'event.id + " other" + vars.of'`, 1), "id",
			"other: 1", "other: 2", true},
		"a var beside a field of its name": {strings.Replace(plain, "event.id", "event.other + vars.of", 1), "id",
			"other: 1", "other: 2", true},
		"a var in brackets": {strings.Replace(plain, "event.id", `'event.id + vars["of"]'`, 1), "id", "of: eu",
			"of: us", false},
		"all vars": {strings.Replace(plain, "event.id", "event.id + string(vars)", 1), "id", "other: 1", "other: 2",
			false},
		"a var at a line's beginning": {strings.Replace(plain, "id: event.id", `id: "event.id +\nvars.of"`, 1),
			"'lower(id)'", "of: eu", "of: us", false},
		"a var of an aggregate": {strings.NewReplacer("graph: g\n", "graph: g\nvars: { f: 2 }\n", "max(event.x)",
			"max(event.x * vars.f)").Replace(window), "top", "f: 2", "f: 3", false},
		"a var of a side's emit": {strings.NewReplacer("graph: g\n", "graph: g\nvars: { of: eu }\n", "x: event.x",
			"x: event.x + vars.of").Replace(joins), "left.x", "of: eu", "of: us", false},
		"a var of both sides' times": {strings.NewReplacer("graph: g\n", "graph: g\nvars: { at: at, of: eu }\n",
			"event.at", "'event[vars.at]'").Replace(joins), "left.x", "at: at", "at: on", false},
		"a var of no side": {strings.Replace(joins, "graph: g\n", "graph: g\nvars: { id: 1, of: eu }\n", 1), "left.x",
			"id: 1", "id: 2", true},
		"how far apart": {joins, "key", "within: 1m", "within: 2m", true},
	} {
		doc := c.doc + out + "reactor: { when: any }\n"
		if c.key != "" {
			doc = strings.Replace(doc, "{ when: any }", "{ key: "+c.key+" }", 1)
		}
		parse := func(doc string) *compile.Unit {
			u, diags := (&builtin.Kinds{}).Parse([]byte(doc), "g.yaml")
			if err := diags.Err(); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			return u
		}
		if !strings.Contains(doc, c.was) {
			t.Fatalf("%s: there is no %s in\n%s", name, c.was, doc)
		}
		_, dropped := compile.Split(compile.Changes(parse(doc), parse(strings.Replace(doc, c.was, c.is, 1))))
		said := slices.ContainsFunc(dropped, func(s string) bool { return strings.HasPrefix(s, "keys: ") })
		if said == c.kept {
			t.Errorf("%s: keys are kept: %t, want %t; dropped %q", name, !said, c.kept, dropped)
		}
	}
}
