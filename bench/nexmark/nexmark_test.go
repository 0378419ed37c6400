package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain runs the tests, or in a process that a test has started what is measured.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		main()
		return
	}
	os.Exit(m.Run())
}

// few are events enough for every query to put something out, over two days and 40 seconds.
const few, slow = 20_000, 500

// TestQueries: what comes out of every query is what its plain program says.
func TestQueries(t *testing.T) {
	dir := events(t, slow)
	for _, q := range queries() {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			same(t, &q, dir)
		})
	}
}

// TestClosing: a bid that comes in the millisecond in which its auction expires is in time. There are some where
// the events are dense.
func TestClosing(t *testing.T) {
	dir := events(t, 10_000)
	for _, q := range queries() {
		if slices.Contains([]string{"q4", "q6", "q9"}, q.name) {
			t.Run(q.name, func(t *testing.T) {
				t.Parallel()
				same(t, &q, dir)
			})
		}
	}
}

// events are few, so many of them a second.
func events(t *testing.T, rate int64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := newGenerator(rate).write(dir, few); err != nil {
		t.Fatal(err)
	}
	return dir
}

// same holds that what comes out of a query is what its plain program says.
func same(t *testing.T, q *query, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	want, got := tallies(q)
	var wanted, had []string
	want.look = func(text []byte) { wanted = append(wanted, string(text)) }
	got.look = func(text []byte) { had = append(had, string(text)) }
	if err := q.plainOver(dir, want.plain); err != nil {
		t.Fatal(err)
	}
	if err := q.graphdOver(ctx, dir, got); err != nil {
		t.Fatal(err)
	}
	if want.n < 4 && q.name != "q15" {
		t.Errorf("%d values show nothing", want.n)
	}
	if text := got.differs(want); text != "" {
		t.Errorf("it puts out %s; missing: %v; too many: %v", text, without(wanted, had), without(had, wanted))
	}
}

// without are up to three values of a that are not in b.
func without(a, b []string) (of []string) {
	left := map[string]int{}
	for _, v := range b {
		left[v]++
	}
	for _, v := range a {
		if left[v]--; left[v] < 0 && len(of) < 3 {
			of = append(of, v)
		}
	}
	return of
}

// TestEvents: the events are the same each time they are made, and as the benchmark says: of fifty one person and
// three auctions, in the order of their times.
func TestEvents(t *testing.T) {
	var sums [2][sha256.Size]byte
	for i := range sums {
		dir := events(t, slow)
		var all bytes.Buffer
		for _, stream := range streams() {
			path := filepath.Join(dir, stream+".ndjson")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
			n, last := 0, int64(0)
			err = each(path, func(e event) {
				if n++; stream != "side" && e.at() < last {
					t.Errorf("%s %d is before the one before it", stream, n)
				}
				last = e.at()
			})
			want := map[string]int{"person": few / 50, "auction": few / 50 * 3, "bid": few / 50 * 46, "side": 10_000}
			if err != nil || n != want[stream] {
				t.Errorf("%d events of %s, want %d: %v", n, stream, want[stream], err)
			}
		}
		sums[i] = sha256.Sum256(all.Bytes())
	}
	if sums[0] != sums[1] {
		t.Error("the events differ from one time to the next")
	}
}

// TestTable: the table has a line for each query that is asked for, measured in processes of their own.
func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	args := []string{"-data", t.TempDir(), "-events", "5000", "-rate", "500", "-n", "1", "q2", "q10"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| q2, selection | 9 | 4600 |", "| q10, log to file system |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	err := run(t.Context(), []string{"-data", t.TempDir(), "q99"}, &out)
	if err == nil || !strings.Contains(err.Error(), "q0 to q23") {
		t.Errorf("an unknown query: %v", err)
	}
}
