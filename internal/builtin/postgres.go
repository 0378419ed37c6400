package builtin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	dalpostgres "github.com/graphd/graphd/internal/dal/postgres"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/postgres"
	"github.com/graphd/graphd/internal/spec"
)

// Tables looks at the tables of the store's own database. The Postgres store implements it.
type Tables interface {
	// Columns checks that rows of t can go to its table, and answers which columns they have.
	Columns(ctx context.Context, t checkpoint.Table) ([]string, error)
}

// tableTimeout bounds a look at a table.
const tableTimeout = 10 * time.Second

var errNoTables = errors.New("this daemon's store has no tables; name the database with dsn, or keep the graphs in Postgres with --store")

func tableConfig(o *spec.Output) postgres.Config {
	p := &o.Sink.Postgres
	return postgres.Config{Output: o.Name, Table: p.Table, Columns: p.Columns, Conflict: p.Conflict}
}

// postgresSink makes rows for the store's commits where the table is in its database, and
// else a sink of its own.
func (k *Kinds) postgresSink(o *spec.Output) (sink.Sink, error) {
	c := tableConfig(o)
	ctx, cancel := context.WithTimeout(context.Background(), tableTimeout)
	defer cancel()
	if dsn := o.Sink.Postgres.DSN; dsn != "" {
		return postgres.Open(ctx, c, dsn)
	}
	if k.Store == nil {
		return nil, errNoTables
	}
	columns, err := k.Store.Columns(ctx, c.Target())
	if err != nil {
		return nil, err
	}
	return postgres.NewRows(c, columns), nil
}

// CodeBadTable is a table that the rows of an output can not go to.
const CodeBadTable = "bad_table"

// Check looks at what a declaration names outside of the daemon, and says what does not fit:
// the tables of its outputs.
func (k *Kinds) Check(ctx context.Context, u *compile.Unit) (diags spec.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for i := range u.Spec.Outputs {
		o := &u.Spec.Outputs[i]
		if o.Sink.Kind != "postgres" {
			continue
		}
		if err := k.checkTable(ctx, o); err != nil {
			text := "the table cannot be looked at: " + err.Error()
			if fit, ok := errors.AsType[*dalpostgres.TableError](err); ok {
				text = fit.Error()
			}
			diags = append(diags, spec.Diagnostic{File: u.Spec.File, Line: o.Sink.Pos.Line, Column: o.Sink.Pos.Column, Path: o.Sink.Pos.Path,
				Code: CodeBadTable, Text: fmt.Sprintf("the output %s: %s", o.Name, text)})
		}
	}
	return diags
}

func (k *Kinds) checkTable(ctx context.Context, o *spec.Output) error {
	c := tableConfig(o)
	if dsn := o.Sink.Postgres.DSN; dsn != "" {
		s, err := postgres.Open(ctx, c, dsn)
		if err != nil {
			return err
		}
		return errors.Join(s.Check(ctx), s.Close(ctx))
	}
	if k.Store == nil {
		return errNoTables
	}
	_, err := k.Store.Columns(ctx, c.Target())
	return err
}
