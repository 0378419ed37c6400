package graph

import (
	"context"
	"errors"
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
	h.set("b", 1).fire().want("state idle 1; each ran 1; through ran 1; mixed ran 2; never cut_off 1; behind idle 2; always idle 1; gate ran 1")
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
	h.set("b", map[string]any{"x": 2}).fire().want("plain ran 1; behind ran 2; default ran 1; short ran 2").emits("out=2")
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
	// No condition holds: the choice is null, which is a value to come after.
	h.set("a", 1).fire().emits(`joins="nothing"`).
		want(`decide ran null; signal skipped; reason skipped; sized idle; join ran "nothing"; log ran null`)
	if !h.r.Node(h.nodes["decide"]).NoRoute {
		t.Error("decide: no_route is not recorded")
	}
	if h.r.Node(h.nodes["log"]).NoRoute {
		t.Error("log: null is not no_route for an expr node")
	}
	h.set("a", 0).fire().want(`decide cut_off null; signal skipped; log idle null`).emits("")
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

// M21: what each on_error makes of a division by zero, and that the node is due
// again with the next change and not before.
func TestOnError(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  skip: { expr: 10 / a, on_error: skip }
  last: { expr: 10 / a, on_error: last_good }
  dead: { expr: 10 / a, on_error: dead_letter }
  after_skip: { expr: 'skip ?? "none"' }
  after_last: { expr: 'last ?? "none"' }
  other: { expr: b }
outputs:
  skipped: { from: skip, sink: { drop: {} } }
  kept: { from: last, sink: { drop: {} } }
`)
	h.set("a", 0).fire().emits("").
		want(`skip failed; last failed; dead failed; after_skip ran "none"; after_last ran "none"`)
	if got, want := h.r.DeadNodes, []int{h.nodes["dead"]}; !slices.Equal(got, want) {
		t.Errorf("dead nodes: got %v, want %v", got, want)
	}
	h.set("a", 5).fire().emits("skipped=2 kept=2").
		want("skip ran 2; last ran 2; dead ran 2; after_skip ran 2; after_last ran 2")
	h.set("a", 0).fire().emits("").
		want(`skip failed; last failed 2; dead failed; after_skip ran "none"; after_last idle 2`)
	if e := h.r.Node(h.nodes["last"]).Err; e == nil || e.Code != expression.CodeNotFinite {
		t.Errorf("last: got error %v, want not_finite", e)
	}
	h.set("b", 1).fire().want(`skip idle; last idle 2; dead idle; after_skip idle "none"`)
	if len(h.r.DeadNodes) > 0 {
		t.Errorf("dead nodes: got %v, want none", h.r.DeadNodes)
	}
	h.set("a", 10).fire().emits("skipped=1 kept=1").want("skip ran 1; last ran 1; after_last ran 1")
}

// M7, M21, M22: a failed epoch changes nothing, and the next one behaves as if it
// had never happened, also in what is due.
func TestFailedEpochLeavesNoTrace(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes:
  first: { expr: a + 1 }
  kept: { expr: a, on_error: dead_letter }
  late: { expr: first / b }
outputs:
  firsts: { from: first, sink: { drop: {} }, emit: on_change }
  lates: { from: late, sink: { drop: {} } }
`)
	h.set("a", 1).set("b", 1).fire().emits("firsts=2 lates=2")
	before := *h.st
	cells := slices.Clone(before.cells)

	good, versions := slices.Clone(h.e.Inputs), slices.Clone(h.e.Versions)
	h.set("a", 5).set("b", 0).run().fails(expression.CodeNotFinite, "late").emits("").
		want("first ran 6; kept ran 5; late failed 2")
	for range h.r.Touched() {
		t.Error("a failed epoch touches a cell")
	}
	h.plan.Commit(h.st, &h.r) // refused
	if h.st.stamp != before.stamp || h.st.fresh != nil || !slices.EqualFunc(h.st.cells, cells, boundary.Equal) {
		t.Fatalf("the state changed: got %v, want %v", h.st.cells, cells)
	}

	// The cut is undone: nothing is due, the values of before are current.
	copy(h.e.Inputs, good)
	copy(h.e.Versions, versions)
	h.fire().emits("").want("first idle 2; kept idle 1; late idle 2")
	// What failed arrives again beside a good divisor: all of it is news.
	h.set("a", 5).set("b", 2).fire().emits("firsts=6 lates=3").want("first ran 6; kept ran 5; late ran 3")
}

// M21: the first error ends the epoch; what is dead by then dies with the whole cut.
func TestFailedEpochStops(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes:
  dead: { expr: 1 / a, on_error: dead_letter }
  fatal: { expr: 1 / a }
  never: { expr: a }
`)
	h.set("a", 0).run().fails(expression.CodeNotFinite, "fatal").want("dead failed; fatal failed; never idle")
	if len(h.r.DeadNodes) > 0 {
		t.Errorf("dead nodes: got %v, want none", h.r.DeadNodes)
	}
}

// M11: an aside is a run that is not committed.
func TestRunWithoutCommitIsAnAside(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes: { n: { expr: a * 2 } }
outputs: { out: { from: n, sink: { drop: {} }, emit: on_change } }
`)
	h.set("a", 1).fire().emits("out=2")
	live := h.e
	h.e.Inputs, h.e.Versions = slices.Clone(live.Inputs), slices.Clone(live.Versions)
	h.set("a", 7).run().want("n ran 14").emits("out=14")
	h.e = live
	h.fire().want("n idle 2").emits("")
	h.set("a", 7).fire().want("n ran 14").emits("out=14")
}

type panicking struct{ with any }

func (p panicking) Eval(*expression.Env) (boundary.Value, error) { panic(p.with) }

// M21: a panic is an error of the node and of nothing else.
func TestPanicIsTheNodesError(t *testing.T) {
	t.Parallel()
	const nodes = `
nodes:
  before: { expr: a }
  bad: { expr: a, on_error: %s }
  after: { expr: 'bad ?? 0' }
  beside: { expr: a }
`
	for _, onError := range []string{"skip", "dead_letter", "last_good"} {
		h := start(t, "a", fmt.Sprintf(nodes, onError))
		h.plan.steps[h.nodes["bad"]].program = panicking{"boom"}
		h.set("a", 1).fire().want("before ran 1; bad failed; after ran 0; beside ran 1")
		e := h.r.Node(h.nodes["bad"]).Err
		if e == nil || e.Code != CodePanic || e.Text != "boom" || !strings.Contains(e.Stack, "run_test.go") {
			t.Errorf("%s: got error %+v", onError, e)
		}
		h.e.FullRecompute = true
		h.fire().want("before idle 1; bad idle; after idle 0; beside idle 1")
		h.set("a", 2).fire().want("before ran 2; bad failed; after idle 0; beside ran 2")
	}
	h := start(t, "a", fmt.Sprintf(nodes, "fail_epoch"))
	h.plan.steps[h.nodes["bad"]].program = panicking{errors.New("boom")}
	h.set("a", 1).run().fails(CodePanic, "bad").want("before ran 1; after idle")
}

// A panic in the caller's own code is not a node's.
func TestPanicOfTheCallerPasses(t *testing.T) {
	t.Parallel()
	h := start(t, "a", "nodes: { n: { expr: a, on_error: skip } }\n")
	h.e.Interrupt = func() error { panic("not a node") }
	defer func() {
		if v := recover(); v != "not a node" {
			t.Errorf("recovered %v", v)
		}
	}()
	h.set("a", 1).run()
	t.Error("the panic was swallowed")
}

// M25, M22: an interruption between nodes fails the epoch.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]string{
		context.DeadlineExceeded: CodeEpochTimeout, context.Canceled: CodeCancelled, errors.New("x"): CodeCancelled,
	} {
		h := start(t, "a", "nodes: { one: { expr: a }, two: { expr: one }, three: { expr: two } }\n")
		asked := 0
		h.e.Interrupt = func() error {
			if asked++; asked == 3 {
				return fmt.Errorf("stop: %w", cause)
			}
			return nil
		}
		h.set("a", 1).run().fails(code, "three").want("one ran 1; two ran 1; three idle")
		h.fire().want("one ran 1; two ran 1; three ran 1")
	}
}

// M20: now() and epoch() are constant within an epoch, and no inputs.
func TestNowAndEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `nodes: { one: { expr: '{"e": epoch(), "at": now(), "a": a}' }, two: { expr: one.at == now() } }`+"\n")
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
`)
	h.set("a", 1).fire().want(`n ran 4; on ran true; who ran "nobody"`)
	h.e.Key = boundary.String("A")
	h.st = h.plan.NewState()
	h.fire().want(`who ran "A"`)
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

type guardCase struct {
	guard        string
	a, b, n      any // nil: absent
	holds, waits bool
	code         string
}

// needs are the inputs that the guard's text reads plainly.
func (c *guardCase) needs() (inputs []int) {
	for i, name := range []string{"a", "b"} {
		if strings.Contains(c.guard, name+" ") && !strings.Contains(c.guard, name+" ??") || c.guard == name {
			inputs = append(inputs, i)
		}
	}
	return inputs
}

// M8: the guard sees the cut's inputs and the nodes' committed values.
func TestGuard(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", "nodes: { n: { expr: a, on_error: skip } }\n")
	if ok, waiting, err := h.plan.GuardHolds(h.st, &h.e); !ok || waiting || err != nil {
		t.Errorf("no guard: got %v %v %v, want it to hold", ok, waiting, err)
	}
	if needs := h.plan.GuardNeeds(); needs != nil {
		t.Errorf("no guard: needs %v", needs)
	}
	const text = "graph: g\naccumulators: { a: {}, b: {} }\nnodes: { n: { expr: b } }\nreactor: { when: any, guard: '%s' }\n"
	for _, c := range []guardCase{
		{guard: "a > 1", waits: true},
		{guard: "a > 1", a: 1},
		{guard: "a > 1", a: 2, holds: true},
		{guard: "a > n", a: 2, n: 1, holds: true},
		{guard: "a > n", n: 1, waits: true},
		{guard: "a > n", a: 2}, // only an epoch could give n a value: nothing to wait for
		{guard: "(b ?? 5) > 3", holds: true},
		{guard: "a > 1 || b > 1", a: 2, holds: true},
		{guard: "a > 1 && b > 1", a: 2, waits: true},
		{guard: "1 / a > 0", a: 0, code: expression.CodeNotFinite},
		{guard: "a", a: 3, code: expression.CodeTypeError},
	} {
		g := parse(t, fmt.Sprintf(text, c.guard))
		plan, diagnostics := Compile(g, inputsOf(g))
		if err := diagnostics.Err(); err != nil {
			t.Fatal(err)
		}
		value := func(x any) boundary.Value {
			if x == nil {
				return boundary.Value{}
			}
			v, err := boundary.FromAny(x)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		st := plan.NewState()
		st.cells[0] = value(c.n)
		e := &Epoch{Inputs: []boundary.Value{value(c.a), value(c.b)}, Versions: make([]uint64, 2), Stamp: 1}
		if got, want := plan.GuardNeeds(), c.needs(); !slices.Equal(got, want) {
			t.Errorf("%s: needs %v, want %v", c.guard, got, want)
		}
		holds, waits, err := plan.GuardHolds(st, e)
		code := ""
		if err != nil {
			code = err.Code
			if err.Node != -1 || err.Name != "guard" {
				t.Errorf("%s: got error of %q, want the guard's", c.guard, err.Name)
			}
		}
		if holds != c.holds || waits != c.waits || code != c.code {
			t.Errorf("%s with a=%v b=%v n=%v: got %v %v %q, want %v %v %q", c.guard, c.a, c.b, c.n, holds, waits, code, c.holds, c.waits, c.code)
		}
	}
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
