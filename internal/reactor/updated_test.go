package reactor

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

// updated is a graph that adds up what comes of a, with what b is worth.
func updated(b, nodes string) string {
	return fmt.Sprintf(`graph: g
accumulators:
  a: { strategy: sequential }
%s  c: { strategy: sequential }
nodes:
%s  m: { expr: c }
  n: { expr: '(n ?? 0) + a + (b ?? 0)', delay: [n] }
outputs: { out: { from: n, sink: { drop: {} } } }
`, b, nodes)
}

// into is another declaration for [rig.reload].
func into(next Config) option {
	return func(c *Config) {
		next.Incarnation, next.Fence = c.Incarnation, c.Fence
		*c = next
	}
}

// M33, M16, M17: an update has a node run once more where what it rests on may be worth something else now, also when
// the graph is started again before that, and nowhere else: what goes on from its last value would count twice.
func TestM33AnUpdateRunsWhatRestsOnSomethingElse(t *testing.T) {
	t.Parallel()
	const passive, ten = "  b: { passive: true }\n", "  b: { passive: true, default: 10 }\n"
	for name, c := range map[string]struct {
		before, after, nodesBefore string
		first, then                string
	}{
		"nothing has arrived":           {passive, passive, "", "out=1@1", ""},
		"the default is the same":       {ten, ten, "", "out=11@1", ""},
		"the default is another":        {ten, "  b: { passive: true, default: 20 }\n", "", "out=11@1", "out=32@2"},
		"there is no default any more":  {ten, passive, "", "out=11@1", "out=12@2"},
		"there is one now":              {passive, ten, "", "out=1@1", "out=12@2"},
		"it was a node and is an input": {"", passive, "  b: { expr: 'a * 100' }\n", "out=101@1", "out=102@2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, updated(c.before, c.nodesBefore))
			cells := map[string]checkpoint.Cell{}
			r.push("a", 1)
			r.want(r.fire(), c.first)
			r.reload(cells, into(testConfig(t, updated(c.after, ""))))
			r.reload(cells)
			r.reload(cells)
			r.start()
			r.push("c", 5)
			r.want(r.fire(), c.then)
			r.push("c", 6)
			r.want(r.fire(), "") // once
		})
	}
}

// M33: what stands for an input before something has arrived is what the newest declaration says, however many there
// were, and a value that has arrived stays.
func TestM33DefaultsOfManyUpdates(t *testing.T) {
	t.Parallel()
	with := func(n int) string { return updated(fmt.Sprintf("  b: { passive: true, default: %d }\n", n), "") }
	r := newRig(t, with(10))
	cells := map[string]checkpoint.Cell{}
	total := 11
	r.push("a", 1)
	r.want(r.fire(), "out=11@1")
	for n := range 3 {
		r.reload(cells, into(testConfig(t, with(20+n))))
		r.start()
		if n != 1 { // a checkpoint without an epoch in between, too
			total += 1 + 20 + n
			r.push("c", 1)
			r.want(r.fire(), fmt.Sprintf("out=%d@%d", total, r.c.Epoch()))
		}
	}
	r.push("b", 22) // as the default
	r.push("a", 1)
	r.want(r.fire(), fmt.Sprintf("out=%d@%d", total+23, r.c.Epoch()))
	r.reload(cells, into(testConfig(t, with(5))))
	r.start()
	r.push("c", 1)
	r.want(r.fire(), "")
}

// M33, M13: so it is of what all keys share, and of each key by what it has seen itself: an update of later makes
// nothing due in a key that has seen the one before.
func TestM33AnUpdateRunsWhatRestsOnSomethingElseByKey(t *testing.T) {
	t.Parallel()
	doc := updated("  b: {}\n", "")
	own, shared := keyed(nil), global("b")
	plan := func(hash string) option { return func(c *Config) { c.PlanHash = hash } }
	r := newRig(t, doc, own, shared)
	cells := map[string]checkpoint.Cell{}
	all := func(name string, x any) string {
		for _, key := range []string{"p", "q"} {
			r.give(name, key, x)
		}
		return r.fire()
	}
	r.want(all("a", 1), "out=1@1 out=1@2")
	r.reload(cells, plan("2"))
	r.start()
	r.want(all("c", 1), "")

	r.reload(cells, into(testConfig(t, doc, own)), plan("3")) // each key has its own from now on
	r.start()
	r.give("c", "p", 1)
	r.want(r.fire(), "out=2@5")
	r.reload(cells, plan("4"))
	r.start()
	r.want(all("c", 1), "out=2@7")
	r.want(all("c", 1), "")

	r.give("b", "p", 10)
	r.want(r.fire(), "out=13@10")
	r.reload(cells, into(testConfig(t, doc, own, shared)), plan("5")) // and all share one again
	r.start()
	r.give("c", "p", 1)
	r.want(r.fire(), "out=14@11")
	r.give("c", "p", 1)
	r.want(r.fire(), "")
}
