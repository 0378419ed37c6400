package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphd/graphd/internal/dal/rules"
)

// migrateWait bounds how long a start waits for another daemon that migrates.
const migrateWait = time.Minute

// migrate brings the schema up to date under an advisory lock, so that of daemons
// that start together one does it. Each file is one transaction together with the note of
// it: a process that dies on the way leaves whole files applied, its lock goes with its
// connection, and the next start goes on after them.
func migrate(ctx context.Context, pool *pgxpool.Pool, schema string, files fs.FS) error {
	known, err := rules.ReadMigrations(files, "postgres")
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
	if have, err := schemaVersion(ctx, conn); err == nil && have == int64(len(known)) {
		return nil // the common case takes no lock, and needs no right to create
	}
	if _, err := conn.Exec(ctx, "SET statement_timeout = 0"); err != nil {
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
	_, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize())
	if err == nil {
		_, err = conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS schema_migration (
			version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	have, err := schemaVersion(ctx, conn)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := rules.CheckVersion(have, known); err != nil {
		return err
	}
	for _, m := range known[have:] {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, m.Text, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO schema_migration (version, name) VALUES ($1, $2)", m.Version, m.Name)
			return err
		})
		if err != nil {
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.Name, err)
		}
	}
	return nil
}

// schemaVersion is the last migration applied, 0 in a new schema.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (have int64, err error) {
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('schema_migration') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM schema_migration").Scan(&have)
	return have, err
}
