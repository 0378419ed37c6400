package postgres

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/testbed"
)

// TestSchemaMadeBeforehand: a role that may make no schema is told what it lacks, and has a whole store in one that an
// administrator has made for it, now and when a newer release adds to it.
func TestSchemaMadeBeforehand(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	name := database(t, dsn) + "_owner"
	as := role(t, dsn, name)
	may := query(t, as, "SELECT has_database_privilege(current_user, current_database(), 'CREATE')")
	if may[0] != "false" {
		t.Fatalf("the role may make schemas: %v", may)
	}
	_, err := Open(t.Context(), as, Options{})
	if err == nil || !strings.Contains(err.Error(), "CREATE SCHEMA graphd AUTHORIZATION") {
		t.Errorf("without a schema: %v", err)
	}
	query(t, dsn, "CREATE SCHEMA graphd AUTHORIZATION "+name)
	for _, graph := range []string{"first", "second"} { // the second opens what the first has made
		s := open(t, as, "graphd")
		o := checkpointtest.NewOwner(t, s, "g")
		o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(3, 100), checkpointtest.FiringsOf(2, 100)
		o.Commit(t)
		d := checkpoint.Declaration{Tenant: "default", Graph: graph}
		if _, err := s.PutDeclaration(t.Context(), d, -1); err != nil {
			t.Error(err)
		}
		s.Close()
	}
	s, err := Look(t.Context(), as)
	if err != nil || len(s.Missing) != 0 {
		t.Errorf("what it lacks: %+v, %v", s, err)
	}
	if made := query(t, dsn, "SELECT count(*) FROM pg_class WHERE relnamespace = 'graphd'::regnamespace AND "+
		"relowner <> '"+name+"'::regrole"); made[0] != "0" {
		t.Errorf("%v of its tables are not its own", made)
	}
}

// run runs a script beside the store.
func run(t testing.TB, dsn, script string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	if _, err := c.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

// TestTablesMadeBeforehand: an administrator who runs what graphd migrate --dry-run shows, and gives a role that owns
// nothing what the documentation says, has made it a whole store.
func TestTablesMadeBeforehand(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	shown, err := Look(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	run(t, dsn, shown.Script)
	as := role(t, dsn, database(t, dsn)+"_granted", "GRANT USAGE ON SCHEMA graphd",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA graphd")
	s := open(t, as, "graphd")
	defer s.Close()
	o := checkpointtest.NewOwner(t, s, "g")
	o.Next.Cells = checkpointtest.CellsOf(3, 100)
	o.Commit(t)
	// What a newer release adds is the administrator's to run again.
	query(t, dsn, fmt.Sprintf("DELETE FROM graphd.schema_migration WHERE version = %d", len(shown.Missing)))
	if _, err := Open(t.Context(), as, Options{}); err == nil || !strings.Contains(err.Error(), "migrate --dry-run") {
		t.Errorf("tables that are not its own, and a migration: %v", err)
	}
}

// TestBackupCommand: what a backup over the API names instead copies the database, and shows no password.
func TestBackupCommand(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	s := open(t, dsn, "graphd")
	defer s.Close()
	checkpointtest.NewOwner(t, s, "g").Commit(t)
	command := s.BackupCommand()
	if !strings.HasPrefix(command, "PGSSLMODE=disable pg_dump -Fc -h ") ||
		!strings.HasSuffix(command, " -f graphd.dump") {
		t.Fatalf("got %s", command)
	}
	if _, err := exec.LookPath("pg_dump"); err != nil {
		testbed.Lacking(t, "pg_dump is not on the path")
	}
	shell := exec.Command("sh", "-c", command)
	shell.Dir = t.TempDir()
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	out, err := exec.Command("pg_restore", "-l", filepath.Join(shell.Dir, "graphd.dump")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "TABLE DATA graphd graph_head") {
		t.Errorf("the copy lists %s, %v", out, err)
	}
}
