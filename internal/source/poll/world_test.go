package poll

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed"
)

// world is a database of a test.
type world struct {
	address string
	exec    func(text string)
}

// worlds runs a test in both databases.
func worlds(t *testing.T, test func(t *testing.T, w world)) {
	t.Run("postgres", func(t *testing.T) { test(t, postgresWorld(t)) })
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteWorld(t)) })
}

func postgresWorld(t *testing.T) world {
	t.Helper()
	dsn := testbed.Postgres(t)
	c := connect(t, dsn)
	return world{dsn, func(text string) { run(t, c, text) }}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func run(t *testing.T, c *pgx.Conn, text string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func sqliteWorld(t *testing.T) world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "odd %?# name.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil { // an empty file is an empty database
		t.Fatal(err)
	}
	maker, err := sqlconn.Open(path, "PRAGMA synchronous = off; PRAGMA journal_mode = memory")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = maker.Close() })
	return world{"sqlite:" + path, func(text string) {
		t.Helper()
		if err := maker.Script(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}}
}

// declared is a configuration for a world.
func declared(w world, change func(c *Declared)) *Declared {
	c := defaults()
	c.Connection, c.Every, c.Key = w.address, time.Millisecond, []string{"id"}
	c.SQL = "SELECT * FROM t"
	change(&c)
	return &c
}

func rowsOf(t *testing.T, c *Declared) *Rows {
	t.Helper()
	r, err := newRows(c, &kind.Input{}, outboundtest.Guard(t), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// life is one run of a source, polled by hand.
type life struct {
	t    *testing.T
	run  *rowsRun
	from []boundary.Position
	out  *sourcetest.Receiver
	told int
}

func born(t *testing.T, c *Declared, from []boundary.Position) *life {
	t.Helper()
	r := rowsOf(t, c)
	run := &rowsRun{Rows: r, reader: r.open()}
	run.ledger = newLedger(r.cfg.parts, r.first(run.reader))
	if err := run.ledger.restore(from); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.reader.close)
	run.live = func() {}
	return &life{t, run, from, &sourcetest.Receiver{}, 0}
}

func (l *life) try() error {
	if l.run.cfg.After != "" {
		return l.run.after(l.t.Context(), l.out)
	}
	return l.run.whole(l.t.Context(), l.out)
}

// poll polls once, and answers what was handed over.
func (l *life) poll() []string {
	l.t.Helper()
	if err := l.try(); err != nil && !errors.Is(err, errMore) {
		l.t.Fatal(err)
	}
	return l.news()
}

func (l *life) news() (got []string) {
	for _, it := range l.out.Items()[l.told:] {
		got = append(got, strings.TrimSpace(it.Bad+" "+it.Raw))
		l.told++
	}
	return got
}

// fails polls once, and answers why it failed.
func (l *life) fails(wanted string) {
	l.t.Helper()
	err := l.try()
	if _, ok := errors.AsType[*failure](err); !ok || !strings.Contains(err.Error(), wanted) {
		l.t.Errorf("got %v, want %q", err, wanted)
	}
	if got := l.news(); got != nil {
		l.t.Errorf("a poll that failed handed over %q", got)
	}
}

// admitted are the positions that a core keeps of the first n of what a source told.
func admitted(before []boundary.Position, items []sourcetest.Item, advanced ...boundary.Position) []boundary.Position {
	at := slices.Clone(before)
	for _, it := range items {
		advanced = append(advanced, it.Pos)
	}
	slices.SortFunc(advanced, func(a, b boundary.Position) int { return int(a.Offset - b.Offset) })
	for _, p := range advanced {
		i := slices.IndexFunc(at, func(q boundary.Position) bool { return boundary.SameStream(q.Stream, p.Stream) })
		if i < 0 {
			at = append(at, p)
		} else {
			at[i] = p
		}
	}
	return at
}

// positions are those that a core has when it has taken all that a life told.
func (l *life) positions() []boundary.Position {
	return admitted(l.from, l.out.Items(), l.out.Advanced()...)
}
