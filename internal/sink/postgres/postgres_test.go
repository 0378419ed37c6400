package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/dal/postgres/tables"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/postgres"
	"github.com/graphd/graphd/internal/testbed"
)

// query runs a statement in the test's database, and returns its rows as texts.
func query(t *testing.T, dsn, text string) (rows []string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	r, err := c.Query(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for r.Next() {
		values, err := r.Values()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, strings.TrimSpace(fmt.Sprintln(values...)))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

func message(t *testing.T, text string) sink.Message {
	t.Helper()
	v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sink.Message{Output: "o", Value: v}
}

func messages(t *testing.T, texts ...string) (batch []sink.Message) {
	for _, text := range texts {
		batch = append(batch, message(t, text))
	}
	return batch
}

// Values become rows with the types of their columns; a field that is absent is the column's
// default, one that is null is null.
func TestSinkWritesRows(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	query(t, dsn, `CREATE TABLE quotes (id bigint PRIMARY KEY, symbol text DEFAULT 'none', mid double precision, at `+
		`timestamptz, tags jsonb, legs int[])`)
	s, err := postgres.Open(t.Context(), postgres.Config{Output: "o", Table: "quotes"}, dsn, outboundtest.Guard(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Deliver(t.Context(), messages(t,
		`{"id":9007199254740993,"symbol":"AAPL","mid":100.25,"at":"2026-11-21T10:00:00Z","tags":{"a":[1]},"legs":[1,`+
			`2]}`,
		`{"id":2,"symbol":null,"mid":1}`, `{"id":3}`))
	if err != nil {
		t.Fatal(err)
	}
	got := query(t, dsn,
		`SELECT id, symbol, mid, at::text LIKE '2026-11-21%', tags::text, legs::text FROM quotes ORDER BY id`)
	want := []string{
		`2 <nil> 1 <nil> <nil> <nil>`, `3 none <nil> <nil> <nil> <nil>`,
		`9007199254740993 AAPL 100.25 true {"a": [1]} {1,2}`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A row that is refused for good is named; those before it are written, those after it are not.
func TestSinkRefusesRows(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	query(t, dsn, `CREATE TABLE "Odd ""name" (id integer PRIMARY KEY, word varchar(3) NOT NULL)`)
	query(t, dsn, `ALTER TABLE "Odd ""name" RENAME TO odd`)
	s, err := postgres.Open(t.Context(), postgres.Config{Output: "o", Table: "public.odd"}, dsn, outboundtest.Guard(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	tests := []struct {
		batch []string
		index int
		code  string
		rows  int
	}{
		{[]string{`{"id":1,"word":"a"}`, `{"id":2,"word":"long"}`, `{"id":3,"word":"c"}`}, 1, "bad_value", 1},
		{[]string{`{"id":4,"word":"a"}`, `{"id":1,"word":"b"}`}, 1, "unique_violation", 2},
		{[]string{`{"id":5}`}, 0, "null_violation", 2},
		{[]string{`{"id":"x","word":"b"}`}, 0, "bad_value", 2},
		{[]string{`{"id":6,"word":"b"}`, `7`}, 1, "bad_row", 3},
		{[]string{`{"id":8,"word":"b","more":1}`}, 0, "bad_row", 3},
	}
	for _, test := range tests {
		err := s.Deliver(t.Context(), messages(t, test.batch...))
		var refused *sink.PermanentError
		if !errors.As(err, &refused) || refused.Index != test.index || refused.Code != test.code {
			t.Errorf("%s: %v, want %s of %d", test.batch, err, test.code, test.index)
		}
		if n := len(query(t, dsn, "SELECT 1 FROM odd")); n != test.rows {
			t.Errorf("%s: %d rows, want %d", test.batch, n, test.rows)
		}
	}
}

// An upsert replaces, within a batch too.
func TestSinkUpserts(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	query(t, dsn, `CREATE TABLE latest (k text, n int, extra text DEFAULT 'd', UNIQUE (k))`)
	s, err := postgres.Open(t.Context(), postgres.Config{Output: "o", Table: "latest", Conflict: []string{"k"}}, dsn,
		outboundtest.Guard(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	if err := s.Deliver(t.Context(), messages(t, `{"k":"a","n":1,"extra":"x"}`, `{"k":"b","n":1}`,
		`{"k":"a","n":2,"extra":"y"}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Deliver(t.Context(), messages(t, `{"k":"a","n":3}`)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(query(t, dsn, `SELECT k, n, extra FROM latest ORDER BY k`)); got != "[a 3 d b 1 d]" {
		t.Errorf("got %s", got)
	}
}

// What does not fit a table is told before anything runs, with what to do.
func TestCheck(t *testing.T) {
	t.Parallel()
	dsn := testbed.Postgres(t)
	query(t, dsn, `CREATE TABLE t (id int PRIMARY KEY, a text NOT NULL, b text, total int GENERATED ALWAYS AS (1) `+
		`STORED, c text NOT NULL DEFAULT '', UNIQUE (a, b))`)
	query(t, dsn, `CREATE UNIQUE INDEX partly ON t (c) WHERE b IS NULL`)
	for _, test := range []struct {
		c    postgres.Config
		want string // "" fits
	}{
		{postgres.Config{Table: "t"}, ""},
		{postgres.Config{Table: "public.t", Columns: []string{"id", "a"}}, ""},
		{postgres.Config{Table: "nosuch"}, "it is not there"},
		{postgres.Config{Table: "other.t"}, "it is not there"},
		{postgres.Config{Table: "t", Columns: []string{"id", "a", "z"}}, `no column "z"`},
		{postgres.Config{Table: "t", Columns: []string{"id", "a", "total"}}, `no column "total"`},
		{postgres.Config{Table: "t", Columns: []string{"id"}}, `column "a" must not be null`},
		{postgres.Config{Table: "t", Conflict: []string{"id"}}, ""},
		{postgres.Config{Table: "t", Conflict: []string{"b", "a"}}, ""},
		{postgres.Config{Table: "t", Conflict: []string{"a"}}, "no unique index"},
		{postgres.Config{Table: "t", Conflict: []string{"c"}}, "no unique index"},
		{postgres.Config{Table: "t", Conflict: []string{"nosuch"}}, `no column "nosuch"`},
	} {
		s, err := postgres.Open(t.Context(), test.c, dsn, outboundtest.Guard(t))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Check(t.Context())
		_ = s.Close(t.Context())
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) ||
			!fits(err)) {
			t.Errorf("%+v: %v, want %q", test.c, err, test.want)
		}
	}
}

func fits(err error) bool {
	_, ok := errors.AsType[*tables.Error](err)
	return ok
}

// No error shows a password.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"postgres://me:hunter2@127.0.0.1:1/x?connect_timeout=1", "postgres://me:hunter2@[",
		"password=hunter2 port=x"} {
		s, err := postgres.Open(t.Context(), postgres.Config{Table: "t"}, dsn, outboundtest.Guard(t))
		if err == nil {
			err = s.Deliver(t.Context(), messages(t, `{"id":1}`))
			_ = s.Close(t.Context())
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}

// TestConnectionTellsNoAddress: a database with a name in the configuration is told of without its address (A5).
func TestConnectionTellsNoAddress(t *testing.T) {
	t.Parallel()
	guard := outboundtest.Guard(t).As("warehouse")
	s, err := postgres.Open(t.Context(), postgres.Config{Table: "t"}, "postgres://u:hunter2@127.0.0.1:1/shop", guard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	for _, err := range []error{s.Check(t.Context()), s.Deliver(t.Context(), messages(t, `{"id":1}`))} {
		if err == nil || err.Error() !=
			"look at table t: the connection warehouse cannot be reached; the daemon's log says why" {
			t.Errorf("got %v", err)
		}
	}
}

// Another database than the store's is dialled by the guard, and no message holds the password.
func TestGuarded(t *testing.T) {
	dsn := testbed.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "hunter2")
	open := func(allow string) error {
		s, err := postgres.Open(t.Context(), postgres.Config{Table: "t"}, u.String(), outboundtest.Guard(t, allow))
		if err != nil {
			return err
		}
		return errors.Join(s.Check(t.Context()), s.Close(t.Context()))
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		u.Host = host + ":" + u.Port()
		err := open("none")
		if _, ok := errors.AsType[*outbound.DeniedError](err); !ok || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want that it is not allowed", err)
		}
	}
	if err := open("localhost"); err == nil || !strings.Contains(err.Error(), "it is not there") {
		t.Errorf("got %v, want that the table is not there", err)
	}
	u.Host = "127.0.0.1:1"
	if err := open("loopback"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// A database that a declaration names is sent nothing of the daemon's environment.
func TestNothingOfTheEnvironment(t *testing.T) {
	dsn := testbed.Postgres(t)
	query(t, dsn, "CREATE TABLE t (name text)")
	for name, value := range map[string]string{
		"PGUSER": "hunter2", "PGHOST": "own.example", "PGPORT": "1", "PGDATABASE": "hunter2", "PGAPPNAME": "hunter2",
		"PGOPTIONS": "-c nosuch=hunter2", "PGSSLMODE": "verify-full", "PGTARGETSESSIONATTRS": "read-only",
	} {
		t.Setenv(name, value)
	}
	s, err := postgres.Open(t.Context(), postgres.Config{Table: "t"}, dsn, outboundtest.Guard(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	if err := s.Deliver(t.Context(), messages(t, `{"name":"a"}`)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"postgres:///d?host=/tmp", "host=h user=hunter2", "postgres://me@h/d?passfile=/x"} {
		_, err := postgres.Open(t.Context(), postgres.Config{Table: "t"}, bad, outboundtest.Guard(t))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
