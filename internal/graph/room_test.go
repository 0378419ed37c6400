package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// TestDoubledLists: what a value has several times is counted each time, before anybody walks through it. M21
func TestDoubledLists(t *testing.T) {
	t.Parallel()
	var nodes strings.Builder
	nodes.WriteString("nodes:\n  n0: { expr: '[a, a]' }\n")
	for i := 1; i < 60; i++ { // a list of 2^60 numbers
		fmt.Fprintf(&nodes, "  n%d: { expr: '[n%d, n%d]', on_error: skip }\n", i, i-1, i-1)
	}
	h := start(t, "a", nodes.String())
	h.set("a", 1).fire()
	first := -1
	for i := range 60 {
		if r := h.r.Node(h.nodes[fmt.Sprintf("n%d", i)]); r.Status == Failed {
			if first = i; r.Err.Code != expression.CodeLimitExceeded || !strings.Contains(r.Err.Text, "64 MiB") {
				t.Errorf("n%d fails with %v", i, r.Err)
			}
			break
		}
	}
	if first < 20 || first > 22 {
		t.Errorf("the first node that fails is n%d", first)
	}
}

// TestRoomOfAnEpoch: many nodes of an epoch have room together, and the next one has all of it again. M21
func TestRoomOfAnEpoch(t *testing.T) {
	t.Parallel()
	large := boundary.String(strings.Repeat("x", 1<<20))
	room := 3 << 20
	for i, fits := range []bool{true, true, false} {
		if err := roomFor(large, &room); (err == nil) != fits {
			t.Errorf("value %d: %v", i, err)
		}
	}
	var nodes strings.Builder
	nodes.WriteString("nodes:\n")
	for i := range 70 {
		fmt.Fprintf(&nodes, "  n%d: { expr: 'a + \"%d\"', on_error: skip }\n", i, i)
	}
	h := start(t, "a", nodes.String())
	text := strings.Repeat("x", 7<<20+1<<19)
	for range 2 {
		text += "y"
		h.set("a", text).fire()
		var counts Counts
		if h.r.Count(&counts); counts.Nodes[Ran] != 68 || counts.Nodes[Failed] != 2 {
			t.Errorf("of 70 nodes with 7.5 MiB each %d ran, %d failed", counts.Nodes[Ran], counts.Nodes[Failed])
		}
	}
}
