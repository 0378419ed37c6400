package postgres

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

// role makes a role that may log in, and answers with an address at which it does; grants are what it is given.
func role(t testing.TB, dsn, name string, grants ...string) string {
	t.Helper()
	query(t, dsn, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { query(t, dsn, "DROP OWNED BY "+name); query(t, dsn, "DROP ROLE "+name) })
	for _, grant := range grants {
		query(t, dsn, grant+" TO "+name)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(name)
	return u.String()
}

// database is the name of a test's database, which no other test has: roles are of all databases.
func database(t testing.TB, dsn string) string {
	t.Helper()
	return query(t, dsn, "SELECT current_database()")[0]
}

// TestReadersSeeTheirTenantAlone: a role that may read all tables reads the rows of its tenant, whatever it asks for
// and sets, and one that no tenant was given to reads nothing: a query that forgets the tenant has no other's rows
// (A11).
func TestReadersSeeTheirTenantAlone(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	s := open(t, dsn, schema)
	defer s.Close()
	for _, tenant := range []string{"acme", "beta"} {
		id := checkpoint.ID{Tenant: tenant, Graph: "g"}
		if _, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: tenant, Graph: "g", Text: tenant},
			-1); err != nil {
			t.Fatal(err)
		}
		head, err := s.Acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		c := &checkpoint.Commit{ID: id, Fence: head.Fence, Seq: head.Seq + 1, Epoch: 1, KeepFirings: 9,
			Cells: []checkpoint.Cell{{Kind: "cache", Name: "a", Data: []byte(tenant)}},
			Meta:  []byte(`{"books":{"` + tenant + `":{"consumed":3}},"emitted":{"` + tenant + `":2},"paused":true}`),
			Firings: []checkpoint.Firing{{Incarnation: 1, Epoch: 1,
				Data: []byte(`{"at":"2026-11-23T16:07:32.647604Z","ok":true,"inputs":{"a":"\u0000` + tenant + `"}}`)}},
			DeadLetters: []checkpoint.DeadLetter{{ID: tenant, Accumulator: "a", Payload: []byte(tenant)}}}
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := s.AddRecoveryEvent(t.Context(), id, checkpoint.RecoveryEvent{Graph: "g", Kind: tenant}); err != nil {
			t.Fatal(err)
		}
	}
	use, read := "GRANT USAGE ON SCHEMA "+schema, "GRANT SELECT ON ALL TABLES IN SCHEMA "+schema
	name := database(t, dsn)
	acme, nobody := role(t, dsn, name+"_acme", use, read), role(t, dsn, name+"_nobody", use, read)
	query(t, dsn, fmt.Sprintf("INSERT INTO %s.tenant_reader VALUES ('%s_acme', 'acme')", schema, name))
	renew(t, s, time.Minute)
	tables := query(t, dsn, "SELECT relname FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace = '"+schema+
		"'::regnamespace")
	if len(tables) < 25 {
		t.Fatalf("only the tables %v", tables)
	}
	filled := 0
	for _, table := range tables {
		rows := func(as string) []string { return query(t, as, "SELECT t::text FROM "+schema+"."+table+" t") }
		if got := rows(nobody); len(got) != 0 {
			t.Errorf("who is given no tenant reads of %s: %v", table, got)
		}
		all, got := rows(dsn), rows(acme)
		if table == "schema_migration" || table == "store_format" { // of what release it is may be known
			if len(got) != len(all) {
				t.Errorf("acme reads of %s %d of %d", table, len(got), len(all))
			}
			continue
		}
		if strings.Contains(strings.Join(got, " "), "beta") || len(got) > 0 && len(got) != len(all)/2 {
			t.Errorf("acme reads of %s %d of %d: %v", table, len(got), len(all), got)
		}
		filled += len(got)
	}
	if filled < 13 {
		t.Errorf("acme reads only %d rows of its own", filled)
	}
	spoofed(t, acme, schema, name)
}

// spoofed tries what a reader may do in its session to be taken for another.
func spoofed(t *testing.T, as, schema, name string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), as)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	for _, sql := range []string{
		"CREATE TEMP TABLE tenant_reader (reader text, tenant text)",
		"INSERT INTO pg_temp.tenant_reader VALUES ('" + name + "_acme', 'beta')",
		"SET search_path = pg_temp, " + schema,
		"SET row_security = on",
	} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var n int
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM "+schema+".declaration WHERE tenant = 'beta'").
		Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows of another tenant (%v)", n, err)
	}
	if _, err := c.Exec(t.Context(), "SET row_security = off"); err != nil {
		t.Fatal(err)
	}
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM "+schema+".declaration").Scan(&n); err == nil {
		t.Errorf("without row security it reads %d rows", n)
	}
}

// TestDaemonThatOwnsNoTable: a daemon whose role was granted all that it needs, by whoever has made the tables, is held
// up by no policy.
func TestDaemonThatOwnsNoTable(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	open(t, dsn, schema).Close()
	as := role(t, dsn, database(t, dsn)+"_granted", "GRANT USAGE ON SCHEMA "+schema,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+schema)
	s := open(t, as, schema)
	defer s.Close()
	o := checkpointtest.NewOwner(t, s, "g")
	o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(3, 100), checkpointtest.FiringsOf(2, 100)
	for range 3 {
		o.Commit(t)
	}
	page, _, err := s.Firings(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"}, checkpoint.Query{})
	if err != nil || len(page) == 0 {
		t.Errorf("%d firings: %v", len(page), err)
	}
}
