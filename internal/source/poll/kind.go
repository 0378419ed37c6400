package poll

import (
	_ "embed"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source; guard dials, and an answer or a row has at most maxBytes bytes.
func Kind(guard *outbound.Guard, named outbound.Named, maxBytes int) kind.Source[accumulator.Source] {
	open := func(c Declared, in kind.Input) (accumulator.Source, error) {
		if c.SQL != "" {
			return newRows(&c, &in, guard, named, maxBytes)
		}
		guard := guard.For(in.FromNetwork())
		return New(Config{
			URL: c.HTTP, Every: c.Every, Timeout: c.Timeout, Headers: outbound.Headers(c.Headers),
			MaxBytes: maxBytes, Guard: guard,
		})
	}
	declared := decode.NewKind("poll", schema(), defaults, readDeclared)
	return kind.NewSource(declared, kind.Unchecked, open)
}

// Declared is the source as a declaration describes it: a URL or a statement, asked again and
// again.
type Declared struct {
	HTTP    string          // an http or https URL; may hold a secret
	Every   time.Duration   // from one request to the next
	Timeout time.Duration   // of one request, default 10s
	Headers []decode.Header // in the document's order

	SQL        string   // a statement that reads; "" where a URL is asked
	Connection string   // postgres://…, sqlite:PATH or a name of the daemon's; may hold a secret
	Key        []string // the columns that tell rows apart
	After      string   // the column that grows; "": the whole result is compared with the last
	Start      string   // the value of After to begin with, "": the least
	Lookback   string   // how far behind After's greatest value rows may still appear, "1000" or "5m0s"
	Deletes    bool     // rows that are gone are events too
	RowLimit   int      // most rows of one poll
}

// Named implements [kind.Connected].
func (c Declared) Named() (name, scheme string) {
	if c.SQL != "" && outbound.ValidName(c.Connection) {
		return c.Connection, outbound.OfDatabase
	}
	return "", ""
}

// Hosts implements [kind.Calling].
func (c Declared) Hosts() []string {
	if c.SQL == "" {
		return outbound.HostsOf(c.HTTP)
	}
	if at, err := parseConnection(c.Connection); err == nil && at.to != nil {
		return outbound.HostsOf(c.Connection)
	}
	return nil
}

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	if c.SQL == "" {
		t.Address("http", c.HTTP)
	}
	t.Span("every", c.Every)
	t.Span("timeout", c.Timeout)
	decode.AddHeaders(t, c.Headers)
	if c.SQL == "" {
		return
	}
	t.Text("sql", c.SQL)
	t.Secret("connection", c.Connection) // a password may be in it
	t.Texts("key", c.Key)
	t.Text("after", c.After)
	t.Text("start", c.Start)
	t.Text("lookback", c.Lookback)
	t.Flag("deletes", c.Deletes)
	t.Number("row_limit", int64(c.RowLimit))
}

// Identity implements [spec.SourceConfig]. A position is the digest of what the URL answered;
// for a statement, what was handed over of its rows in this database.
func (c Declared) Identity() string {
	if c.SQL == "" {
		return c.HTTP
	}
	return strings.Join(append([]string{"sql", databaseOf(c.Connection), c.SQL, c.After}, c.Key...), "\n")
}

// Origin implements [spec.SourceConfig]. Rows change too: what is read again may be newer.
func (c Declared) Origin() trait.Origin {
	if c.SQL != "" {
		return trait.Outside(trait.Compared)
	}
	return trait.Outside(trait.Anew)
}

// Remarks implements [kind.Remarked].
func (c Declared) Remarks(at kind.Place) spec.Diagnostics {
	s, problem := parseStatement(c.SQL, strings.HasPrefix(c.Connection, "sqlite:"))
	if c.After == "" || problem != "" || !s.limited {
		return nil
	}
	return spec.Diagnostics{{File: at.File, Line: at.Pos.Line, Column: at.Pos.Column, Path: at.Pos.Path + ".poll.sql",
		Code: codeLimitedPoll, Text: "the statement has a LIMIT of its own: rows behind it are never read, since " +
			"graphd asks for those after the greatest " + c.After + "; leave it out, row_limit bounds what one poll " +
			"reads"}}
}

// codeLimitedPoll is what lint finds where a statement leaves out rows for ever.
const codeLimitedPoll = "limited_poll"

// Files implements [kind.Filed].
func (c Declared) Files() []string {
	if at, err := parseConnection(c.Connection); c.SQL != "" && err == nil && at.sqlite() {
		return []string{at.path}
	}
	return nil
}

const (
	defaultTimeout = 10 * time.Second
	minEvery       = 10 * time.Millisecond // more often is a slip of the unit, and an attack

	defaultRowLimit = 10_000
	maxRowLimit     = 50_000 // the position tells the rows apart that it covers
)

var (
	fields = []decode.Field[Declared]{
		{Name: "http", Also: []string{"url"}, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.HTTP = d.URL(v, "http", "https")
		}},
		{Name: "sql", Also: []string{"query", "statement", "select"}, Read: readSQL},
		{Name: "connection", Also: []string{"dsn", "database"}, Read: readConnection},
		{Name: "every", Also: []string{"interval", "period"}, Need: true, Read: readEvery},
		{Name: "timeout", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Duration(v, 1, &c.Timeout) }},
		{Name: "headers", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Headers = d.Headers(v) }},
		{Name: "key", Read: readKey},
		{Name: "after", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.After = column(d, v) }},
		{Name: "start", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Start, _ = d.AnyText(v, "the value to begin with")
		}},
		{Name: "lookback", Read: readLookback},
		{Name: "deletes", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Bool(v, &c.Deletes) }},
		{Name: "row_limit", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, maxRowLimit, &c.RowLimit)
		}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("A URL or a statement, asked again and again.",
		decode.Define(definitions, decode.MappingOf("source_poll", fields, nil)))
}

func defaults() Declared { return Declared{Timeout: defaultTimeout, RowLimit: defaultRowLimit} }

const where = "source poll"

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, where, fields, c)
	if !ok {
		return
	}
	switch first, ok := d.Exclusive(got, where, []string{"http", "sql"}); {
	case !ok:
		d.Report(v.Whole(), decode.CodeMissingField, "", "%s needs a URL in http or a statement in sql; add one", where)
	case first.Key() == "http":
		needless(d, got, "of a statement, and this source asks a URL", "connection", "key", "after", "start",
			"lookback", "deletes", "row_limit")
	default:
		checkRows(d, v, got, c)
	}
}

func readEvery(d *decode.Decoder, v decode.Value, c *Declared) {
	if d.Duration(v, 1, &c.Every); c.Every > 0 && c.Every < minEvery {
		d.Report(v.Here(), decode.CodeOutOfRange, "",
			"%s is too short; give a duration of %s or more", v.Subject(), minEvery)
	}
}
