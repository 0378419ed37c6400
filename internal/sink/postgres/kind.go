package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/tables"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Tables looks at the tables of the store's own database. The Postgres store implements it.
type Tables interface {
	// Columns checks that rows of t can go to its table, and answers which columns they have.
	Columns(ctx context.Context, t checkpoint.Table) ([]string, error)
}

// Kind describes the sink; store looks at tables of the store's own database, and is nil where
// the store has none. guard dials other databases, of which named are those of the daemon's configuration.
func Kind(store Tables, guard *outbound.Guard, named outbound.Named) kind.Sink[sink.Sink] {
	to := outside{store, guard, named}
	look := func(ctx context.Context, c Declared, out kind.Output) spec.Diagnostics {
		return c.look(ctx, to, out)
	}
	open := func(c Declared, out kind.Output) (sink.Sink, error) { return c.open(to, out) }
	declared := decode.NewKind("postgres", schema(), defaults, readDeclared)
	return kind.NewSink(declared, kind.Unchecked, look, open)
}

// Declared is the sink as a declaration describes it: each value is a row of a table.
type Declared struct {
	Table   string   // "name", which is in schema public, or "schema.name"
	Columns []string // nil: those of the table
	Mode    string   // "insert" (default) or "upsert"
	// Conflict are the columns by which an upsert finds the row that it replaces.
	Conflict []string
	// DSN is the database, "" for the store's own; it may hold a secret.
	DSN string
	// Connection is the name that the daemon's configuration has for the database.
	Connection string
}

// Named implements [kind.Connected].
func (c Declared) Named() (name, scheme string) {
	if c.DSN == "" && c.Connection == "" {
		return outbound.StoreConnection, outbound.OfDatabase
	}
	return c.Connection, outbound.OfDatabase
}

// Hosts implements [kind.Calling].
func (c Declared) Hosts() []string { return outbound.HostsOf(c.DSN) }

// Canonical implements [spec.SinkConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("table", c.Table)
	t.Text("mode", c.Mode)
	t.Texts("columns", c.Columns)
	t.Texts("conflict", c.Conflict)
	if c.Connection != "" {
		t.Text("connection", c.Connection)
	}
	if c.DSN != "" {
		t.Secret("dsn", c.DSN) // a password may be in it
	}
}

// Target implements [spec.SinkConfig].
func (c Declared) Target() trait.Target { return trait.Called(trait.OwnOutbox, "") }

// outside is what a sink needs of the daemon.
type outside struct {
	store Tables
	guard *outbound.Guard
	named outbound.Named
}

// database is the address of the sink's database, "" of the store's own, and the guard that dials it.
func (o *outside) database(c *Declared, out *kind.Output) (dsn string, guard *outbound.Guard, err error) {
	if c.Connection == "" {
		return c.DSN, o.guard.For(out.FromNetwork()), nil
	}
	if dsn, err = o.named.Find(c.Connection); dsn == outbound.StoreConnection {
		dsn = ""
	}
	return dsn, o.guard.As(c.Connection), err
}

// CodeBadTable is a table that the rows of an output can not go to.
const CodeBadTable = "bad_table"

// tableTimeout bounds a look at a table.
const tableTimeout = 10 * time.Second

var errNoTables = errors.New("this daemon's store has no tables; " +
	"name the database with dsn, or keep the graphs in Postgres with --store")

func (c Declared) config(out kind.Output) Config {
	return Config{Output: out.Name, Table: c.Table, Columns: c.Columns, Conflict: c.Conflict}
}

// open makes rows for the store's commits where the table is in its database, and else a sink
// of its own.
func (c Declared) open(to outside, out kind.Output) (sink.Sink, error) {
	cfg := c.config(out)
	ctx, cancel := context.WithTimeout(context.Background(), tableTimeout)
	defer cancel()
	dsn, guard, err := to.database(&c, &out)
	if err != nil {
		return nil, err
	}
	if dsn != "" {
		return Open(ctx, cfg, dsn, guard)
	}
	if to.store == nil {
		return nil, errNoTables
	}
	columns, err := to.store.Columns(ctx, cfg.Target())
	if err != nil {
		return nil, err
	}
	return NewRows(cfg, columns), nil
}

// look says what does not fit in the table.
func (c Declared) look(ctx context.Context, to outside, out kind.Output) spec.Diagnostics {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	err := c.check(ctx, to, out)
	if err == nil {
		return nil
	}
	text := "the table cannot be looked at: " + err.Error()
	if fit, ok := errors.AsType[*tables.Error](err); ok {
		text = fit.Error()
	}
	return out.Mistake(CodeBadTable, fmt.Sprintf("the output %s: %s", out.Name, text))
}

func (c Declared) check(ctx context.Context, to outside, out kind.Output) error {
	cfg := c.config(out)
	dsn, guard, err := to.database(&c, &out)
	if err != nil {
		return err
	}
	if dsn != "" {
		s, err := Open(ctx, cfg, dsn, guard)
		if err != nil {
			return err
		}
		return errors.Join(s.Check(ctx), s.Close(ctx))
	}
	if to.store == nil {
		return errNoTables
	}
	_, err = to.store.Columns(ctx, cfg.Target())
	return err
}

// maxColumns is what a table can have.
const maxColumns = 1600

var (
	modes  = decode.Words("insert", "upsert")
	fields = []decode.Field[Declared]{
		{Name: "table", Alone: true, Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Table = readTable(d, v)
		}},
		{Name: "columns", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Columns = columns(d, v) }},
		{Name: "mode", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, modes, &c.Mode) }},
		{Name: "conflict", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Conflict = columns(d, v) }},
		{Name: "dsn", Also: []string{"url", "database"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.DSN = readDSN(d, v)
			}},
		{Name: "connection", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Connection = d.NameOf(v, "connection")
		}},
	}

	tableForm  = regexp.MustCompile(`^[^."\x00]{1,63}(\.[^."\x00]{1,63})?$`)
	columnForm = regexp.MustCompile(`^[^"\x00]{1,63}$`)

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	own := decode.MappingOf("sink_postgres", fields, decode.Choices{"mode": modes})
	return decode.NewSchema("A table of a Postgres database.", decode.Define(definitions, own))
}

func defaults() Declared { return Declared{Mode: modes.Default()} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "sink postgres", fields, c)
	if !ok {
		return
	}
	if v, both := got["dsn"]; both && c.Connection != "" {
		d.Report(v.Name(), decode.CodeConflict, "", "dsn and connection both name the database; remove one of them")
	}
	conflict, given := got["conflict"]
	switch {
	case c.Mode == "upsert" && !given:
		d.Report(v.Whole(), decode.CodeMissingField, "",
			"an upsert needs the columns that say which row to replace; add conflict: [the columns of a unique index]")
	case c.Mode == "insert" && given:
		d.Report(conflict.Name(), decode.CodeNoEffect, "",
			"rows are inserted, whatever is there; add mode: upsert, or remove conflict")
	}
	for _, name := range c.Conflict {
		if c.Columns != nil && !slices.Contains(c.Columns, name) {
			d.Report(conflict.Name(), decode.CodeConflict, "",
				"the column %s is not among columns; add it there", decode.Quote(name))
		}
	}
}

func readDSN(d *decode.Decoder, v decode.Value) string {
	s, ok := d.Text(v.Secret(), "the address of a database, as postgres://USER@HOST/DATABASE")
	if !ok || !d.SecretFits(v) {
		return ""
	}
	if _, err := outbound.ParseDatabase(s); err != nil {
		d.Report(v.Here(), decode.CodeBadValue, "", "%s", err.Error())
		return ""
	}
	return s
}

// readTable reads the name of a table that is nobody's but the user's.
func readTable(d *decode.Decoder, v decode.Value) string {
	name := identifier(d, v, tableForm, "a table, as name or schema.name")
	schema, _, named := strings.Cut(name, ".")
	if named && (schema == "graphd" || schema == "information_schema" || strings.HasPrefix(schema, "pg_")) {
		d.Report(v.Here(), decode.CodeDenied, "",
			"%s is where graphd keeps its graphs, or the database's own; name a table of yours", v.Shown())
		return ""
	}
	return name
}

// identifier reads a name of the database's.
func identifier(d *decode.Decoder, v decode.Value, form *regexp.Regexp, want string) string {
	s, ok := d.Text(v, want)
	if ok && !form.MatchString(s) {
		d.Report(v.Here(), decode.CodeBadName, "", "%s is not the name of %s", v.Shown(), want)
		return ""
	}
	return s
}

// columns reads a list of the names of columns.
func columns(d *decode.Decoder, v decode.Value) []string {
	if !d.List(v, "a list of the names of columns") {
		return nil
	}
	items := v.Items()
	if len(items) == 0 {
		d.Report(v.Whole(), decode.CodeEmptyValue, "", "expected the names of columns, found none")
	}
	if len(items) > maxColumns {
		d.Report(v.Whole(), decode.CodeTooMany, "",
			"a table may have %d columns, this list has %d; remove some", maxColumns, len(items))
		return nil
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		name := identifier(d, item, columnForm, "a column")
		if slices.Contains(list, name) && name != "" {
			d.Report(item.Here(), decode.CodeDuplicateEntry, "",
				"the column %s is named twice; remove one", decode.Quote(name))
		}
		list = append(list, name)
	}
	return list
}
