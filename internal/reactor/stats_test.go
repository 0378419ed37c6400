package reactor

import "testing"

// What a graph counts does not depend on how many records it keeps, or whether any.
func TestCountsWithoutRecords(t *testing.T) {
	count := func(keep int) Stats {
		r := newRig(t, graphOf("  a: {}\n", "{ when: any }", `nodes:
  some: { expr: 'a < 9 ? 1 : 1 % 0', on_error: skip }
  next: { expr: 'some + 1' }
  all: { expr: 'a < 10 ? a : 1 % 0' }
`), func(c *Config) { c.KeepFirings = keep })
		for _, a := range []int{2, 3, 9, 10, 4} {
			r.push("a", a)
			r.fire()
		}
		return r.c.stats
	}
	with, without := count(1000), count(0)
	if with != without {
		t.Errorf("without records %+v, with them %+v", without, with)
	}
	for status, n := range with.Nodes {
		if n == 0 {
			t.Errorf("no node was ever %d: %+v", status, with)
		}
	}
}
