package schema

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

// probes is how often the database is asked: the quickest answer says most of its clock.
const probes = 5

// mayCreate asks whether the role can make tables in the schema, which it may have to make first.
const mayCreate = `SELECT CASE WHEN to_regnamespace($1) IS NULL
	THEN has_database_privilege(current_database(), 'CREATE')
	ELSE has_schema_privilege(to_regnamespace($1), 'CREATE') END`

// Probe asks the database what time it is, and what the role may do in a schema.
func Probe(ctx context.Context, c *pgx.ConnConfig, schema string) (p rules.Probe, err error) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return p, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for n := range probes {
		var at time.Time
		sent := time.Now()
		err := conn.QueryRow(ctx, "SELECT clock_timestamp(), current_setting('server_version')").Scan(&at, &p.Server)
		if err != nil {
			return p, err
		}
		if took := time.Since(sent); n == 0 || took < p.Latency {
			p.Clock, p.Latency, p.Ahead = true, took, at.Sub(sent.Add(took/2))
		}
	}
	return p, conn.QueryRow(ctx, mayCreate, schema).Scan(&p.MayCreate)
}
