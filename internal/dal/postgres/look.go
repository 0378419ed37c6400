package postgres

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/postgres/wires"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/migrations"
)

const (
	// defaultSchema is where the tables are.
	defaultSchema = "graphd"
	// lookTimeout bounds a look at the schema, from the first packet on.
	lookTimeout = 30 * time.Second
)

// BackupCommand copies the database to the file graphd.dump, whole: tables that sinks write with the state are in other
// schemas.
func (p *Store) BackupCommand() string {
	return wires.Dump(p.bulk.Config().ConnString(), p.bulk.Config().ConnConfig, "graphd.dump")
}

// Probe asks the database at dsn a few times what time it is. No error shows the password.
func Probe(ctx context.Context, dsn string) (rules.Probe, error) {
	cfg, err := wires.Parse(dsn)
	if err != nil {
		return rules.Probe{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	p, err := schema.Probe(ctx, cfg.ConnConfig, defaultSchema)
	return p, rules.Wrap(explain(err), "ask the Postgres store")
}

// Look says how the schema of the store at dsn stands to this release, and changes nothing. No error shows the
// password.
func Look(ctx context.Context, dsn string) (rules.Standing, error) {
	cfg, err := wires.Parse(dsn)
	if err != nil {
		return rules.Standing{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s, err := schema.Look(ctx, cfg.ConnConfig, defaultSchema, migrations.Postgres())
	return s, rules.Wrap(explain(err), "look at the Postgres store")
}
