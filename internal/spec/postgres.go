package spec

import (
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// PostgresSink writes each value as a row of a table.
type PostgresSink struct {
	Table   string   // "name", which is in schema public, or "schema.name"
	Columns []string // nil: those of the table
	Mode    string   // "insert" (default) or "upsert"
	// Conflict are the columns by which an upsert finds the row that it replaces.
	Conflict []string
	// DSN is the database, "" for the store's own; it may hold a secret.
	DSN string
}

// maxColumns is what a table can have.
const maxColumns = 1600

var (
	tableModes         = choice{built: []string{"insert", "upsert"}}
	postgresSinkFields = []field[PostgresSink]{
		{name: "table", need: true, read: func(d *decoder, v value, p *PostgresSink) {
			p.Table = d.identifier(v, tableForm, "a table, as name or schema.name")
		}},
		{name: "columns", read: func(d *decoder, v value, p *PostgresSink) { p.Columns = d.columns(v) }},
		{name: "mode", read: func(d *decoder, v value, p *PostgresSink) { d.pick(v, tableModes, &p.Mode) }},
		{name: "conflict", read: func(d *decoder, v value, p *PostgresSink) { p.Conflict = d.columns(v) }},
		{name: "dsn", read: func(d *decoder, v value, p *PostgresSink) {
			p.DSN, _ = d.text(v, "the address of a database, as postgres://USER@HOST/DATABASE")
		}},
	}

	tableForm  = regexp.MustCompile(`^[^."\x00]{1,63}(\.[^."\x00]{1,63})?$`)
	columnForm = regexp.MustCompile(`^[^"\x00]{1,63}$`)
)

func readPostgresSink(d *decoder, v value, s *Sink) {
	p := &s.Postgres
	p.Mode = tableModes.built[0]
	got, ok := readObject(d, v, "sink postgres", postgresSinkFields, p)
	if !ok {
		return
	}
	conflict, given := got["conflict"]
	switch {
	case p.Mode == "upsert" && !given:
		d.report(v.anchor(), v.at, CodeMissingField, "", "an upsert needs the columns that say which row to replace; add conflict: [the columns of a unique index]")
	case p.Mode == "insert" && given:
		d.report(conflict.key, conflict.at, CodeNoEffect, "", "rows are inserted, whatever is there; add mode: upsert, or remove conflict")
	}
	for _, name := range p.Conflict {
		if p.Columns != nil && !slices.Contains(p.Columns, name) {
			d.report(conflict.key, conflict.at, CodeConflict, "", "the column %s is not among columns; add it there", document.Quote(name))
		}
	}
}

// identifier reads a name of the database's.
func (d *decoder) identifier(v value, form *regexp.Regexp, want string) string {
	s, ok := d.text(v, want)
	if ok && !form.MatchString(s) {
		d.report(v.node, v.at, CodeBadName, "", "%s is not the name of %s", document.Quote(v.node.Value), want)
		return ""
	}
	return s
}

// columns reads a list of the names of columns.
func (d *decoder) columns(v value) []string {
	if !d.kind(v, yaml.SequenceNode, "a list of the names of columns") {
		return nil
	}
	n := len(v.node.Content)
	if n == 0 {
		d.report(v.anchor(), v.at, CodeEmptyValue, "", "expected the names of columns, found none")
	}
	if n > maxColumns {
		d.report(v.anchor(), v.at, CodeTooMany, "", "a table may have %d columns, this list has %d; remove some", maxColumns, n)
		return nil
	}
	list := make([]string, 0, n)
	for i := range n {
		item := v.item(i)
		name := d.identifier(item, columnForm, "a column")
		if slices.Contains(list, name) && name != "" {
			d.report(item.node, item.at, CodeDuplicateEntry, "", "the column %s is named twice; remove one", document.Quote(name))
		}
		list = append(list, name)
	}
	return list
}
