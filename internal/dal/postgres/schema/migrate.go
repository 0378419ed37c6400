// Package schema brings the tables of the Postgres store up to this release, and says how they stand to it.
package schema

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"time"

	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// migrateWait bounds how long a start waits for another daemon that migrates.
const migrateWait = time.Minute

// folder is where the migrations are.
const folder = "postgres"

// Migrate brings the schema up to date under an advisory lock, so that of daemons
// that start together one does it. Each file is one transaction together with the note of
// it: a process that dies on the way leaves whole files applied, its lock goes with its
// connection, and the next start goes on after them.
func Migrate(ctx context.Context, pool *pgxpool.Pool, schema string, files fs.FS) error {
	known, err := rules.ReadMigrations(files, folder)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, migrateWait)
	defer cancel()
	c, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// The connection is closed, not handed back: it holds the lock and other settings.
	conn := c.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	// The common case takes no lock, and needs no right to create. A store that this release
	// cannot read is left as it is.
	if missing, err := missing(ctx, conn, schema, known); err != nil || len(missing) == 0 {
		return err
	}
	if _, err := conn.Exec(ctx, "SET statement_timeout = 0; SET lock_timeout = 0",
		pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	key := fnv.New64a()
	key.Write([]byte("graphd migration of " + schema))
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(key.Sum64())); err != nil {
		return fmt.Errorf("migrate: wait for another daemon that migrates: %w", err)
	}
	return applyMissing(ctx, conn, schema, known)
}

func applyMissing(ctx context.Context, conn *pgx.Conn, schema string, known []rules.Migration) error {
	there, err := isThere(ctx, conn, schema)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if _, err := conn.Exec(ctx, ground(schema, there), pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	missing, err := missing(ctx, conn, schema, known)
	if err != nil {
		return err
	}
	for _, m := range missing {
		if _, err := conn.Exec(ctx, script(m), pgx.QueryExecModeSimpleProtocol); err != nil {
			_, _ = conn.Exec(ctx, "ROLLBACK") // where the connection is gone, the server has done so
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.Name, err)
		}
	}
	return nil
}

// isThere says whether the schema is there.
func isThere(ctx context.Context, conn *pgx.Conn, schema string) (there bool, err error) {
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there)
	return there, err
}

// ground is the SQL that comes before all migrations. CREATE SCHEMA IF NOT EXISTS asks for the right to create
// schemas although one is there, made beforehand for an owner who may not.
func ground(schema string, there bool) string {
	name, text := pgx.Identifier{schema}.Sanitize(), ""
	if !there {
		text = "CREATE SCHEMA " + name + ";\n"
	}
	// What the server found on the path before there was the schema it may go on with.
	return text + "SET search_path = " + name + ", pg_catalog;\nCREATE TABLE IF NOT EXISTS " + name +
		".schema_migration (\n    version bigint PRIMARY KEY, name text NOT NULL, " +
		"applied_at timestamptz NOT NULL DEFAULT now());\n"
}

// script is a migration with the note of it. Names are those of files in this program.
func script(m rules.Migration) string {
	return fmt.Sprintf("BEGIN;\n%s\nINSERT INTO schema_migration (version, name) VALUES (%d, '%s');\nCOMMIT;\n",
		m.Statements(), m.Version, m.Name)
}

// missing are the migrations that the schema lacks, all of them in a new one.
func missing(ctx context.Context, conn *pgx.Conn, schema string, known []rules.Migration) ([]rules.Migration, error) {
	s, err := look(ctx, conn, schema, known)
	if err != nil {
		return nil, err
	}
	return s.Missing, s.Refused
}

// Look says how the schema stands to this release, and changes nothing.
func Look(ctx context.Context, c *pgx.ConnConfig, schema string, files fs.FS) (rules.Standing, error) {
	known, err := rules.ReadMigrations(files, folder)
	if err != nil {
		return rules.Standing{}, err
	}
	c = c.Copy()
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	c.RuntimeParams["default_transaction_read_only"] = "on"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return rules.Standing{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	s, err := look(ctx, conn, schema, known)
	if err != nil || len(s.Missing) == 0 {
		return s, err
	}
	there, err := isThere(ctx, conn, schema)
	if err != nil {
		return s, fmt.Errorf("look at the schema: %w", err)
	}
	s.Script = ground(schema, there)
	for _, m := range s.Missing {
		s.Script += "\n-- " + m.Name + "\n" + script(m)
	}
	return s, nil
}

// look reads what the schema says of itself.
func look(ctx context.Context, conn *pgx.Conn, schema string, known []rules.Migration) (rules.Standing, error) {
	s := rules.Standing{Store: "postgres"}
	name := pgx.Identifier{schema}.Sanitize()
	var noted, said bool
	err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL",
		name+".schema_migration", name+".store_format").Scan(&noted, &said)
	if err == nil && noted {
		rows, queryErr := conn.Query(ctx, "SELECT version, name, applied_at FROM "+name+
			".schema_migration ORDER BY version")
		if err = queryErr; err == nil {
			s.Applied, err = pgx.CollectRows(rows, pgx.RowToStructByPos[rules.Applied])
		}
	}
	if err == nil && said {
		err = conn.QueryRow(ctx, "SELECT format, readable_from FROM "+name+".store_format").Scan(&s.Format,
			&s.ReadableFrom)
	}
	if errors.Is(err, pgx.ErrNoRows) { // row-level security hides it
		err = errors.New("this user may not read of what release the store is: look as the daemon's user")
	}
	if err != nil {
		return s, fmt.Errorf("look at the schema: %w", err)
	}
	s.Settle(known, said)
	return s, nil
}
