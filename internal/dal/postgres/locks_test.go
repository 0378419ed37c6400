package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/jackc/pgx/v5"
)

// locked is a connection of somebody else's that has locked the heads of all graphs, until release.
func locked(t *testing.T, dsn, schema string) (db *pgx.Conn, release func()) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	if _, err := db.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), "SELECT FROM "+schema+".graph_head FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	return db, func() {
		t.Helper()
		if _, err := db.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// M28, M35: a commit that meets a row that somebody has locked for long is answered by the server: nothing was done,
// and it may be sent again. Without an answer its outcome would be unknown, and the graph loaded anew.
func TestM28ALockedRowRefusesACommit(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	// The server answers when four fifths of a call's time are over: a loaded machine may need the rest for that.
	a := openWith(t, dsn, Options{Schema: schema, Timeouts: Timeouts{Call: 10 * time.Second, Lease: patience}})
	defer a.Close()
	renew(t, a, time.Minute)
	o := checkpointtest.NewOwner(t, a, "g")
	o.Commit(t)
	_, release := locked(t, dsn, schema)
	c := o.Next
	c.Seq++
	if err := a.Commit(t.Context(), &c); !errors.Is(err, checkpoint.ErrSlow) ||
		errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("got %v, want ErrSlow, and that nothing was done", err)
	}
	release()
	if err := a.Commit(t.Context(), &c); err != nil {
		t.Errorf("the same commit behind the lock: %v", err)
	}
}

// M45, M52: what a daemon has asked for over a line that carries nothing any more, or has asked for before it was
// stopped, waits for a lock no longer than its call does: it would hold what it has locked itself.
func TestM45WhatNobodyWaitsForWaitsForNoLock(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	a, line := throughProxy(t, dsn, schema, Timeouts{Call: 5 * time.Second, Lease: patience})
	defer a.Close()
	renew(t, a, time.Minute)
	o := checkpointtest.NewOwner(t, a, "g")
	o.Commit(t)
	db, release := locked(t, dsn, schema)
	defer release()
	waiting := func() (n int) {
		t.Helper()
		if err := db.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND "+
			"wait_event_type = 'Lock'", a.application()).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	done := make(chan error, 1)
	go func() {
		c := o.Next
		c.Seq++
		done <- a.Commit(t.Context(), &c)
	}()
	until(t, "the commit waits for the lock", patience, func() bool { return waiting() > 0 })
	line.swallowAll(true)
	if err := <-done; err == nil {
		t.Error("the commit has succeeded")
	}
	until(t, "nothing waits for the lock", patience, func() bool { return waiting() == 0 })
	line.swallowAll(false)
}

// M52: while it is found out which rows were refused, which may take long, graphs can be taken.
func TestM52RefusedRowsHoldNoTakeoverUp(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	a := open(t, dsn, schema)
	defer a.Close()
	renew(t, a, time.Minute)
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	table := schema + "_slow"
	if _, err := db.Exec(t.Context(), fmt.Sprintf(`CREATE TABLE public.%[1]s (n int);
		CREATE FUNCTION public.%[1]s_check() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_sleep(0.2); RAISE EXCEPTION 'refused'; END $$;
		CREATE TRIGGER %[1]s BEFORE INSERT ON public.%[1]s FOR EACH ROW EXECUTE FUNCTION public.%[1]s_check()`,
		table), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	var commits sync.WaitGroup
	for n := range 3 {
		o := checkpointtest.NewOwner(t, a, fmt.Sprint("g", n))
		o.Next.Rows = []checkpoint.SinkRows{{Table: checkpoint.Table{Name: "public." + table, Columns: []string{"n"}},
			Rows: [][]boundary.Value{{boundary.Int(2)}}}}
		commits.Go(func() {
			c := o.Next
			c.Seq++
			if err := a.Commit(t.Context(), &c); err == nil {
				t.Error("the commit has succeeded")
			}
		})
	}
	done := make(chan struct{})
	go func() { commits.Wait(); close(done) }()
	most := int32(0) // of the connections that graphs are taken by
	until(t, "the commits are refused", patience, func() bool {
		most = max(most, a.control.Stat().AcquiredConns())
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	if most > 0 {
		t.Errorf("%d of %d connections that graphs are taken by were in use", most, controlConns)
	}
}
