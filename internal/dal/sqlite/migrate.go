package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// applicationID stands in the header of every store, so that the SQLite file of
// another program is told apart. It is "grph" in ASCII.
const applicationID = 0x67727068

const createMigrationTable = `CREATE TABLE IF NOT EXISTS schema_migration (
	version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT`

// migrate applies what is missing, each file in its own transaction together with
// the note of it. A process that dies on the way leaves whole files applied, and the
// next start goes on after them.
func migrate(ctx context.Context, c *sqlconn.Conn, files fs.FS) error {
	known, err := rules.ReadMigrations(files, "sqlite")
	if err != nil {
		return err
	}
	missing, err := missing(c, known)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := c.Script(createMigrationTable); err != nil {
			return fmt.Errorf("migrate: %w", explain(err))
		}
	}
	for _, m := range missing {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if err := apply(c, m); err != nil {
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.Name, explain(err))
		}
	}
	return nil
}

func apply(c *sqlconn.Conn, m rules.Migration) error {
	if _, err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.Script(m.Text)
	if err == nil {
		_, err = c.Exec("INSERT INTO schema_migration (version, name, applied_at) VALUES (?, ?, ?)",
			m.Version, m.Name, time.Now().UTC().Format(time.RFC3339))
	}
	if err == nil {
		_, err = c.Exec("COMMIT")
	}
	if err != nil {
		_, _ = c.Exec("ROLLBACK") // an error says that SQLite has done so already
	}
	return err
}

// missing are the migrations that the file lacks, all of them in a new one.
func missing(c *sqlconn.Conn, known []rules.Migration) ([]rules.Migration, error) {
	tables, err := c.First("SELECT count(*) FILTER (WHERE name = 'schema_migration'), count(*) FILTER (WHERE name = " +
		"'store_format') FROM sqlite_schema WHERE type = 'table'")
	if err != nil {
		return nil, fmt.Errorf("look at the schema: %w", explain(err))
	}
	have, format, readableFrom := int64(0), int64(1), int64(1)
	if tables.Int(0) > 0 {
		if have, err = schemaVersion(c); err != nil {
			return nil, fmt.Errorf("look at the schema: %w", explain(err))
		}
	}
	said := tables.Int(1) > 0
	if said {
		r, err := c.First("SELECT format, readable_from FROM store_format")
		if err != nil {
			return nil, fmt.Errorf("look at the store's format: %w", explain(err))
		}
		if r == nil {
			return nil, fmt.Errorf("%w: it does not say its format; restore the file from a backup",
				checkpoint.ErrCorrupt)
		}
		format, readableFrom = r.Int(0), r.Int(1)
	}
	if err := rules.CheckFormat(format, readableFrom); err != nil {
		return nil, err
	}
	return rules.Missing(have, known, said)
}

// schemaVersion is the last migration applied, 0 in a new file.
func schemaVersion(c *sqlconn.Conn) (int64, error) {
	r, err := c.First("SELECT coalesce(max(version), 0) FROM schema_migration")
	if err != nil {
		return 0, err
	}
	return r.Int(0), nil
}
