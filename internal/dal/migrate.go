package dal

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/dal/sqlconn"
)

// applicationID stands in the header of every store, so that the SQLite file of
// another program is told apart. It is "grph" in ASCII.
const applicationID = 0x67727068

const createMigrationTable = `CREATE TABLE IF NOT EXISTS schema_migration (
	version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT`

// migration is one numbered SQL file.
type migration struct {
	version int64
	name    string
	text    string
}

// readMigrations returns the files of one store's folder, whose numbers must be dense from 1.
func readMigrations(files fs.FS, folder string) ([]migration, error) {
	entries, err := fs.ReadDir(files, folder) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []migration
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(len(all)+1) {
			return nil, fmt.Errorf("migration %q is not number %04d", e.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, folder+"/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		all = append(all, migration{version, e.Name(), string(text)})
	}
	return all, nil
}

// migrate applies what is missing, each file in its own transaction together with
// the note of it. A process that dies on the way leaves whole files applied, and the
// next start goes on after them.
func migrate(ctx context.Context, c *sqlconn.Conn, files fs.FS) error {
	known, err := readMigrations(files, "sqlite")
	if err != nil {
		return err
	}
	if err := c.Script(createMigrationTable); err != nil {
		return fmt.Errorf("migrate: %w", explain(err))
	}
	have, err := schemaVersion(c)
	if err != nil {
		return fmt.Errorf("migrate: %w", explain(err))
	}
	if err := checkVersion(have, known); err != nil {
		return err
	}
	for _, m := range known[have:] {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if err := apply(c, m); err != nil {
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.name, explain(err))
		}
	}
	return nil
}

// checkVersion refuses a schema that only a newer release knows.
func checkVersion(have int64, known []migration) error {
	if want := int64(len(known)); have > want {
		return fmt.Errorf("schema %d is not known to this release, which goes up to %d: start the newer release again, or give this one another store: %w",
			have, want, ErrNewerSchema)
	}
	return nil
}

func apply(c *sqlconn.Conn, m migration) error {
	if _, err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.Script(m.text)
	if err == nil {
		_, err = c.Exec("INSERT INTO schema_migration (version, name, applied_at) VALUES (?, ?, ?)",
			m.version, m.name, time.Now().UTC().Format(time.RFC3339))
	}
	if err == nil {
		_, err = c.Exec("COMMIT")
	}
	if err != nil {
		_, _ = c.Exec("ROLLBACK") // an error says that SQLite has done so already
	}
	return err
}

// schemaVersion is the last migration applied, 0 in a new file.
func schemaVersion(c *sqlconn.Conn) (int64, error) {
	r, err := c.First("SELECT coalesce(max(version), 0) FROM schema_migration")
	if err != nil {
		return 0, err
	}
	return r.Int(0), nil
}
