package postgres

import (
	"context"
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
	// The common case takes no lock, and needs no right to create. A store that this release
	// cannot read is left as it is.
	if missing, err := missing(ctx, conn, known); err != nil || len(missing) == 0 {
		return err
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
	// IF NOT EXISTS asks for the right to create schemas although one is there, made beforehand
	// for an owner who may not.
	var there bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there)
	name := pgx.Identifier{schema}.Sanitize()
	if err == nil && !there {
		_, err = conn.Exec(ctx, "CREATE SCHEMA "+name)
	}
	if err == nil {
		// What the server found on the path before there was the schema it may go on with.
		_, err = conn.Exec(ctx, "SET search_path = "+name+", pg_catalog")
	}
	if err == nil {
		_, err = conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+name+`.schema_migration (
			version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	missing, err := missing(ctx, conn, known)
	if err != nil {
		return err
	}
	for _, m := range missing {
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

// missing are the migrations that the schema lacks, all of them in a new one.
func missing(ctx context.Context, conn *pgx.Conn, known []rules.Migration) ([]rules.Migration, error) {
	var versions, formats bool
	have, format, readableFrom := int64(0), int64(1), int64(1)
	err := conn.QueryRow(ctx,
		"SELECT to_regclass('schema_migration') IS NOT NULL, to_regclass('store_format') IS NOT NULL").Scan(&versions,
		&formats)
	if err == nil && versions {
		err = conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM schema_migration").Scan(&have)
	}
	if err == nil && formats {
		err = conn.QueryRow(ctx, "SELECT format, readable_from FROM store_format").Scan(&format, &readableFrom)
	}
	if err != nil {
		return nil, fmt.Errorf("look at the schema: %w", err)
	}
	if err := rules.CheckFormat(format, readableFrom); err != nil {
		return nil, err
	}
	return rules.Missing(have, known, formats)
}
