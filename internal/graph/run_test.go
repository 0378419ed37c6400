package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// M15: both arms of a diamond are final before they are joined, and the join runs once.
func TestDiamondRunsEachNodeOnce(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes:
  join: { expr: left - right }
  left: { expr: top * 2 }
  right: { expr: top + top }
  top: { expr: a }
outputs: { out: { from: join, sink: { drop: {} } } }
`)
	h.set("a", 1).fire().want("top ran 1; left ran 2; right ran 2; join ran 0").emits("out=0")
	// No glitch: at no moment does join see a new left beside an old right, so it stays 0.
	h.set("a", 5).fire().want("top ran 5; left ran 10; right ran 10; join cut_off 0").emits("")
	h.set("a", 5).fire().want("top cut_off 5; left idle 10; right idle 10; join idle 0").emits("")
}

// M16: what nothing reaches does not run, and an equal value goes no further.
func TestCutoff(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  big: { expr: a > 10 }
  label: { expr: 'big ? "big" : "small"' }
  other: { expr: b + 1 }
outputs:
  each: { from: label, sink: { drop: {} } }
  raw: { from: b, sink: { drop: {} } }
`)
	h.set("a", 1).set("b", 1).fire().want("big ran false; label ran \"small\"; other ran 2").emits(`each="small" raw=1`)
	h.set("a", 2).fire().want("big cut_off false; label idle \"small\"; other idle 2").emits("")
	h.set("a", 20).fire().want("big ran true; label ran \"big\"").emits(`each="big"`)
	h.set("b", 1).fire().want("big idle true; other cut_off 2").emits("raw=1")
	h.fire().want("big idle true; label idle \"big\"; other idle 2").emits("")
}

// M16: 1 and 1.0 are equal; the value that was there stays, so that what was
// computed from it is still right.
func TestCutoffKeepsTheOldValue(t *testing.T) {
	t.Parallel()
	h := start(t, "a", "nodes: { n: { expr: a } }\n")
	h.set("a", 1).fire().set("a", 1.0).fire().want("n cut_off 1")
	if k := h.st.Node(0).Kind(); k != boundary.KindInt {
		t.Errorf("kind: got %v, want int", k)
	}
}

// M16: the default of event comes from the inputs, through nodes; what is declared wins.
func TestEvent(t *testing.T) {
	t.Parallel()
	h := start(t, "a b*", `
nodes:
  state: { expr: a }
  each: { expr: b }
  through: { expr: each }
  mixed: { expr: state + each }
  never: { expr: b, event: false }
  behind: { expr: never + a }
  always: { expr: a, event: true }
  gate: { after: each, expr: a }
`)
	for name, want := range map[string]bool{"state": false, "each": true, "through": true, "mixed": true,
		"never": false, "behind": true, "always": true, "gate": true} {
		if got := h.plan.Nodes()[h.nodes[name]].Event; got != want {
			t.Errorf("%s: got event %v, want %v", name, got, want)
		}
	}
	h.set("a", 1).set("b", 1).fire()
	// The same trade again is another trade.
	h.set("b", 1).fire().want("state idle 1; each ran 1; through ran 1; mixed ran 2; never cut_off 1; behind idle " +
		"2; always idle 1; gate ran 1")
	h.set("a", 1).fire().want("state cut_off 1; each idle 1; mixed idle 2; behind ran 2; always ran 1; gate ran 1")
}

// M15: a plain read of an absent value skips the node; ?. and ?? read nil.
func TestAbsentInput(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  plain: { expr: a.x + b.x }
  behind: { expr: plain + 1 }
  default: { expr: 'a.x + (b?.x ?? 100)' }
  short: { expr: 'a.x > 0 ? a.x : b.x' }
outputs: { out: { from: behind, sink: { drop: {} } } }
`)
	h.set("a", map[string]any{"x": 1}).fire().
		want("plain skipped; behind skipped; default ran 101; short ran 1").emits("")
	h.set("a", map[string]any{"x": -1}).fire().want("plain skipped; behind idle; default ran 99; short skipped")
	h.set("b", map[string]any{"x": 2}).fire().want("plain ran 1; behind ran 2; default ran 1; short ran 2").emits(
		"out=2")
}

const marketMaker = `
nodes:
  edge: { expr: a - 10 }
  decide: { route: { trade: edge > 2, hold: edge > 0 } }
  signal: { after: decide.trade, expr: '{ "edge": edge }' }
  reason: { after: decide.hold, expr: '"small"' }
  sized: { expr: signal.edge * 2 }
  join: { expr: 'signal?.edge ?? reason ?? "nothing"' }
  log: { after: decide, expr: decide }
outputs:
  signals: { from: signal, sink: { drop: {} } }
  joins: { from: join, sink: { drop: {} } }
`

// M19, W5: linear nodes after a route, joins after routes, and a route and a linear
// node from one node.
func TestRoutesAndJoins(t *testing.T) {
	t.Parallel()
	h := start(t, "a", marketMaker)
	h.set("a", 15).fire().emits(`signals={"edge":5} joins=5`).
		want(`decide ran "trade"; signal ran {"edge":5}; reason skipped; sized ran 10; join ran 5; log ran "trade"`)
	// Still trade: the choice does not tick, but edge does.
	h.set("a", 14).fire().emits(`signals={"edge":4} joins=4`).
		want(`decide cut_off "trade"; signal ran {"edge":4}; reason idle; sized ran 8; join ran 4; log idle "trade"`)
	// Going absent reaches the join and the plain reader; outputs emit no absence.
	h.set("a", 11).fire().emits(`joins="small"`).
		want(`decide ran "hold"; signal skipped; reason ran "small"; sized skipped; join ran "small"; log ran "hold"`)
	// The choice stays until the route runs again.
	h.fire().want(`decide idle "hold"; signal idle; reason idle "small"; join idle "small"`)
	// No condition holds: the choice is null, and nothing starts after it.
	h.set("a", 1).fire().emits(`joins="nothing"`).
		want(`decide ran null; signal skipped; reason skipped; sized idle; join ran "nothing"; log skipped`)
	if !h.r.Node(h.nodes["decide"]).NoRoute {
		t.Error("decide: no_route is not recorded")
	}
	if h.r.Node(h.nodes["join"]).NoRoute {
		t.Error("join: no_route is of route nodes alone")
	}
	h.set("a", 0).fire().want(`decide cut_off null; signal skipped; log idle`).emits("")
}

// M19: a route node that is itself absent closes all it gates.
func TestAbsentRoute(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  decide: { route: { yes: b, no: true } }
  any: { after: decide, expr: a }
  yes: { after: decide.yes, expr: a }
  chained: { after: yes, expr: 1 }
`)
	h.set("a", 1).fire().want("decide skipped; any skipped; yes skipped; chained skipped")
	h.set("b", true).fire().want(`decide ran "yes"; any ran 1; yes ran 1; chained ran 1`)
	h.set("b", false).fire().want(`decide ran "no"; any cut_off 1; yes skipped; chained skipped`)
	h.set("a", 2).fire().want(`decide idle "no"; any ran 2; yes skipped; chained idle`)
	h.set("b", 7).run().fails(expression.CodeTypeError, "decide")
}

// M19: after takes one, a list of which any will do, or all of a list; a null value or a route
// not taken opens nothing.
func TestM19AfterAnyAndAll(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  side: { route: { up: a > 0, down: a < 0 } }
  half: { expr: 'b > 9 ? nil : b / 2' }
  one: { after: half, expr: '"one"' }
  any: { after: [side.up, half], expr: '"any"' }
  all: { after: { all: [side.up, half] }, expr: '"all"' }
  either: { after: [side.up, side.down], expr: '"either"' }
  both: { after: { all: [side.up, side.down] }, expr: '"both"' }
  later: { after: [one, both], expr: '"later"' }
`)
	h.set("a", 1).fire().want(`side ran "up"; half skipped; one skipped; any ran "any"; all skipped; ` +
		`either ran "either"; both skipped; later skipped`)
	h.set("b", 2).fire().want(`side idle "up"; half ran 1; one ran "one"; any cut_off "any"; all ran "all"; ` +
		`either idle "either"; both idle; later ran "later"`)
	h.set("a", -1).fire().want(`side ran "down"; one idle "one"; any cut_off "any"; all skipped; ` +
		`either cut_off "either"; both skipped; later idle "later"`)
	h.set("b", 10).fire().want(`half ran null; one skipped; any skipped; all skipped; ` +
		`either idle "either"; later skipped`)
	h.set("a", 0).fire().want(`side ran null; any skipped; all skipped; either skipped; both skipped`)
	h.set("a", 2).set("b", 3).fire().want(`side ran "up"; any ran "any"; all ran "all"; ` +
		`either ran "either"; both skipped`)
}

// M20: now() and epoch() are constant within an epoch, and no inputs.
func TestNowAndEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a",
		`nodes: { one: { expr: '{"e": epoch(), "at": now(), "a": a}' }, two: { expr: one.at == now() } }`+"\n")
	h.set("a", 1).fire().want(`one ran {"a":1,"at":"2026-01-02T03:04:05.000Z","e":1}; two ran true`)
	h.e.Now = h.e.Now.Add(1)
	h.fire().want("two idle true").set("a", 2).fire().
		want(`one ran {"a":2,"at":"2026-01-02T03:04:05.000000001Z","e":3}; two cut_off true`)
}

func TestVarsAndKey(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
vars: { limit: 3, names: [x, y], deep: { on: true } }
nodes:
  n: { expr: vars.limit + a }
  on: { expr: vars.deep.on }
  who: { expr: 'key ?? "nobody"' }
  unkeyed: { expr: key == nil }
`)
	h.set("a", 1).fire().want(`n ran 4; on ran true; who ran "nobody"; unkeyed ran true`)
	h.e.Key = boundary.String("A")
	h.st = h.plan.NewState()
	h.fire().want(`who ran "A"; unkeyed ran false`)
}

// M16: a version that the last committed epoch has seen is not newer, and one that
// was taken back with a cut is not either.
func TestStamps(t *testing.T) {
	t.Parallel()
	h := start(t, "a", "nodes: { n: { expr: a, event: true } }\n")
	h.set("a", 1).fire().want("n ran 1")
	for _, version := range []uint64{0, 1, h.st.Stamp()} {
		h.e.Versions[0] = version
		h.run().want("n idle 1")
	}
	h.e.Versions[0] = h.st.Stamp() + 1
	h.run().want("n ran 1")
	// A value taken away is news too.
	h.e.Inputs[0] = boundary.Value{}
	h.run().want("n skipped")
}

// Outputs: on_change compares with what was last emitted, not with what was last there.
func TestOnChange(t *testing.T) {
	t.Parallel()
	h := start(t, "a*", `
nodes: { n: { route: { yes: a.v > 0 } }, v: { after: n.yes, expr: a.v } }
outputs:
  each: { from: v, sink: { drop: {} } }
  changes: { from: v, sink: { drop: {} }, emit: on_change }
  raw: { from: a, sink: { drop: {} }, emit: on_change }
`)
	v := func(v int) map[string]any { return map[string]any{"v": v} }
	h.set("a", v(1)).fire().emits(`each=1 changes=1 raw={"v":1}`)
	h.set("a", v(1)).fire().emits("each=1")
	h.set("a", v(0)).fire().emits(`raw={"v":0}`)
	h.set("a", v(1)).fire().emits(`each=1 raw={"v":1}`)
	h.set("a", v(2)).fire().emits(`each=2 changes=2 raw={"v":2}`)
}

// Durations are measured with the caller's clock, node by node.
func TestClock(t *testing.T) {
	t.Parallel()
	h := start(t, "a", "nodes: { one: { expr: a }, two: { expr: one } }\n")
	now := int64(0)
	h.e.Clock = func() int64 { now += 7; return now }
	h.set("a", 1).fire()
	if got := []int64{h.r.Node(0).Nanos, h.r.Node(1).Nanos}; !slices.Equal(got, []int64{7, 7}) {
		t.Errorf("got %v, want 7 each", got)
	}
	h.set("a", 1).fire().want("two idle 1")
	if got := h.r.Node(1).Nanos; got != 0 {
		t.Errorf("an idle node took %d", got)
	}
	h = start(t, "a", "nodes: { bad: { expr: a, on_error: skip }, next: { expr: a } }\n")
	h.e.Clock = func() int64 { now += 7; return now }
	h.plan.steps[0].program = panicking{"boom"}
	h.set("a", 1).fire()
	if got := []int64{h.r.Node(0).Nanos, h.r.Node(1).Nanos}; !slices.Equal(got, []int64{7, 7}) {
		t.Errorf("beside a panic: got %v, want 7 each", got)
	}
}

// M14: independent work goes by priority, dependent work by rank.
func TestPriorityOrdersWithinARank(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes:
  deep: { expr: low, priority: high }
  background: { expr: a, priority: background }
  low: { expr: a, priority: low }
  normal: { expr: a }
  second: { expr: a }
  high: { expr: a, priority: high }
`)
	var got []string
	for _, n := range h.plan.Nodes() {
		got = append(got, fmt.Sprintf("%s/%d", n.Name, n.Rank))
	}
	if want := "high/0 normal/0 second/0 low/0 background/0 deep/1"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// M13: one result serves the states of many keys, one after the other.
func TestOneResultManyKeys(t *testing.T) {
	t.Parallel()
	h := start(t, "a", "nodes: { n: { expr: a }, m: { expr: n * 2 } }\n"+
		"outputs: { o: { from: m, sink: { drop: {} }, emit: on_change } }\n")
	one, two := h.st, h.plan.NewState()
	h.set("a", 1).fire().want("m ran 2").emits("o=2")
	h.st = two
	h.fire().want("m ran 2").emits("o=2")
	h.st = one
	h.set("a", 1).fire().want("n cut_off 1; m idle 2").emits("")
	h.st = two
	h.set("a", 3).fire().want("m ran 6").emits("o=6")
	h.st = one
	h.e.Versions[0] = one.Stamp()
	h.fire().want("n idle 1; m idle 2").emits("")
}

// A steady state allocates nothing for scalars, whatever of the graph runs.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	h := start(t, "a", `
nodes:
  n: { expr: a * 2 }
  r: { route: { big: n > 3, small: true } }
  big: { after: r.big, expr: n }
  small: { after: r.small, expr: n }
  join: { expr: 'big ?? small ?? 0' }
outputs: { o: { from: join, sink: { drop: {} }, emit: on_change } }
`)
	h.e.Clock = func() int64 { return 1 }
	values := []boundary.Value{boundary.Int(1), boundary.Int(2), boundary.Int(2), boundary.Int(9)}
	i, marks := 0, make([]bool, len(h.plan.Cells()))
	allocs := testing.AllocsPerRun(200, func() {
		i++
		h.e.Inputs[0] = values[i%len(values)]
		h.e.Versions[0] = h.e.Stamp + 1
		h.e.Stamp++
		h.run()
		h.r.Touch(marks)
		h.plan.Commit(h.st, &h.r)
	})
	if h.r.Err != nil || allocs > 0 {
		t.Errorf("got %v allocations, error %v, want none", allocs, h.r.Err)
	}
}
