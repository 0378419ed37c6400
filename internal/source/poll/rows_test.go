package poll

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/source/sourcetest"
)

func TestConformanceOfRows(t *testing.T) {
	modes := map[string]func(*Declared){
		"whole": func(*Declared) {},
		"after": func(c *Declared) { c.After, c.Lookback, c.RowLimit = "id", "2", 3 },
	}
	worlds(t, func(t *testing.T, w world) {
		w.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
		for i := range 12 {
			w.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 'n%d')", i, i))
		}
		for name, mode := range modes {
			t.Run(name, func(t *testing.T) {
				one := func(t *testing.T) accumulator.Source {
					r := rowsOf(t, declared(w, mode))
					r.cfg.parts = 1 // the suite resumes at one position
					return r
				}
				sourcetest.Run(t, sourcetest.Suite{Events: 12, Endless: true, New: one})
			})
		}
	})
}

// Each row that is new or has changed is one event, and so is one that is gone, if asked for;
// also after a restart.
func TestWholeResult(t *testing.T) {
	worlds(t, func(t *testing.T, w world) {
		w.exec("CREATE TABLE t (id INTEGER, name TEXT)")
		w.exec("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
		c := declared(w, func(c *Declared) { c.SQL, c.Deletes = "SELECT * FROM t ORDER BY id -- all\n;", true })
		l := born(t, c, nil)
		want(t, l.poll(), `{"id":1,"name":"a"}`, `{"id":2,"name":"b"}`, `{"id":3,"name":null}`)
		want(t, l.poll())
		w.exec("UPDATE t SET name = 'x' WHERE id = 3; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (4, 'd')")
		want(t, l.poll(), `{"id":3,"name":"x"}`, `{"id":4,"name":"d"}`, `{"deleted":true,"id":1}`)
		want(t, l.poll())
		w.exec("DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (1, 'a')")
		l = born(t, c, l.positions())
		want(t, l.poll(), `{"id":1,"name":"a"}`, `{"deleted":true,"id":2}`)
		c.Deletes = false
		l = born(t, c, l.positions())
		w.exec("DELETE FROM t")
		want(t, l.poll())
		if n := len(l.out.Advanced()); n != 3 {
			t.Errorf("%d positions tell that rows are gone, want 3", n)
		}
		w.exec("INSERT INTO t VALUES (4, 'd')")
		l = born(t, c, l.positions())
		want(t, l.poll(), `{"id":4,"name":"d"}`)
	})
}

// The parts of the position are of one partition: a window waits for none of them (M26).
func TestPositionsAreOfOnePartition(t *testing.T) {
	w := sqliteWorld(t)
	c := declared(w, func(c *Declared) { c.SQL, c.Key = "VALUES (1), (2), (3), (4), (5)", []string{"column1"} })
	l := born(t, c, nil)
	l.poll()
	for _, p := range l.positions() {
		if boundary.Partition(p.Stream) != "rows" {
			t.Errorf("%s is of partition %q", p.Stream, boundary.Partition(p.Stream))
		}
	}
	if n := len(l.positions()); n < 3 {
		t.Errorf("there are %d parts", n)
	}
}

// Wherever it is killed, each change is handed over once, and none is missed (M28, M35).
func TestWholeResultKilledAnywhere(t *testing.T) {
	w := sqliteWorld(t)
	w.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
	random := rand.New(rand.NewPCG(1, 2))
	c := declared(w, func(c *Declared) { c.Deletes = true })
	var at []boundary.Position
	view, n := map[int64]string{}, 0
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		for range random.IntN(6) {
			n++
			switch id := random.IntN(30); random.IntN(3) {
			case 0:
				w.exec(fmt.Sprintf("DELETE FROM t WHERE id = %d", id))
			default:
				w.exec(fmt.Sprintf("INSERT OR REPLACE INTO t VALUES (%d, %d)", id, n))
			}
		}
		l := born(t, c, at)
		l.poll()
		items := l.out.Items()
		if round%4 != 3 {
			items = items[:random.IntN(len(items)+1)] // killed behind any of them
		}
		at = admitted(at, items)
		for _, it := range items {
			v := decoded(t, it.Raw)
			id, _ := v.Field("id").AsInt()
			gone, _ := v.Field("deleted").AsBool()
			if view[id] == it.Raw || gone && view[id] == "" {
				t.Fatalf("round %d: %s is no change", round, it.Raw)
			}
			if view[id] = it.Raw; gone {
				delete(view, id)
			}
		}
		if round%4 == 3 {
			var all, seen []string
			fresh := born(t, declared(w, func(*Declared) {}), nil)
			all = fresh.poll()
			for _, raw := range view {
				seen = append(seen, raw)
			}
			slices.Sort(all)
			slices.Sort(seen)
			want(t, seen, all...)
		}
	}
}

func decoded(t *testing.T, raw string) boundary.Value {
	t.Helper()
	v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Ties, a limit that cuts them, rows that come late, and rows that change where they are.
func TestAfter(t *testing.T) {
	worlds(t, func(t *testing.T, w world) {
		w.exec("CREATE TABLE t (id INTEGER, v INTEGER, name TEXT)")
		w.exec("INSERT INTO t VALUES (1, 10, 'a'), (2, 10, 'b'), (3, 11, 'c'), (4, NULL, 'd'), (5, 9, 'e')")
		c := declared(w, func(c *Declared) { c.After, c.Start, c.Lookback, c.RowLimit = "v", "10", "3", 2 })
		l := born(t, c, nil)
		row := func(id, v int, name string) string { return fmt.Sprintf(`{"id":%d,"name":%q,"v":%d}`, id, name, v) }
		want(t, l.poll(), row(1, 10, "a"), row(2, 10, "b"))
		w.exec("DELETE FROM t WHERE id = 5")
		want(t, l.poll(), row(3, 11, "c"))
		c.RowLimit = 10
		l = born(t, c, l.positions())
		w.exec("INSERT INTO t VALUES (6, 10, 'f'), (7, 8, 'g'), (8, 7, 'too late'), (9, 14, 'i')")
		want(t, l.poll(), row(7, 8, "g"), row(6, 10, "f"), row(9, 14, "i"))
		want(t, l.poll())
		w.exec("UPDATE t SET name = 'changed' WHERE id IN (6, 9)") // 10 is too far behind 14
		w.exec("INSERT INTO t VALUES (9, 13, 'again')")
		want(t, l.poll(), row(9, 13, "again"), row(9, 14, "changed"))
		l = born(t, c, l.positions())
		want(t, l.poll())
		to, err := l.run.Seek(t.Context(), "8")
		if err != nil {
			t.Fatal(err)
		}
		l = born(t, c, to)
		if got := l.poll(); len(got) != 7 || got[0] != row(7, 8, "g") {
			t.Errorf("after a rewind: %q", got)
		}
		want(t, born(t, c, l.positions()).poll())
	})
}

// Where the statement itself reads $1, it is the greatest value.
func TestParameter(t *testing.T) {
	worlds(t, func(t *testing.T, w world) {
		w.exec("CREATE TABLE t (id INTEGER, v INTEGER)")
		w.exec("INSERT INTO t VALUES (1, 1), (2, 5), (3, 7)")
		c := declared(w, func(c *Declared) {
			c.SQL, c.After, c.Start, c.Lookback = "SELECT id, v, '$1' AS x FROM t WHERE v >= $1", "v", "2", "0"
		})
		l := born(t, c, nil)
		want(t, l.poll(), `{"id":2,"v":5,"x":"$1"}`, `{"id":3,"v":7,"x":"$1"}`)
		w.exec("INSERT INTO t VALUES (4, 7), (5, 6)")
		want(t, l.poll(), `{"id":4,"v":7,"x":"$1"}`)
	})
}

// Wherever it is killed, each row is handed over once: also those that tie, and those of
// transactions that took a value and commit it later (M28, M35).
func TestAfterWithConcurrentWriters(t *testing.T) {
	w := postgresWorld(t)
	w.exec("CREATE TABLE t (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), v int)")
	modes := map[string]func(*Declared){
		"serial": func(c *Declared) { c.After, c.Lookback, c.RowLimit = "id", "400", 500 },
		"time":   func(c *Declared) { c.After, c.Lookback, c.RowLimit = "at", "1h0m0s", 500 },
	}
	at, count := map[string][]boundary.Position{}, map[string]map[string]int{"serial": {}, "time": {}}
	var open []*pgx.Conn
	for range 5 {
		open = append(open, connect(t, w.address))
	}
	random := rand.New(rand.NewPCG(3, 4))
	busy := make([]bool, len(open))
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		last := round == rounds-1
		for i, c := range open {
			switch {
			case busy[i] && random.IntN(3) == 0 || last && busy[i]:
				run(t, c, "COMMIT")
				busy[i] = false
			case !busy[i] && !last:
				run(t, c, "BEGIN")
				busy[i] = true
				fallthrough
			case !last:
				run(t, c, "INSERT INTO t (v) VALUES (1), (2)")
			}
		}
		for name, mode := range modes {
			l := born(t, declared(w, mode), at[name])
			l.poll()
			items := l.out.Items()
			if !last {
				items = items[:random.IntN(len(items)+1)]
			}
			at[name] = admitted(at[name], items)
			for _, it := range items {
				count[name][it.Raw]++
			}
		}
	}
	all := born(t, declared(w, func(*Declared) {}), nil).poll()
	for name, got := range count {
		for _, raw := range all {
			if got[raw] != 1 {
				t.Errorf("%s: %s was handed over %d times", name, raw, got[raw])
			}
		}
		if len(got) != len(all) || len(all) < 2*rounds {
			t.Errorf("%s: %d rows were handed over, there are %d", name, len(got), len(all))
		}
	}
}

// Without a lookback a row that is committed late is missed: the classic mistake, which the
// declaration has to say it does not mind.
func TestLateRowsNeedALookback(t *testing.T) {
	w := postgresWorld(t)
	w.exec("CREATE TABLE t (id serial PRIMARY KEY)")
	late := connect(t, w.address)
	run(t, late, "BEGIN; INSERT INTO t DEFAULT VALUES")
	w.exec("INSERT INTO t DEFAULT VALUES")
	without := born(t, declared(w, func(c *Declared) { c.After, c.Lookback = "id", "0" }), nil)
	with := born(t, declared(w, func(c *Declared) { c.After, c.Lookback = "id", "1" }), nil)
	want(t, without.poll(), `{"id":2}`)
	want(t, with.poll(), `{"id":2}`)
	run(t, late, "COMMIT")
	want(t, without.poll())
	want(t, with.poll(), `{"id":1}`)
}
