package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/views"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// TestViews: the views have the columns that docs/sql.md tells of, in that order, show what a commit has written while
// the daemon has the store, and cannot be written.
func TestViews(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.db")
	s := open(t, path)
	defer closeStore(t, s)
	at := time.Date(2026, 11, 23, 16, 7, 33, 384380205, time.UTC)
	views.Fill(t, s, at)
	c, err := sqlconn.OpenToRead(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := func(text string) (rows []string) {
		t.Helper()
		if err := c.Query(t.Context(), text, func(r sqlconn.Row) error {
			values := make([]any, len(r))
			for i, v := range r {
				if values[i] = v; v != nil {
					values[i] = fmt.Sprintf("%v", v)
				}
				if b, ok := v.([]byte); ok {
					values[i] = string(b)
				}
			}
			rows = append(rows, strings.TrimSpace(fmt.Sprintln(values...)))
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		slices.Sort(rows)
		return rows
	}
	for view, columns := range views.Told(t) {
		var want []string
		for _, c := range columns {
			name, _, _ := strings.Cut(c, " ")
			want = append(want, name)
		}
		var got []string
		if err := c.Query(t.Context(), "SELECT name FROM pragma_table_info('"+view+"')", func(r sqlconn.Row) error {
			got = append(got, r.Text(0))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-told +made):\n%s", view, d)
		}
		if rows := read("SELECT DISTINCT tenant FROM " + view); fmt.Sprint(rows) != "[acme]" {
			t.Errorf("%s has tenants %v", view, rows)
		}
	}
	for text, want := range map[string][]string{
		"graph, shard, revision, updated_at, incarnation, epoch, checkpoint_at, last_fired_at, paused FROM graphs": {
			"bare 0 1 2026-11-23T16:07:33.384Z 1 0 <nil> <nil> 0", "g 0 1 2026-11-23T16:07:33.384Z 1 2 " +
				"2026-11-23T16:07:33.384Z 2026-11-23T16:07:32.647604674Z 1"},
		"kind, name, key, bytes FROM state": {"acc a <nil> 3", `keys  ["A",1] 4`},
		"incarnation, epoch, key, fired_at, cause, ok, error, duration_us FROM firings": {
			"1 1 <nil> 2026-11-23T16:07:32.647604674Z criteria 1 <nil> 28",
			"1 2 \"A\" 2026-11-23T16:07:32.764049356Z criteria 0 no\x00thing 39.5"},
		"json_extract(record, '$.inputs.a') FROM firings WHERE epoch = 1": {"1"},
		"id, failed_at, accumulator, output, stage, code, reason, epoch, key, position, events, attempts, replay_of, " +
			"firing_id, bytes, payload FROM dead_letters": {
			"l1 2026-11-23T16:07:33.384Z a <nil> node type_error bad 2 <nil> 7 1 1 <nil> <nil> 1 p"},
		"accumulator, filtered, conflated, dead_lettered, consumed, checkpoint_at FROM counters": {
			"a 0 4 1 3 2026-11-23T16:07:33.384Z", "b 0 0 0 0 2026-11-23T16:07:33.384Z"},
		"output, emitted, filtered, dead_lettered, checkpoint_at FROM output_counters": {
			"o 2 1 5 2026-11-23T16:07:33.384Z"},
	} {
		if d := cmp.Diff(want, read("SELECT "+text)); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}
