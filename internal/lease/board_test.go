package lease

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/placement"
)

// M52: a roster that was asked for before a graph was given up does not make it this daemon's again, a later one
// counts, and an older one than the last is not heard.
func TestM52StaleRosterIsNoNews(t *testing.T) {
	b := board{desk: placement.Desk{Self: "a", Lease: 3 * time.Second, Patience: 30 * time.Second}}
	roster := func(owner string) checkpoint.Roster {
		return checkpoint.Roster{Members: []checkpoint.Member{{ID: "b", Capacity: 1}, {ID: "a"}},
			Owners: map[checkpoint.ID]string{graph: owner}}
	}
	b.see(time.Second, time.Second, roster("a"), placement.Places{})
	b.giveUp(10*time.Second, graph)
	b.stand(graph)
	for _, c := range []struct {
		sent  time.Duration
		owner string
		may   bool
	}{{9 * time.Second, "a", false}, {11 * time.Second, "b", false}, {10 * time.Second, "a", false},
		{12 * time.Second, "a", true}} {
		b.see(c.sent, c.sent, roster(c.owner), placement.Places{})
		if w, _ := b.ask(c.sent, graph); w.may != c.may {
			t.Errorf("a roster of %v with owner %s: may take it: %v", c.sent, c.owner, w.may)
		}
	}
}

// M52: the end of a run that is over late, when the graph has begun anew, is not that of the new run.
func TestM52LateEndOfARun(t *testing.T) {
	k := Keeper{board: board{desk: placement.Desk{Self: "a"}}}
	old := k.Run(graph, func() {})
	again := k.Run(graph, func() {})
	k.board.runs[graph].called = true
	if old() {
		t.Error("the old run was handed back")
	}
	if k.board.runs[graph] == nil {
		t.Error("the new run ended with the old one")
	}
	if !again() || k.board.runs[graph] != nil {
		t.Error("the new run was not handed back, or does not end")
	}
}
