package reactor

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

const showing = `nodes:
  n: { expr: a }
  m: { expr: b }
  none: { after: n, expr: 'm == 99 ? m : missing.x' }
outputs:
  each: { from: n, sink: { drop: {} } }
  changed: { from: n, sink: { drop: {} }, emit: on_change }
  input: { from: b, sink: { drop: {} } }
  big: { from: m, sink: { drop: {} }, where: value > 10 }
  never: { from: none, sink: { drop: {} } }
`

const three = "  a: {}\n  b: {}\n  missing: {}\n"

// M11: after a ForceFire every output puts out its current value, also one where nothing ticked
// or differs from the last; one whose node never had a value puts out nothing, and where holds.
func TestM11ForceFireShowsEveryValue(t *testing.T) {
	r := newRig(t, graphOf(three, "{ when: any }", showing))
	r.push("a", 1)
	r.push("b", 5)
	r.want(r.fire(), "each=1@1 changed=1@1 input=5@1")
	force := func(onlyChanged bool) string {
		t.Helper()
		if _, err := r.c.ForceFire(r.now, "", onlyChanged); err != nil {
			t.Fatal(err)
		}
		return r.released()
	}
	r.want(force(false), "each=1@2 changed=1@2 input=5@2")
	r.want(force(true), "")
	r.push("b", 11)
	r.want(force(true), "input=11@4 big=11@4")
	r.want(force(false), "each=1@5 changed=1@5 input=11@5 big=11@5")
	r.push("a", 1)
	r.want(r.fire(), "") // the epoch after it is as any other
}

// M16: what where or null keeps back is counted per output, across a restart too; a condition that reads
// what is absent does not hold.
func TestM16WhatOutputsKeepBackIsCounted(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", `nodes:
  n: { expr: 'a > 5 ? nil : a' }
outputs:
  plain: { from: n, sink: { drop: {} } }
  nulls: { from: n, sink: { drop: {} }, emit_null: true, emit: on_change }
  when:
    from: n
    sink: { drop: {} }
    where: 'value > b and fresh(a) and cause() != "force" and epoch < 9 and output == "when"'
`))
	cells := map[string]checkpoint.Cell{}
	r.push("a", 1)
	r.want(r.fire(), "plain=1@1 nulls=1@1")
	r.push("b", 0)
	r.push("a", 2)
	r.want(r.fire(), "plain=2@2 nulls=2@2 when=2@2")
	r.push("a", 9)
	r.want(r.fire(), "nulls=null@3")
	r.reload(cells)
	r.start()
	r.push("a", 8)
	r.want(r.fire(), "")
	if _, err := r.c.ForceFire(r.now, "", false); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), "nulls=null@5")
	if got := r.c.Look().Filtered; got[0] != 2 || got[1] != 0 || got[2] != 3 {
		t.Fatalf("kept back %v", got)
	}
}

// M21: a condition that cannot be evaluated makes the epoch fail, and nothing of it is kept.
func TestM21AConditionThatFails(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any }", `nodes:
  n: { expr: 'rolling_sum(a.v, 9)' }
outputs:
  first: { from: n, sink: { drop: {} } }
  out: { from: n, sink: { drop: {} }, where: a.name startsWith "x" }
`))
	r.push("a", map[string]any{"v": 1, "name": "xy"})
	r.want(r.fire(), "first=1@1 out=1@1")
	r.push("a", map[string]any{"v": 2, "name": 7})
	r.want(r.fire(), "")
	if rec := r.last(); !strings.HasPrefix(rec.Err, "output out: where: ") || rec.ErrCode != "type_error" ||
		len(rec.Emitted) > 0 {
		t.Fatalf("record %+v", rec)
	}
	if l := r.c.deadLetters; len(l) != 1 || l[0].Stage != "output" {
		t.Fatalf("letters %+v", l)
	}
	r.push("a", map[string]any{"v": 3, "name": "x"})
	r.want(r.fire(), "first=4@3 out=4@3") // what the failed epoch remembered is forgotten
}

// M29: a replay puts out what the commanded fire put out.
func TestM29AReplayShowsTheSame(t *testing.T) {
	t.Parallel()
	const doc = "graph: g\naccumulators: { a: {} }\nreactor: { when: any }\nnodes: { n: { expr: a } }\n" +
		"outputs: { out: { from: n, sink: { drop: {} } } }\n"
	r := newRig(t, doc, withJournal)
	r.c.Begin()
	r.push("a", 1)
	r.want(r.fire(), "out=1@1")
	for _, onlyChanged := range []bool{false, true} {
		if _, err := r.c.ForceFire(r.now, "", onlyChanged); err != nil {
			t.Fatal(err)
		}
	}
	again := &rig{t: t, c: NewCore(testConfig(t, doc, withJournal)), now: epochZero}
	replayed := NewReplayer(again.c, checkpoint.Head{})
	for _, e := range r.c.DrainJournal() {
		if err := replayed.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	replayed.Done()
	r.want(r.released(), "out=1@2")
	again.want(again.released(), "out=1@1 out=1@2")
}
