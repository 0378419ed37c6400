package everyday

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the tables are written as any program writes them
)

// changes is how often a table of the test is written to, in transactions of a few.
const changes = 1500

// TestPolls is what is promised of a polled database: no change is told twice and none is missed for good, whatever
// the pace of the writer is, rows have one value of the column or go away, and wherever the daemon is killed.
func TestPolls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	tables, told := filepath.Join(dir, "tables.db"), filepath.Join(dir, "told.ndjson")
	w := newWriter(ctx, t, tables)
	d := start(t, "GRAPHD_VAR_TABLES="+tables, "GRAPHD_VAR_TOLD="+told)
	text, err := os.ReadFile(filepath.Join("polls", "polls.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.call(ctx, "PUT", "/v1/graphs/polls", "application/yaml", text, nil); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < changes; {
		n += w.write(ctx)
		if rand.IntN(changes/10) == 0 {
			d.restart()
		}
	}
	var prices, sales []row
	for {
		prices, sales = rowsTold(t, told)
		if maps.Equal(left(prices), w.prices) && maps.Equal(left(sales), w.sales) {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d and %d changes were told; of %d prices and %d sales that there are, %d and %d are known",
				len(prices), len(sales), len(w.prices), len(w.sales), len(left(prices)), len(left(sales)))
		case <-time.After(10 * time.Millisecond):
		}
	}
	d.stop() // what might still be told twice is
	prices, sales = rowsTold(t, told)
	inOrder(t, "prices", prices, w.history)
	inOrder(t, "sales", sales, w.history)
	if !slices.IsSortedFunc(sales, func(a, b row) int { return int(a.Day - b.Day) }) {
		t.Error("sales were not told in the order of their days")
	}
}

// A row is what is told of one.
type row struct {
	SKU, ID      string
	Version, Day int64
	Deleted      bool
}

func (r row) key() string { return r.SKU + r.ID }

// left are the newest versions of the rows that are told of, without those that are gone.
func left(rows []row) map[string]int64 {
	of := map[string]int64{}
	for _, r := range rows {
		if of[r.key()] = r.Version; r.Deleted {
			delete(of, r.key())
		}
	}
	return of
}

// inOrder holds that of each row versions are told in the order in which they were written, each at most once. That a
// row is gone has the version 0.
func inOrder(t *testing.T, table string, told []row, history map[string][]int64) {
	t.Helper()
	done, bad := map[string]int{}, 0
	for _, r := range told {
		rest := history[r.key()][done[r.key()]:]
		i := slices.Index(rest, r.Version)
		if i < 0 {
			if bad++; bad < 4 {
				t.Errorf("%s: %s is told at version %d, after which comes %v", table, r.key(), r.Version, rest)
			}
			continue
		}
		done[r.key()] += i + 1
	}
	if len(told) < changes/20 {
		t.Errorf("%s: only %d changes were told: that shows nothing", table, len(told))
	}
}

// rowsTold are the values of the whole lines of a file, each delivery once.
func rowsTold(t *testing.T, path string) (prices, sales []row) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(text[:bytes.LastIndexByte(text, '\n')+1]) {
		var l struct {
			Output string
			Firing string `json:"firing_id"`
			Value  struct {
				SKU          json.Number
				ID           json.Number
				Version, Day int64
				Deleted      bool
			}
		}
		if json.Unmarshal(line, &l) != nil || seen[l.Firing] {
			continue // torn by a kill, and written again; or written twice
		}
		seen[l.Firing] = true
		if l.Output == "prices" {
			prices = append(prices, row{"p" + l.Value.SKU.String(), "", l.Value.Version, 0, l.Value.Deleted})
		} else {
			sales = append(sales, row{"", "s" + l.Value.ID.String(), l.Value.Version, l.Value.Day, false})
		}
	}
	return prices, sales
}

// A writer changes the two tables and remembers what it has written.
type writer struct {
	t             *testing.T
	db            *sql.DB
	prices, sales map[string]int64
	history       map[string][]int64
	version, day  int64
}

func newWriter(ctx context.Context, t *testing.T, path string) *writer {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(20000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &writer{t: t, db: db, prices: map[string]int64{}, sales: map[string]int64{}, history: map[string][]int64{}}
	for _, s := range []string{
		"CREATE TABLE prices (sku INTEGER PRIMARY KEY, version INTEGER)",
		"CREATE TABLE sales (id INTEGER PRIMARY KEY, day INTEGER, version INTEGER)",
		"CREATE INDEX sales_day ON sales (day)",
	} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// write makes a few changes in one transaction and returns how many.
func (w *writer) write(ctx context.Context) int {
	w.t.Helper()
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	n := 1 + rand.IntN(8)
	if rand.IntN(3) > 0 {
		w.day++ // else what comes now has the day of what was told
	}
	for range n {
		w.version++
		if rand.IntN(2) == 0 {
			err = w.price(ctx, tx, rand.IntN(60))
		} else {
			err = w.sale(ctx, tx)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *writer) price(ctx context.Context, tx *sql.Tx, sku int) error {
	key := fmt.Sprintf("p%d", sku)
	if _, is := w.prices[key]; is && rand.IntN(4) == 0 {
		delete(w.prices, key)
		w.history[key] = append(w.history[key], 0)
		_, err := tx.ExecContext(ctx, "DELETE FROM prices WHERE sku = ?", sku)
		return err
	}
	w.prices[key] = w.version
	w.history[key] = append(w.history[key], w.version)
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO prices VALUES (?, ?)", sku, w.version)
	return err
}

// sale adds a row, or changes one and gives it a newer day.
func (w *writer) sale(ctx context.Context, tx *sql.Tx) error {
	id := len(w.sales) + 1
	if id > 20 && rand.IntN(4) == 0 {
		id = 1 + rand.IntN(id-1)
	}
	key := fmt.Sprintf("s%d", id)
	w.sales[key] = w.version
	w.history[key] = append(w.history[key], w.version)
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO sales VALUES (?, ?, ?)", id, w.day, w.version)
	return err
}
