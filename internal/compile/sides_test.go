package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
)

// M14: a side of a join has no value, so nothing can read it: no node, no condition of a loop or an output.
func TestM14SidesAreReadNowhere(t *testing.T) {
	t.Parallel()
	const doc = `graph: g
accumulators:
  a: { time: event.at }
  b: { time: event.at }
  j: { join: { left: a, right: b, on: k, within: 1m } }
loops: { l: { nodes: [n], until: %s } }
nodes: { n: { expr: '%s + (n ?? 0)' } }
outputs: { o: { from: n, where: %s, sink: { drop: {} } } }
`
	for _, c := range []struct{ until, node, where, at string }{
		{"n > 3", "j.left.x", "value > 0", ""},
		{"a.x > 0", "j.left.x", "value > 0", "loops.l.until"},
		{"n > 3", "b.x", "value > 0", "nodes.n.expr"},
		{"n > 3", "j.left.x", "value > b.x", "outputs.o.where"},
	} {
		_, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, doc, c.until, c.node, c.where), "g.yaml")
		var at []string
		for _, d := range diags {
			at = append(at, strings.TrimSpace(d.Path+" "+d.Code))
		}
		want := ""
		if c.at != "" {
			want = c.at + " not_a_node"
		}
		if got := strings.Join(at, ", "); got != want {
			t.Errorf("%+v: %s\n%v", c, got, diags)
		}
	}
}

// M33: what waits in a join is what its sides made of their events, and when they happened: where these mean something
// else the join begins anew, and where they filter other events or come from elsewhere it does not.
func TestM33AJoinsStateIsItsSides(t *testing.T) {
	t.Parallel()
	parse := func(left, on string) *compile.Unit {
		u, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, `graph: g
accumulators:
  a: { %s }
  b: { time: event.at }
  j: { join: { left: a, right: b, on: %s, within: 1m } }
outputs: { o: { from: j, sink: { drop: {} } } }
`, left, on), "g.yaml")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		return u
	}
	before := parse("time: event.at", "k")
	for left, kept := range map[string]bool{
		"time: event.at, where: event.x > 3":                               true,
		"time: event.at, source: { generator: { every: 1s, expr: '{}' } }": true,
		"time: event.when":                        false,
		"time: event.at, time_unit: s":            false,
		"time: event.at, timezone: Europe/Zurich": false,
		"time: event.at, emit: { k: event.k }":    false,
		"time: event.at, emit: event.inner":       false,
	} {
		_, dropped := compile.Split(compile.Changes(before, parse(left, "k")))
		said := slices.ContainsFunc(dropped, func(s string) bool {
			return strings.Contains(s, "accumulator j") && strings.Contains(s, "waits for a partner is filtered")
		})
		if said == kept {
			t.Errorf("%s: the join is kept: %v, want %v; %q", left, !said, kept, dropped)
		}
	}
}

// What a join goes by is read of the fields that its sides hand over, by their bare names: event is none of them,
// unless a schema or emit says so. The mistake is told once for both sides.
func TestJoinsReadBareNames(t *testing.T) {
	t.Parallel()
	const doc = `graph: g
accumulators:
  a: { time: event.at%s }
  b: { time: event.at%s }
  j: { join: { left: a, right: b, on: %s, within: 1m } }
outputs: { o: { from: j, sink: { stdout: {} } } }
`
	const typed = ", schema: { type: object, properties: { order: { type: %s }, event: { type: object } } }"
	for _, c := range []struct{ a, b, on, want string }{
		{"", "", "order", ""},
		{"", "", "event.order", "5:39: write order (where events do have a field event, say so in schema or emit)"},
		{"", "", "lower(event.order)", "5:39: write lower(order) (where"},
		{"", "", "[order, meta.key]", "5:47: write key (where"},
		{"", "", "'event.order ?? order'", "write order ?? order"},
		{"", "", "event", ""},
		{"", "", "{ left: a.order, right: id }", "there is no a: write order (where"},
		{fmt.Sprintf(typed, "string"), fmt.Sprintf(typed, "string"), "event.order", ""},
		{", emit: { event: event }", ", emit: { event: event }", "event.order", ""},
		{fmt.Sprintf(typed, "string"), "", "event.order", "5:39: write order (where"},
		{fmt.Sprintf(typed, "string"), fmt.Sprintf(typed, "integer"), "order",
			"they are never equal; make both of one kind, as with string(…) or int(…)"},
	} {
		_, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, doc, c.a, c.b, c.on), "g.yaml")
		if c.want == "" && len(diags) > 0 || c.want != "" && len(diags) != 1 {
			t.Errorf("on %s: got %v, want %q once", c.on, diags, c.want)
			continue
		}
		at, text, _ := strings.Cut(c.want, ": ")
		if text == "" {
			at, text = "", c.want
		}
		if c.want != "" && (!strings.Contains(diags[0].String(), text) || !strings.Contains(diags[0].String(), at)) {
			t.Errorf("on %s: got %s, want %s", c.on, diags[0], c.want)
		}
	}
}

// M49: both sides of a join are dealt by what they are joined on, so that has to be the reactor's key; where it is not
// the declaration is refused, with what to write.
func TestM49JoinsThatCanBeDealt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ on, key, own, why string }{
		"the field":          {"k", "k", "", ""},
		"the key":            {"{ left: id, right: order_id }", "key", "", ""},
		"what is computed":   {`k + "!"`, "key", "", ""},
		"a list":             {"[k, g]", "[k, g]", "", ""},
		"its own":            {"k", "", "key: event.k", ""},
		"another":            {"k", "left.x", "", "reactor: { key: key }"},
		"one side's":         {"{ left: id, right: order_id }", "left.id", "", "reactor: { key: key }"},
		"a name that is not": {"at", "at", "", "reactor: { key: key }"},
		"another order":      {"[k, g]", "[g, k]", "", "the same list"},
		"other names":        {"{ left: [k, g], right: [k, h] }", "[k, left.g]", "", "the same list"},
	} {
		key := ""
		if c.key != "" {
			key = "key: " + c.key + ", "
		}
		text := fmt.Sprintf(`graph: g
accumulators:
  a: { time: event.at }
  b: { time: event.at }
  c: { %s }
  j: { join: { left: a, right: b, on: %s, within: 1m } }
reactor: { %sshards: 8 }
outputs: { o: { from: j, sink: { drop: {} } } }
`, c.own, c.on, key)
		if c.own == "" {
			text = strings.Replace(text, "  c: {  }\n", "", 1)
		}
		u, diags := (&builtin.Kinds{}).Parse([]byte(text), "g.yaml")
		switch {
		case c.why != "":
			if len(diags) != 1 || diags[0].Code != "cannot_shard" || !strings.Contains(diags[0].Text, c.why) ||
				!strings.HasPrefix(diags[0].Text, "j cannot be dealt to shards") {
				t.Errorf("%s: %v", name, diags)
			}
		case len(diags) > 0:
			t.Errorf("%s: %v", name, diags)
		case u.OneCore() != "" || u.OneLive() != "":
			t.Errorf("%s: run as one since %q, live since %q", name, u.OneCore(), u.OneLive())
		}
	}
}

// M33, M49: what waits in a join of a join is what the sides of both made of their events, and its shards run as one.
func TestM33AJoinOfAJoinIsTheSidesOfBoth(t *testing.T) {
	t.Parallel()
	parse := func(emit, within string) *compile.Unit {
		u, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, `graph: g
accumulators:
  a: { time: event.at%s }
  b: { time: event.at }
  c: { time: event.at }
  twice: { join: { left: c, right: once, on: k, within: 1m } }
  once: { join: { left: a, right: b, on: k, within: %s } }
reactor: { key: k, shards: 4 }
outputs: { o: { from: twice, sink: { drop: {} } } }
`, emit, within), "g.yaml")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		return u
	}
	before := parse("", "1m")
	if why := before.OneCore(); why != "what once hands over is joined again" {
		t.Errorf("it runs as one since %q", why)
	}
	for _, c := range []struct {
		emit, within string
		anew         int
	}{{"", "2m", 0}, {", emit: { k: event.k }", "1m", 2}} {
		_, dropped := compile.Split(compile.Changes(before, parse(c.emit, c.within)))
		anew := slices.DeleteFunc(dropped, func(s string) bool { return !strings.Contains(s, "waits for a partner") })
		if len(anew) != c.anew {
			t.Errorf("%+v: %q", c, dropped)
		}
	}
}
