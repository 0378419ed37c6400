// Package schema brings the tables of a SQLite store up to this release, and says how they stand to it.
package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// ApplicationID stands in the header of every store, so that the SQLite file of
// another program is told apart. It is "grph" in ASCII.
const ApplicationID = 0x67727068

// folder is where the migrations are.
const folder = "sqlite"

const createMigrationTable = `CREATE TABLE IF NOT EXISTS schema_migration (
	version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT`

// Migrate applies what is missing, each file in its own transaction together with
// the note of it. A process that dies on the way leaves whole files applied, and the
// next start goes on after them.
func Migrate(ctx context.Context, c *sqlconn.Conn, files fs.FS) error {
	known, err := rules.ReadMigrations(files, folder)
	if err != nil {
		return err
	}
	s, err := look(ctx, c, known)
	if err == nil {
		err = s.Refused
	}
	if err != nil {
		return err
	}
	if len(s.Missing) > 0 {
		if err := c.Script(createMigrationTable); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	for _, m := range s.Missing {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		if err := c.Script(script(m)); err != nil {
			_, _ = c.Exec("ROLLBACK") // an error says that SQLite has done so already
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.Name, err)
		}
	}
	return nil
}

// script is a migration with the note of it. Names are those of files in this program.
func script(m rules.Migration) string {
	return fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nINSERT INTO schema_migration (version, name, applied_at) "+
		"VALUES (%d, '%s', strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', 'now'));\nCOMMIT;\n", m.Statements(), m.Version, m.Name)
}

// Look says how the store in the file at path stands to this release, and changes nothing: neither is a file made
// where none is, nor the store taken from a daemon that has it.
func Look(ctx context.Context, path string, files fs.FS) (s rules.Standing, err error) {
	known, err := rules.ReadMigrations(files, folder)
	if err != nil {
		return s, err
	}
	switch info, statErr := os.Stat(path); {
	case errors.Is(statErr, fs.ErrNotExist):
		s.Store = "sqlite"
		s.Settle(known, false)
	case statErr != nil:
		return s, statErr
	case info.Size() == 0:
		return s, ErrEmpty
	default:
		c, err := sqlconn.OpenToRead(path)
		if err != nil {
			return s, err
		}
		err = CheckProgram(c)
		if err == nil {
			s, err = look(ctx, c, known)
		}
		if err := errors.Join(err, c.Close()); err != nil {
			return s, err
		}
	}
	if s.Format == 0 {
		s.Script = fmt.Sprintf("PRAGMA application_id = %d;\n", ApplicationID)
	}
	if len(s.Missing) > 0 {
		s.Script += createMigrationTable + ";\n"
	}
	for _, m := range s.Missing {
		s.Script += "\n-- " + m.Name + "\n" + script(m)
	}
	return s, nil
}

// ErrEmpty is a file without a byte in it.
var ErrEmpty = fmt.Errorf("%w: the file is empty, and a store never is; restore it from a backup, or remove it to "+
	"start empty", checkpoint.ErrCorrupt)

// CheckProgram refuses the file of another program.
func CheckProgram(c *sqlconn.Conn) error {
	r, err := c.First("SELECT application_id FROM pragma_application_id")
	if err == nil && r.Int(0) != ApplicationID {
		err = fmt.Errorf("%w: the file is an SQLite database of another program; name another file",
			checkpoint.ErrCorrupt)
	}
	return err
}

// look reads what the file says of itself.
func look(ctx context.Context, c *sqlconn.Conn, known []rules.Migration) (rules.Standing, error) {
	s := rules.Standing{Store: "sqlite"}
	tables, err := c.First("SELECT count(*) FILTER (WHERE name = 'schema_migration'), count(*) FILTER (WHERE name = " +
		"'store_format') FROM sqlite_schema WHERE type = 'table'")
	if err == nil && tables.Int(0) > 0 {
		err = c.Query(ctx, "SELECT version, name, applied_at FROM schema_migration ORDER BY version",
			func(r sqlconn.Row) error {
				at, _ := time.Parse(time.RFC3339, r.Text(2)) // what cannot be read is told as no time
				s.Applied = append(s.Applied, rules.Applied{Version: r.Int(0), Name: r.Text(1), At: at})
				return nil
			})
	}
	if err != nil {
		return s, fmt.Errorf("look at the schema: %w", err)
	}
	said := tables.Int(1) > 0
	if said {
		r, err := c.First("SELECT format, readable_from FROM store_format")
		if err != nil {
			return s, fmt.Errorf("look at the store's format: %w", err)
		}
		if r == nil {
			return s, fmt.Errorf("%w: it does not say its format; restore the file from a backup",
				checkpoint.ErrCorrupt)
		}
		s.Format, s.ReadableFrom = r.Int(0), r.Int(1)
	}
	s.Settle(known, said)
	return s, nil
}

// Version is the last migration applied, 0 in a new file.
func Version(c *sqlconn.Conn) (int64, error) {
	r, err := c.First("SELECT coalesce(max(version), 0) FROM schema_migration")
	if err != nil {
		return 0, err
	}
	return r.Int(0), nil
}
