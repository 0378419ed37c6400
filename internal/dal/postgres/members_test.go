package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/graphd/graphd/internal/checkpoint"
)

// ownersOf is who owns what.
func ownersOf(t *testing.T, p *Store) map[checkpoint.ID]string {
	t.Helper()
	r, err := p.Roster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Owners
}

func openAs(t *testing.T, dsn, schema string, me checkpoint.Member) *Store {
	t.Helper()
	p := openWith(t, dsn, Options{Schema: schema, Member: me, Timeouts: patient})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// M52: members see each other as they are; what one says of itself or of another is heard at once, and a
// drain outlives the lease that it was said of.
func TestM52Members(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	started := time.Date(2026, 11, 20, 10, 0, 0, 5, time.UTC)
	me := checkpoint.Member{ID: "a", Name: "host/1", Address: "10.0.0.1:8080", Version: "1.2", Capacity: 3,
		Peer:    "10.0.0.1:8081",
		Started: started}
	a := openAs(t, dsn, schema, me)
	b := openAs(t, dsn, schema, checkpoint.Member{ID: "b", Capacity: 0})
	renew(t, a, time.Minute)
	renew(t, b, time.Minute)
	hear := func(what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := b.AwaitChange(ctx); err != nil {
			t.Fatalf("%s was not heard: %v", what, err)
		}
	}
	see := func(want checkpoint.Member) {
		t.Helper()
		r, err := b.Roster(t.Context())
		if err != nil || len(r.Members) != 2 || !cmp.Equal(r.Members[0], want) || r.Members[1].ID != "b" ||
			r.Members[1].Name != "b" || r.Members[1].Capacity != 0 {
			t.Fatalf("%v: %s", err, cmp.Diff(r.Members, want))
		}
	}
	hear("the beginning")
	see(me)
	if err := b.Drain(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	hear("a drain")
	me.Drained = true
	see(me)
	renew(t, a, time.Minute)
	owner := a.owner()
	const expire = "UPDATE lease SET expires_at = clock_timestamp() WHERE owner = $1"
	if _, err := b.exec(t.Context(), b.control, expire, owner); err != nil {
		t.Fatal(err)
	}
	me.Expired = true
	see(me)
	renew(t, b, time.Minute)
	hear("an expired lease that was taken away")
	until(t, "the loss is noticed, after that of the connections", patience, func() bool {
		_, err := a.RenewLease(t.Context(), time.Minute)
		return errors.Is(err, checkpoint.ErrLeaseLost)
	})
	renew(t, a, time.Minute)
	me.Expired = false
	see(me)
	if err := a.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	hear("a daemon about to end")
	me.Leaving = true
	see(me)
	if err := b.Drain(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	me.Drained = false // which it has not heard when its lease is taken away
	if _, err := b.exec(t.Context(), b.control, "DELETE FROM lease WHERE owner = $1", a.owner()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.RenewLease(t.Context(), time.Minute); !errors.Is(err, checkpoint.ErrLeaseLost) {
		t.Fatalf("a lease that is gone: %v", err)
	}
	renew(t, a, time.Minute)
	see(me)
	if err := b.Drain(t.Context(), "c", true); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a drain of nobody: %v", err)
	}
	if err := a.leave(); err != nil {
		t.Fatal(err)
	}
	var left int
	const said = "SELECT count(*) FROM member_drain"
	if _, err := b.row(t.Context(), b.control, said, nil, &left); err != nil || left != 0 {
		t.Errorf("%d drains left of members that have gone: %v", left, err)
	}
}

// M55: a daemon of the release before members puts its lease as it always has, and is a member like any other.
func TestM55LeaseOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	b := openAs(t, dsn, schema, checkpoint.Member{ID: "b"})
	if _, err := b.exec(t.Context(), b.control, `INSERT INTO lease (owner, name, application, expires_at)
		VALUES ('old/1', 'host/1 (:8080)', 'graphd-old', clock_timestamp() + interval '1 minute')`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.exec(t.Context(), b.control, `INSERT INTO graph_number (tenant, graph, shard, fence, revision, owner)
		VALUES ('default', 'g', 0, 1, 1, 'old/1')`); err != nil {
		t.Fatal(err)
	}
	r, err := b.Roster(t.Context())
	want := checkpoint.Member{ID: "old/1", Name: "host/1 (:8080)", Capacity: 1}
	g := checkpoint.ID{Tenant: "default", Graph: "g"}
	if err != nil || len(r.Members) != 1 || r.Members[0] != want || r.Owners[g] != "old/1" {
		t.Errorf("%+v, %v", r, err)
	}
	var owned *checkpoint.OwnedError
	if _, err := b.Acquire(t.Context(), g); !errors.As(err, &owned) || owned.Member != "old/1" {
		t.Errorf("acquire: %v", err)
	}
	if err := b.Drain(t.Context(), "old/1", true); err != nil {
		t.Errorf("drain: %v", err)
	}
	// What it says of another member it says of the lease alone, and that is carried over to the next one.
	renew(t, b, time.Minute)
	for _, drained := range []bool{true, false} {
		_, err := b.exec(t.Context(), b.control, "UPDATE lease SET drained = $1 WHERE member = 'b'", drained)
		if err != nil {
			t.Fatal(err)
		}
		renew(t, b, time.Minute)
		if _, err := b.exec(t.Context(), b.control, "DELETE FROM lease WHERE owner = $1", b.owner()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.RenewLease(t.Context(), time.Minute); !errors.Is(err, checkpoint.ErrLeaseLost) {
			t.Fatalf("a lease that is gone: %v", err)
		}
		renew(t, b, time.Minute)
		r, err := b.Roster(t.Context())
		i := slices.IndexFunc(r.Members, func(m checkpoint.Member) bool { return m.ID == "b" })
		if err != nil || i < 0 || r.Members[i].Drained != drained {
			t.Errorf("%v: %+v, %v", drained, r.Members, err)
		}
	}
}

// M54: a claim is one daemon's at a time, is heard of at once, and is gone with the lease that it was made under.
func TestM54Claims(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	a := openAs(t, dsn, schema, checkpoint.Member{ID: "a"})
	b := openAs(t, dsn, schema, checkpoint.Member{ID: "b"})
	g := checkpoint.ID{Tenant: "default", Graph: "g"}
	claims := func(p *Store, id checkpoint.ID, claim string, want bool) {
		t.Helper()
		if granted, err := p.Claim(t.Context(), id, claim); err != nil || granted != want {
			t.Errorf("%s %s: %v, %v, want %v", id, claim, granted, err, want)
		}
	}
	dealers := func(want map[checkpoint.ID]string) {
		t.Helper()
		if r, err := b.Roster(t.Context()); err != nil || !cmp.Equal(r.Dealers, want) {
			t.Errorf("%v, %v, want %v", r.Dealers, err, want)
		}
	}
	claims(a, g, checkpoint.ClaimDeal, false) // it has no lease
	renew(t, a, time.Minute)
	renew(t, b, time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.AwaitChange(ctx); err != nil { // the beginning
		t.Fatal(err)
	}
	claims(a, g, checkpoint.ClaimDeal, true)
	if err := b.AwaitChange(ctx); err != nil {
		t.Errorf("a claim was not heard: %v", err)
	}
	claims(a, g, checkpoint.ClaimDeal, true) // as said before, where the answer was lost
	claims(b, g, checkpoint.ClaimDeal, false)
	claims(b, g, checkpoint.ClaimLetters, true)
	claims(a, g, checkpoint.ClaimLetters, false)
	dealers(map[checkpoint.ID]string{g: "a"})
	if err := b.Disclaim(t.Context(), g, checkpoint.ClaimDeal); err != nil { // which is not its own
		t.Error(err)
	}
	dealers(map[checkpoint.ID]string{g: "a"})
	if err := a.Disclaim(t.Context(), g, checkpoint.ClaimDeal); err != nil {
		t.Error(err)
	}
	dealers(map[checkpoint.ID]string{})
	claims(b, g, checkpoint.ClaimDeal, true)
	if _, err := a.exec(t.Context(), a.control, "DELETE FROM lease WHERE owner = $1", b.owner()); err != nil {
		t.Fatal(err)
	}
	claims(a, g, checkpoint.ClaimDeal, true)
	claims(a, g, checkpoint.ClaimLetters, true)
	claims(b, checkpoint.ID{Tenant: "default", Graph: "h"}, checkpoint.ClaimDeal, false)
}

// M54: a lease that is over and that nobody has taken away goes on with its claims when it is renewed, as behind an
// outage of the database: who has made one gives it up itself, and is heard then.
func TestM54ALeaseThatWasOverHasItsClaimsStill(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	a := openAs(t, dsn, schema, checkpoint.Member{ID: "a"})
	b := openAs(t, dsn, schema, checkpoint.Member{ID: "b"})
	g := checkpoint.ID{Tenant: "default", Graph: "g"}
	renew(t, a, time.Microsecond)
	if granted, err := a.Claim(t.Context(), g, checkpoint.ClaimDeal); err != nil || !granted {
		t.Fatal(granted, err)
	}
	r, err := b.Roster(t.Context())
	if err != nil || len(r.Members) != 1 || !r.Members[0].Expired {
		t.Fatalf("%+v, %v, want one member whose lease is over", r.Members, err)
	}
	renew(t, a, time.Minute)
	renew(t, b, time.Minute)
	if granted, err := b.Claim(t.Context(), g, checkpoint.ClaimDeal); err != nil || granted {
		t.Errorf("the claim went with the time of its lease: %v, %v", granted, err)
	}
	if err := a.Disclaim(t.Context(), g, checkpoint.ClaimDeal); err != nil {
		t.Error(err)
	}
	if granted, err := b.Claim(t.Context(), g, checkpoint.ClaimDeal); err != nil || !granted {
		t.Errorf("it was given up, and is not to be had: %v, %v", granted, err)
	}
}
