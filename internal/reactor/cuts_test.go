package reactor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

const cutsOut = `nodes:
  q: { expr: a / b }
outputs:
  cut: { from: reactor, sink: { drop: {} } }
  out: { from: q, sink: { drop: {} } }
`

// cutAt is a cut as it is released: its inputs as JSON without braces, why it fired and which were fresh.
func cutAt(epoch int, inputs, cause, fresh string) string {
	return fmt.Sprintf(`cut={%s,"epoch":%d,"meta":{"cause":%q,"fresh":[%s]},"now":"2026-01-02T03:04:05.000Z"}@%[2]d`,
		inputs, epoch, cause, fresh)
}

// M7, M21: an output from the reactor puts out what each epoch has taken, also of one that fails: whoever follows has
// nodes of its own. What an input has not brought is no field; fresh are those that have come since the epoch before.
func TestM7CutsAreEveryEpochs(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", cutsOut))
	r.push("a", 6)
	r.want(r.fire(), cutAt(1, `"a":6`, "criteria", `"a"`))
	r.push("b", 2)
	r.want(r.fire(), "out=3@2 "+cutAt(2, `"a":6,"b":2`, "criteria", `"b"`))
	r.push("a", 8)
	r.push("b", 0)
	r.want(r.fire(), cutAt(3, `"a":8,"b":0`, "criteria", `"a","b"`))
	if rec := r.last(); rec.ErrCode != "not_finite" || len(rec.Emitted) != 1 || len(r.c.deadLetters) != 2 {
		t.Fatalf("record %+v, letters %+v", rec, r.c.deadLetters)
	}
	// The cut is undone here, and what comes next is a cut of what was before.
	r.push("b", 3)
	r.want(r.fire(), "out=2@4 "+cutAt(4, `"a":6,"b":3`, "criteria", `"b"`))
}

// M21: an epoch after which the graph halts has taken nothing, so there is no cut: the next try is the same again.
func TestM21HaltedEpochIsNoCut(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: { strategy: sequential }\n", "{ when: any }",
		cutsOut+"durability: { on_failure: halt }\n"))
	r.push("a", 6)
	r.push("b", 0)
	r.want(r.fire(), "")
	if r.c.Health() != HealthHalted || len(r.last().Emitted) != 0 {
		t.Fatalf("health %s, %+v", r.c.Health(), r.last())
	}
}

// M8: a guard that is false, or that cannot be evaluated, stands before the cut.
func TestM8GuardedCutIsNone(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, guard: 12 / a > 3 }", cutsOut))
	r.push("a", 6)
	r.want(r.fire(), "")
	r.push("a", 0)
	r.want(r.fire(), "")
	r.push("a", 3)
	r.want(r.fire(), cutAt(2, `"a":3`, "criteria", `"a"`))
}

// M11: a commanded epoch is a cut like any other; an aside is none, for nothing of it stays.
func TestM11CommandedCuts(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", cutsOut))
	values := []boundary.Value{boundary.Int(6), boundary.Int(3)}
	if _, err := r.c.FireWith(r.now, "", values, false); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), "out=2@1")
	if _, err := r.c.FireWith(r.now, "", values, true); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), "out=2@2 "+cutAt(2, `"a":6,"b":3`, "with", `"a","b"`))
	if _, err := r.c.ForceFire(r.now, "", true); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), cutAt(3, `"a":6,"b":3`, "force", ""))
}

// M13: the cut of a key says whose it is.
func TestM13CutsHaveTheirKey(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ key: k }", `nodes: { n: { expr: a } }
outputs: { cut: { from: reactor, sink: { drop: {} } } }
`), keyed(nil))
	r.give("a", "x", 1)
	r.want(r.fire(), strings.Replace(cutAt(1, `"a":1`, "criteria", `"a"`), `"meta"`, `"key":"x","meta"`, 1))
}

// M28: a cut that is held for the outbox is in the commit of its epoch, whatever became of the epoch.
func TestM28CutsAreHeldWithTheirEpoch(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", cutsOut), func(c *Config) {
		c.Routes = []Route{{Path: PathOutbox}, {}}
	})
	r.push("a", 6)
	r.push("b", 0)
	r.want(r.fire(), "")
	s := r.c.Seal(r.now.Add(time.Second))
	var entries []checkpoint.OutboxEntry = s.Commit().Outbox
	if len(entries) != 1 || entries[0].Seq != 1 || entries[0].Epoch != 1 || entries[0].Output != "cut" {
		t.Fatalf("%+v", entries)
	}
}

// M7, M15: what a cut says is fresh is what fresh() says: what a false guard has let through without an epoch is new
// still.
func TestM15CutsSayWhatIsFresh(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, guard: b != nil }", `nodes:
  n: { expr: '[fresh(a), fresh(b)]' }
outputs:
  cut: { from: reactor, sink: { drop: {} } }
  n: { from: n, sink: { drop: {} } }
`))
	r.push("a", 6)
	r.want(r.fire(), "")
	r.push("b", 2)
	r.want(r.fire(), "n=[true,true]@1 "+cutAt(1, `"a":6,"b":2`, "criteria", `"a","b"`))
	r.push("b", 2)
	r.want(r.fire(), "n=[false,true]@2 "+cutAt(2, `"a":6,"b":2`, "criteria", `"b"`))
}
