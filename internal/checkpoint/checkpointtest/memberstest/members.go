// Package memberstest holds the members of a store to the contract of package checkpoint.
package memberstest

import (
	"errors"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Test is of an open store that nothing was done with yet (M52): a daemon with a lease is a member, which
// may be drained; what it has taken is its own, or, in a store of one process, nobody else's.
func Test(t *testing.T, s checkpoint.Store) {
	lease, err := s.RenewLease(t.Context(), time.Minute)
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	a, b := checkpoint.ID{Tenant: "default", Graph: "a"}, checkpoint.ID{Tenant: "default", Graph: "a", Shard: 3}
	fences := map[checkpoint.ID]int64{}
	for _, id := range []checkpoint.ID{a, b} {
		head, err := s.Acquire(t.Context(), id)
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		fences[id] = head.Fence
	}
	check := func(drained, leaving bool) {
		t.Helper()
		r, err := s.Roster(t.Context())
		if err != nil || len(r.Members) != 1 || r.Members[0].ID != s.Self() || s.Self() == "" || r.Members[0].Expired {
			t.Fatalf("roster %+v, %v; self %q", r, err, s.Self())
		}
		for _, id := range []checkpoint.ID{a, b} {
			if owner := r.Owners[id]; owner != s.Self() && !lease.Sole {
				t.Errorf("%s is owned by %q", id, owner)
			}
		}
		if m := r.Members[0]; !lease.Sole && (m.Drained != drained || m.Leaving != leaving) {
			t.Errorf("member %+v, want drained %v, leaving %v", m, drained, leaving)
		}
	}
	check(false, false)
	for _, drained := range []bool{true, false} {
		if err := s.Drain(t.Context(), s.Self(), drained); err != nil {
			t.Fatalf("drain: %v", err)
		}
		check(drained, false)
	}
	if err := s.Drain(t.Context(), "nobody", true); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("drain of who is not there: %v, want ErrNotFound", err)
	}
	if err := s.Leave(t.Context()); err != nil {
		t.Fatalf("leave: %v", err)
	}
	check(false, true)
	r := testYield(t, s, a, fences[a], lease.Sole)
	if r.Owners[a] != "" || r.Owners[b] == "" && !lease.Sole {
		t.Errorf("after a yield: %+v", r)
	}
}

// testYield takes a graph again, which is not given up by what its owner before has sent (M45), and gives it up.
func testYield(t *testing.T, s checkpoint.Store, id checkpoint.ID, before int64, sole bool) (r checkpoint.Roster) {
	t.Helper()
	head, err := s.Acquire(t.Context(), id)
	if err != nil {
		t.Fatalf("acquire again: %v", err)
	}
	for _, fence := range []int64{before, head.Fence + 1, head.Fence} {
		if err := s.Yield(t.Context(), id, fence); err != nil {
			t.Fatalf("yield: %v", err)
		}
		if r, err = s.Roster(t.Context()); err != nil {
			t.Fatalf("roster: %v", err)
		}
		if fence != head.Fence && r.Owners[id] != s.Self() && !sole {
			t.Errorf("what was taken under fence %d was given up by %d", head.Fence, fence)
		}
	}
	if err := s.Relinquish(t.Context(), id, head.Fence); err != nil {
		t.Errorf("who gave a graph up that nobody has taken is fenced: %v", err)
	}
	return r
}
