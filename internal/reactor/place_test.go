package reactor

import (
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M9, M28: what waits for a cut has the same place behind a restart: a value that is latest is not behind what has come
// after it, for where inputs fire by themselves what came first goes first.
func TestM28WhatWaitsKeepsItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, graphOf("  a: {}\n  b: { strategy: sequential }\n", "{ when: any }",
		"nodes:\n  n: { expr: '[a, b]' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"))
	r.start()
	r.c.Pause(r.now, "")
	r.give("a", "", 1)
	r.give("b", "", 2)
	r.give("a", "", 3)
	places := func() (places [2]uint64) {
		for i := range places {
			places[i], _ = r.c.news(r.c.shared, i)
		}
		return places
	}
	before := places()
	if before[0] == 0 || before[0] >= before[1] {
		t.Fatalf("places %d", before)
	}
	cells := map[string]checkpoint.Cell{}
	for range 2 { // what was restored is written as it was
		r.reload(cells)
		if after := places(); after != before {
			t.Errorf("places %d, want %d", after, before)
		}
	}
}
