package poll

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed"
)

// A poll that fails says why, hands nothing over, and the next is as if it had not been.
func TestPollsThatFail(t *testing.T) {
	worlds(t, func(t *testing.T, w world) {
		w.exec("CREATE TABLE t (id INTEGER, v TEXT)")
		w.exec("INSERT INTO t VALUES (1, 'a'), (1, 'b'), (2, 'c')")
		whole := func(sql string) *life {
			return born(t, declared(w, func(c *Declared) { c.SQL, c.RowLimit = sql, 2 }), nil)
		}
		whole("SELECT * FROM t WHERE id = 1").fails("two rows have the same key")
		whole("SELECT v FROM t").fails(`no column "id"`)
		if strings.HasPrefix(w.address, "postgres") { // SQLite gives the second another name
			whole("SELECT id, v AS id FROM t").fails("two columns of the statement")
		} else {
			away := func(c *Declared) { c.SQL, c.Connection = "SELECT 1 AS id", "sqlite:/nowhere/t.db" }
			born(t, declared(w, away), nil).fails("there is no file /nowhere/t.db")
		}
		whole("SELECT v AS id FROM t").fails("more than 2 rows; raise row_limit")
		whole("SELECT * FROM nosuch").fails("nosuch")
		deletes := declared(w, func(c *Declared) { c.SQL, c.Deletes = "SELECT 1 AS id, 2 AS deleted", true })
		born(t, deletes, nil).fails("named deleted")
		long := declared(w, func(c *Declared) { c.SQL = "SELECT '" + strings.Repeat("k", 300) + "' AS id" })
		born(t, long, nil).fails("more than 256")

		after := func(column string, limit int) *life {
			return born(t, declared(w, func(c *Declared) {
				c.After, c.Lookback, c.RowLimit, c.Key = column, "0", limit, []string{"v"}
			}), nil)
		}
		after("nosuch", 9).fails("nosuch")
		l := after("id", 1)
		want(t, l.poll(), `{"id":1,"v":"a"}`)
		l.fails("more than 1 rows have values within lookback")
		l.run.cfg.RowLimit = 5
		want(t, l.poll(), `{"id":1,"v":"b"}`, `{"id":2,"v":"c"}`)
		w.exec("INSERT INTO t VALUES (3, 'd'), (3, 'd')")
		l.fails("two rows have the same key")
	})
}

// A statement that does not end is given up, and the next poll is asked anew.
func TestTimeout(t *testing.T) {
	endless := map[string]string{
		"postgres": "SELECT 1 AS id FROM pg_sleep(600)",
		"sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) " +
			"SELECT i AS id FROM n WHERE i < 0",
	}
	worlds(t, func(t *testing.T, w world) {
		name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		l := born(t, declared(w, func(c *Declared) { c.SQL, c.Timeout = endless[name], 300*time.Millisecond }), nil)
		l.fails("") // whoever was first: the server's own limit is a little shorter
		l.run.cfg.Timeout = time.Minute
		l.run.cfg.statement.text = "SELECT 1 AS id"
		want(t, l.poll(), `{"id":1}`)
	})
}

// Whatever a statement says, nothing is written.
func TestNothingIsWritten(t *testing.T) {
	w := postgresWorld(t)
	w.exec("CREATE TABLE t (id int); CREATE FUNCTION f() RETURNS int LANGUAGE sql AS " +
		"$$ INSERT INTO t VALUES (1) RETURNING id $$")
	for sql, why := range map[string]string{
		"SELECT f() AS id": "read-only transaction",
		"WITH x AS (INSERT INTO t VALUES (1) RETURNING id) SELECT * FROM x":           "top level",
		"SELECT set_config('transaction_read_only', 'off', false) AS id, f()":         "read-write mode",
		"SELECT set_config('default_transaction_read_only', 'off', false) AS id, f()": "read-only",
	} {
		born(t, declared(w, func(c *Declared) { c.SQL = sql }), nil).fails(why)
	}
	l := born(t, declared(w, func(*Declared) {}), nil)
	want(t, l.poll())
	l.run.cfg.statement.text = "SELECT 1) AS q; INSERT INTO t VALUES (1); SELECT * FROM (SELECT 1 AS id"
	l.fails("multiple commands")

	s := sqliteWorld(t)
	s.exec("CREATE TABLE t (id INTEGER)")
	l = born(t, declared(s, func(*Declared) {}), nil)
	for _, sql := range []string{
		"SELECT 1) AS q; INSERT INTO t VALUES (1); SELECT * FROM (SELECT 1 AS id",
		"SELECT 1) AS q; PRAGMA journal_mode = wal; INSERT INTO t VALUES (1); SELECT * FROM (SELECT 1 AS id",
	} {
		l.run.cfg.statement.text = sql // as if it had passed the check
		if err := l.try(); err == nil {
			t.Errorf("%s was run", sql)
		}
	}
}

// What is dialled passes the guard, a redirected name too; no message holds the password.
func TestGuarded(t *testing.T) {
	dsn := testbed.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "hunter2")
	for host, allow := range map[string]string{"127.0.0.1": "none", "localhost": "none", "::1": "private"} {
		u.Host = "[" + host + "]:" + u.Port()
		if !strings.Contains(host, ":") {
			u.Host = host + ":" + u.Port()
		}
		g, err := outbound.New(outbound.Config{Allow: []string{allow}})
		if err != nil {
			t.Fatal(err)
		}
		l := born(t, declared(world{address: u.String()}, func(*Declared) {}), nil)
		l.run.reader.(*postgresReader).guard = g
		l.fails("is loopback, and calls to it are not allowed")
	}
	u.Host = "127.0.0.1:1"
	l := born(t, declared(world{address: u.String()}, func(*Declared) {}), nil)
	if err := l.try(); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	g, _ := outbound.New(outbound.Config{Allow: []string{"localhost"}})
	u, _ = url.Parse(dsn)
	u.Host = "localhost:" + u.Port()
	l = born(t, declared(world{address: u.String()}, func(c *Declared) { c.SQL = "SELECT 1 AS id" }), nil)
	l.run.reader.(*postgresReader).guard = g
	want(t, l.poll(), `{"id":1}`)
}

// A database that goes away is told at once, and read on when it is back: nothing is missed.
func TestDatabaseGoesAway(t *testing.T) {
	w := postgresWorld(t)
	w.exec("CREATE TABLE t (id serial)")
	w.exec("INSERT INTO t DEFAULT VALUES")
	proxy, through := testbed.PostgresProxy(t, w.address)
	c := declared(world{address: through}, func(c *Declared) {
		c.After, c.Lookback, c.Timeout = "id", "10", 2*time.Second
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, done := sourcetest.NewTold(9), make(chan error, 1)
	src := rowsOf(t, c)
	go func() { done <- src.Run(ctx, nil, out) }()
	until := func(want string) {
		t.Helper()
		for timeout := time.After(time.Minute); ; {
			select {
			case got := <-out.Texts:
				if strings.HasPrefix(got, want) {
					return
				}
			case <-timeout:
				t.Fatalf("it never said %s", want)
			}
		}
	}
	until(string(accumulator.Live))
	until(`1 {"id":1}`)
	for _, fail := range []func(){proxy.Refuse, proxy.Swallow} {
		fail()
		until(string(accumulator.Disconnected))
		proxy.Pass()
		until(string(accumulator.Live))
	}
	w.exec("INSERT INTO t DEFAULT VALUES")
	until(`2 {"id":2}`)
	cancel()
	go func() { // what is told while it stops is not looked at
		for range out.Texts {
		}
	}()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	close(out.Texts)
}

// Columns whose values cannot be followed are named with what to do.
func TestFollowedTypes(t *testing.T) {
	w := postgresWorld(t)
	for _, c := range []struct{ column, lookback, want string }{
		{"now()", "5m0s", ""}, {"now()::timestamp", "5m0s", ""}, {"current_date", "24h0m0s", ""}, {"7", "3", ""},
		{"1.5::numeric", "1", ""}, {"'a'::text", "0", ""}, {"gen_random_uuid()", "0", ""}, {"now()", "0", ""},
		{"now()", "5", "give lookback as a duration"}, {"7", "5m0s", "give lookback as a number"},
		{"'a'::text", "1", "no lookback but 0"}, {"1.5::float8", "0", "cannot be followed"},
	} {
		l := born(t, declared(w, func(d *Declared) {
			d.SQL, d.After, d.Lookback = "SELECT 1 AS id, "+c.column+" AS v", "v", c.lookback
		}), nil)
		if c.want != "" {
			l.fails(c.want)
			continue
		}
		for range 2 { // from the beginning, and behind a value
			if err := l.try(); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	for _, v := range []string{"'infinity'::timestamptz", "'NaN'::numeric", "'Infinity'::numeric"} {
		l := born(t, declared(w, func(d *Declared) {
			d.SQL, d.After, d.Lookback = "SELECT 1 AS id, "+v+" AS v", "v", "0"
		}), nil)
		want(t, l.poll())
	}
	s := sqliteWorld(t)
	for value, wanted := range map[string]string{"1.5": "only integers and text", "x'00'": "only integers and text"} {
		born(t, declared(s, func(d *Declared) {
			d.SQL, d.After, d.Lookback = "SELECT 1 AS id, "+value+" AS v", "v", "0"
		}), nil).fails(wanted)
	}
}

// To SQLite every text is greater than every integer: a start of the wrong one would read nothing and say nothing.
func TestStartHasTheTypeOfTheColumn(t *testing.T) {
	s := sqliteWorld(t)
	s.exec("CREATE TABLE t (id INTEGER, at INTEGER, day TEXT, celsius REAL)")
	from := func(column, start string) *Declared {
		return declared(s, func(d *Declared) { d.After, d.Start, d.Lookback = column, start, "0" })
	}
	empty := born(t, from("at", "2026-01-01T00:00:00Z"), nil)
	want(t, empty.poll()) // there is nothing to compare it with yet
	s.exec("INSERT INTO t VALUES (1, 1793836800, '2026-11-01', 1.5), (2, NULL, '20261101', 2.5)")
	empty.fails(`the column "at" holds integers, and "2026-01-01T00:00:00Z" is text`)
	born(t, from("celsius", "warm"), nil).fails("only integers and text")
	if got := born(t, from("day", "2026"), nil).poll(); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	if got := born(t, from("day", "2026-11"), nil).poll(); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	if _, err := rowsOf(t, from("at", "0")).Seek(t.Context(), "2026-01-01"); err == nil {
		t.Error("a rewind to a text takes place in a column of integers")
	}
}

func TestSeekRefuses(t *testing.T) {
	w := postgresWorld(t)
	w.exec("CREATE TABLE t (id int)")
	r := rowsOf(t, declared(w, func(c *Declared) { c.After, c.Lookback = "id", "0" }))
	if _, err := r.Seek(t.Context(), "monday"); err == nil || !strings.Contains(err.Error(), "of the column id") {
		t.Errorf("got %v", err)
	}
	r = rowsOf(t, declared(w, func(*Declared) {}))
	if _, err := r.Seek(t.Context(), "7"); err == nil || !strings.Contains(err.Error(), "say start") {
		t.Errorf("got %v", err)
	}
}

// Positions of something else are refused, and do no harm.
func TestForeignPositions(t *testing.T) {
	for _, stream := range []string{
		"", "poll#6b86", "00#", "rows~00#n", "zz#n,", "rows~ff#n,", "00#n,!", "00#n,Aw",
		"00#n,_____w8", "rows~00#x5,", "rows~00#h,",
		"00#n5,",
	} {
		if err := newLedger(16, bound{}).restore([]boundary.Position{{Stream: stream, Offset: 1}}); err == nil {
			t.Errorf("%q was taken", stream)
		}
	}
}
