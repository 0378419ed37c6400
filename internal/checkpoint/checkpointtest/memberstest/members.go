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
	for _, id := range []checkpoint.ID{a, b} {
		if _, err := s.Acquire(t.Context(), id); err != nil {
			t.Fatalf("acquire: %v", err)
		}
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
	if err := s.Yield(t.Context(), a); err != nil {
		t.Fatalf("yield: %v", err)
	}
	r, err := s.Roster(t.Context())
	if err != nil || r.Owners[a] != "" || r.Owners[b] == "" && !lease.Sole {
		t.Errorf("after a yield: %+v, %v", r, err)
	}
}
