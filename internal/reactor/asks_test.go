package reactor

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// asking shows what an epoch is about: which inputs are fresh, and why it runs.
const asking = `nodes:
  n: { expr: '[fresh(a), fresh(b), b != nil, cause()]' }
outputs:
  out: { from: n, sink: { drop: {} } }
`

// M15: an input that never arrived reads as nil where it is compared with nil, and the node
// runs; fresh is what arrived since the last kept epoch, so a node that asks is due in all of them.
func TestM15FreshIsOfThisEpoch(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", asking))
	r.push("a", 1)
	r.want(r.fire(), `out=[true,false,false,"criteria"]@1`)
	r.push("a", 2)
	r.want(r.fire(), "") // the same answer: cut off
	r.push("b", 1)
	r.want(r.fire(), `out=[false,true,true,"criteria"]@3`)
	r.push("a", 2)
	r.want(r.fire(), `out=[true,false,true,"criteria"]@4`)
	r.push("a", 2)
	r.push("b", 2)
	r.want(r.fire(), `out=[true,true,true,"criteria"]@5`)
}

// M15: a default is there and has not arrived.
func TestM15ADefaultIsNotFresh(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: { passive: true, default: 7 }\n", "{ when: any }", asking))
	r.push("a", 1)
	r.want(r.fire(), `out=[true,false,true,"criteria"]@1`)
	r.push("b", 7)
	r.push("a", 1)
	r.want(r.fire(), `out=[true,true,true,"criteria"]@2`)
}

// M15, M21: what a failed epoch took has not arrived for the next; what a false guard let
// through without an epoch has.
func TestM15FreshSinceTheLastKeptEpoch(t *testing.T) {
	const failing = `nodes:
  n: { expr: 'a == 13 ? 1 / (a - 13) : [fresh(a), fresh(b)]' }
outputs:
  out: { from: n, sink: { drop: {} } }
`
	r := newRig(t, graphOf(two, "{ when: any, guard: not fresh(b) or a == 3 }", failing))
	r.push("a", 13)
	r.want(r.fire(), "")
	if r.last().Err == "" {
		t.Fatalf("record %+v", r.last())
	}
	r.push("b", 1)
	r.want(r.fire(), "") // the guard is false: b stays in the cache, and new
	r.push("a", 1)
	r.want(r.fire(), "")
	r.push("a", 3)
	r.want(r.fire(), `out=[true,true]@2`)
}

// M15: fresh and cause are the same after a restart between an arrival and its epoch.
func TestM15FreshSurvivesARestart(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", asking))
	cells := map[string]checkpoint.Cell{}
	r.push("a", 1)
	r.want(r.fire(), `out=[true,false,false,"criteria"]@1`)
	r.push("b", 1)
	r.reload(cells)
	r.start()
	r.want(r.fire(), `out=[false,true,true,"criteria"]@2`)
	r.reload(cells)
	r.start()
	r.push("a", 1)
	r.want(r.fire(), `out=[true,false,true,"criteria"]@3`)
}

// M11, M15: cause names what fired, in nodes and in the guard.
func TestM15CauseNamesWhatFired(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: all, every: 10s, max_wait: 15s, guard: cause() != 'max_wait' or a > 1 }",
		asking))
	r.push("a", 1)
	if _, err := r.c.ForceFire(r.now, "", false); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), `out=[true,false,false,"force"]@1`)
	r.advance(10 * time.Second)
	r.want(r.fire(), `out=[false,false,false,"tick"]@2`)
	if _, err := r.c.FireWith(r.now, "", []boundary.Value{{}, value(t, 1)}, false); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), `out=[false,true,true,"with"]@3`)
	r.push("a", 2)
	r.advance(20 * time.Second)
	r.want(r.fire(), `out=[true,false,false,"max_wait"]@4`)
}

// M27: what a false guard takes counts for the turn, too: it may be slow, and nothing else is looked at meanwhile.
func TestM27AFalseGuardTakesTime(t *testing.T) {
	t.Parallel()
	for name, guard := range map[string]string{"an epoch": "a > 0", "a false guard": "a > 1"} {
		clock := int64(0)
		r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any, guard: '"+guard+"' }",
			"nodes:\n  n: { expr: a }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"), func(c *Config) {
			c.Mono = func() int64 { clock += int64(time.Second); return clock }
		})
		r.push("a", 1)
		if !r.c.Fire(r.now) || r.c.Took() < time.Second {
			t.Errorf("%s took %v", name, r.c.Took())
		}
		if r.c.Fire(r.now) || r.c.Took() != 0 {
			t.Errorf("nothing took %v", r.c.Took())
		}
	}
}
