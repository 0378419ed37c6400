package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// M45: a renewal that also finds a dead owner, whose lease's row somebody has locked, is answered
// with time left: the renewal of a living daemon does not wait for the taking away.
func TestLockedLeaseOfAnotherCostsNoRenewal(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	dead := open(t, dsn, schema)
	defer dead.Close()
	alive := open(t, dsn, schema)
	defer alive.Close()
	renew(t, alive, time.Minute)
	renew(t, dead, time.Microsecond)
	other, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	if _, err := other.Exec(t.Context(), "BEGIN; SELECT * FROM "+schema+".lease WHERE owner = '"+dead.owner()+
		"' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	// Half of what the lease lasts: the wait for the lock has an end of its own, long before.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := alive.RenewLease(ctx, time.Minute); err != nil || ctx.Err() != nil {
		t.Errorf("the renewal: %v, with %v of its time", err, ctx.Err())
	}
	if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	renew(t, alive, time.Minute)
	if n := query(t, dsn, "SELECT count(*) FROM "+schema+".lease WHERE owner = $1", dead.owner()); n[0] != "0" {
		t.Errorf("the expired lease is still there: %s", n)
	}
}
