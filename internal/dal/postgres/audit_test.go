package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/audit/audittest"
	"github.com/graphd/graphd/internal/checkpoint"
)

// TestAuditOfManyDaemons: daemons that share the database write one chain (A13).
func TestAuditOfManyDaemons(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	var logs []audit.Log
	for range 3 {
		p := open(t, dsn, schema)
		defer p.Close()
		logs = append(logs, p)
	}
	audittest.Concurrent(t, logs...)
}

// TestAuditIsTampered: what is done to the table shows.
func TestAuditIsTampered(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	p := open(t, dsn, schema)
	defer p.Close()
	table := schema + ".audit_entry"
	for i, change := range []string{
		"UPDATE " + table + " SET body = replace(body, 'pause', 'fire') WHERE tenant = '%[1]s' AND seq = 2",
		"UPDATE " + table + " SET graph = 'other' WHERE tenant = '%[1]s' AND seq = 2",
		"DELETE FROM " + table + " WHERE tenant = '%[1]s' AND seq = 2",
		"DELETE FROM " + table + " WHERE tenant = '%[1]s' AND seq = 4",
		"UPDATE " + table + " SET seq = 5 WHERE tenant = '%[1]s' AND seq = 4",
		"UPDATE " + table + " a SET body = b.body FROM " + table + " b WHERE a.tenant = '%[1]s' AND a.seq = 2" +
			" AND b.tenant = a.tenant AND b.seq = 3",
	} {
		tenant := fmt.Sprintf("t%d", i)
		for n := range 4 {
			_, err := p.AppendAudit(t.Context(), audit.Entry{Kind: audit.Intent, Tenant: tenant, Operation: "pause",
				At: time.Unix(int64(n), 0), Graph: fmt.Sprint("g", n)})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := followed(t, p, tenant); err != nil {
			t.Fatal(err)
		}
		query(t, dsn, fmt.Sprintf(change, tenant))
		if err := followed(t, p, tenant); !errors.Is(err, audit.ErrBroken) {
			t.Errorf("%s: got %v", change, err)
		}
	}
}

func followed(t *testing.T, log audit.Log, tenant string) error {
	t.Helper()
	chains, err := log.AuditChains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := log.AuditRows(t.Context(), audit.Query{Tenant: tenant})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chains {
		if c.Tenant != tenant {
			continue
		}
		v := audit.Verify(tenant, c.Removed)
		for i := range rows {
			if err := v.Next(&rows[i]); err != nil {
				return err
			}
		}
		return v.Reaches(c.Head)
	}
	return nil
}

// TestAuditLeavesConnections: whoever waits for a chain takes no connection that tokens are looked up with, and has
// none of them thrown away (A11, A13).
func TestAuditLeavesConnections(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	p, err := Open(t.Context(), dsn, Options{Schema: schema, Timeouts: Timeouts{Call: 3 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	e := audit.Entry{Kind: audit.Intent, Tenant: "loud", Operation: "pause", At: time.Unix(1, 0)}
	if _, err := p.AppendAudit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	holder, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.WithoutCancel(t.Context()))
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lock := "SELECT 1 FROM " + schema + ".audit_chain WHERE tenant = 'loud' FOR UPDATE"
	if _, err := tx.Exec(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Tokens(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	before := p.control.Stat().NewConnsCount()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := p.AppendAudit(t.Context(), e); err == nil {
				t.Error("an entry was appended past the lock")
			}
		})
	}
	until(t, "all connections of the audit wait for the chain", patience, func() bool {
		return p.trail.Stat().AcquiredConns() == trailConns
	})
	for range 10 {
		if _, err := p.Token(t.Context(), "aaaaaaaaaaaa"); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("a token was looked up with %v", err)
		}
	}
	wg.Wait()
	if _, err := p.Tokens(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if made := p.control.Stat().NewConnsCount() - before; made != 0 {
		t.Errorf("%d connections were made anew", made)
	}
	_ = tx.Rollback(t.Context())
	if _, err := p.AppendAudit(t.Context(), e); err != nil {
		t.Error(err)
	}
}
