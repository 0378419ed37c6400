package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/audit/audittest"
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
