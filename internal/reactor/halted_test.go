package reactor

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

const halting = "durability: { on_failure: halt }\n"

// M21, M28: what a graph that halts tries first when it goes on is what it has halted on, whatever called for that
// epoch: the limits of a rate and the instants of a cadence count from what was kept. So it is after a checkpoint and
// after a replay of the journal.
func TestM21WhatHaltedIsTriedAgain(t *testing.T) {
	t.Parallel()
	const byKey = "nodes:\n  n: { expr: '[key, 6 / a]' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n" + halting
	for name, c := range map[string]struct {
		reactor, nodes string
		keyed          bool
		give           func(r *rig)
		cause          Cause
		key            string
	}{
		"a tick": {"{ when: any, every: 10s }", "nodes:\n  n: { expr: 'cause() == \"tick\" ? 1 / (a ?? 0) : 0' }\n" +
			"outputs:\n  out: { from: n, sink: { drop: {} } }\n" + halting, false, func(*rig) {}, CauseTick, ""},
		"a key of a cadence": {"{ when: any, every: 10s }", byKey, true, func(r *rig) {
			r.give("a", "p", 0)
			r.give("a", "q", 1)
		}, CauseCriteria, `"p"`},
		"a key of a rate": {"{ when: any, rate_limit: 10s }", byKey, true, func(r *rig) {
			r.give("a", "p", 0)
			r.give("a", "q", 1)
		}, CauseCriteria, `"p"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := []option{withJournal}
			if c.keyed {
				opts = append(opts, keyed(nil))
			}
			r := newRig(t, graphOf("  a: { strategy: sequential }\n", c.reactor, c.nodes), opts...)
			r.c.Begin()
			cells := map[string]checkpoint.Cell{}
			r.reload(cells)
			r.start()
			head := checkpoint.Head{Epoch: r.c.Epoch(), Meta: r.c.meta()}
			before := listCells(cells)
			r.c.Begin()
			c.give(r)
			r.advance(5 * time.Second) // an instant of the cadence
			again := func(what string, epoch int64) {
				t.Helper()
				r.want(r.fire(), "")
				last := r.last()
				if r.c.Health() != HealthHalted || last.Epoch != epoch || last.Cause != c.cause ||
					string(last.Key) != c.key {
					t.Errorf("%s: %s, epoch %d of %s by %s: %s", what, r.c.Health(), last.Epoch, last.Key, last.Cause,
						last.Err)
				}
			}
			again("at first", 1)
			entries := r.c.DrainJournal()
			r.reload(cells)
			r.start()
			again("after a checkpoint", 2)

			r.c, _ = replayedOn(t, r.c.cfg, head, before, entries)
			r.start()
			again("after a replay", 2)
		})
	}
}

// M21, M28: so it is where other keys that a rate has held back come of what was admitted before: what the graph has
// halted on is tried first, once, and then keys have their turns again.
func TestM21TheKeyThatHaltedComesFirst(t *testing.T) {
	t.Parallel()
	doc := func(expr string) string {
		return graphOf("  a: { strategy: sequential }\n", "{ when: any, rate_limit: 10s }",
			"nodes:\n  n: { expr: '"+expr+"' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"+halting)
	}
	for name, replayed := range map[string]bool{"from a checkpoint": false, "from the journal": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, doc("[key, 6 / a]"), keyed(nil), withJournal)
			r.c.Begin()
			cells := map[string]checkpoint.Cell{}
			r.reload(cells)
			r.start()
			head := checkpoint.Head{Epoch: r.c.Epoch(), Meta: r.c.meta()}
			before := listCells(cells)
			r.c.Begin()
			at := func(second int, key string, x int, want string) {
				t.Helper()
				r.now = epochZero.Add(time.Duration(second) * time.Second)
				r.give("a", key, x)
				r.want(r.fire(), want)
			}
			at(0, "p", 1, `out=["p",6]@1`)
			at(3, "q", 1, `out=["q",6]@2`)
			at(4, "q", 2, "") // not before 13 s
			at(10, "p", 0, "")
			if last := r.last(); r.c.Health() != HealthHalted || string(last.Key) != `"p"` {
				t.Fatalf("%s, epoch %d of %s", r.c.Health(), last.Epoch, last.Key)
			}
			entries := r.c.DrainJournal()
			if replayed {
				r.c, _ = replayedOn(t, r.c.cfg, head, before, entries)
			}
			r.now = epochZero.Add(20 * time.Second)
			r.reload(cells, into(testConfig(t, doc("[key, a]"), keyed(nil))))
			r.start()
			r.want(r.fire(), `out=["p",0]@4 out=["q",2]@5`)
			at(21, "q", 3, "")
			at(22, "p", 3, "")
			r.now = epochZero.Add(40 * time.Second)
			r.want(r.fire(), `out=["q",3]@6 out=["p",3]@7`)
		})
	}
}

// M21, M28, M42: a boundary that goes through and whose epoch halts the graph waits as any other, in a checkpoint too.
func TestM21WhatHaltedWaitsInTheCheckpoint(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]option{"unkeyed": nil, "keyed": {keyed(nil)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, graphOf("  a: {}\n", "{ when: any }",
				"nodes:\n  n: { expr: '6 / a' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"+halting), opts...)
			key, cells := "", map[string]checkpoint.Cell{}
			if r.c.Keyed() {
				key = "p"
			}
			for epoch, x := range []int{3, 0} {
				b, mark := r.next("a", key, x)
				if done, _ := r.c.Through(r.now, 0, &b, &mark); !done || r.c.Epoch() != int64(epoch+1) {
					t.Fatalf("it has not gone through: epoch %d", r.c.Epoch())
				}
				r.released()
				if x == 3 {
					r.reload(cells)
					r.start()
				}
			}
			r.reload(cells)
			r.start()
			if n := r.books("a").Queued; n != 1 {
				t.Errorf("%d events wait, want the one that the graph has halted on", n)
			}
		})
	}
}
