package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/views"
)

// viewTypes are the types of docs/sql.md.
var viewTypes = map[string]string{"text": "text", "integer": "bigint", "time": "timestamp with time zone",
	"flag": "boolean", "number": "double precision", "json": "json", "bytes": "bytea"}

// TestViewsAreAsDocumented: the views have the columns that docs/sql.md tells of, in that order and of these types, are
// read with the rights of who asks, and cannot be written.
func TestViewsAreAsDocumented(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	open(t, dsn, schema).Close()
	told := views.Told(t)
	made := query(t, dsn, "SELECT relname FROM pg_class WHERE relkind = 'v' AND relnamespace = '"+schema+
		"'::regnamespace AND 'security_invoker=true' = ANY (reloptions)")
	if len(told) < 6 || len(made) != len(told) {
		t.Errorf("there are the views %v, and docs/sql.md has %d", made, len(told))
	}
	if got := query(t, dsn, "SELECT table_name FROM information_schema.views WHERE table_schema = $1 AND "+
		"is_updatable || is_insertable_into <> 'NONO'", schema); len(got) > 0 {
		t.Errorf("%v can be written", got)
	}
	for view, columns := range told {
		got := query(t, dsn, "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = $1 "+
			"AND table_name = $2 ORDER BY ordinal_position", schema, view)
		var want []string
		for _, c := range columns {
			name, kind, _ := strings.Cut(c, " ")
			want = append(want, name+" "+viewTypes[kind])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-told +made):\n%s", view, d)
		}
	}
}

// TestViews: what a commit has written is read from the views, with its times; nothing that a record or a key may be
// keeps a view from being read.
func TestViews(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	s := open(t, dsn, schema)
	defer s.Close()
	at := time.Date(2026, 11, 23, 16, 7, 33, 384380205, time.UTC)
	views.Fill(t, s, at)
	for text, want := range map[string][]string{
		"graph, shard, revision, updated_at, incarnation, epoch, checkpoint_at, last_fired_at, paused FROM graphs": {
			"g 0 1 2026-11-23 16:07:33.38438+00 1 2 2026-11-23 16:07:33.38438+00 2026-11-23 16:07:32.647605+00 true",
			"bare 0 1 2026-11-23 16:07:33.38438+00 1 0 <nil> <nil> false"},
		"kind, name, key, bytes FROM state": {"acc a <nil> 3", `keys  ["A",1] 4`},
		"incarnation, epoch, key, fired_at, cause, ok, error, duration_us FROM firings": {
			"1 1 <nil> 2026-11-23 16:07:32.647605+00 criteria true <nil> 28",
			"1 2 \"A\" 2026-11-23 16:07:32.764049+00 criteria false no\uFFFDthing 39.5"},
		"record -> 'inputs' ->> 'a' FROM firings WHERE epoch = 2": {"x\uFFFD"},
		"id, failed_at, accumulator, output, stage, code, reason, epoch, key, position, events, attempts, replay_of, " +
			"firing_id, bytes, convert_from(payload, 'UTF8') FROM dead_letters": {
			"l1 2026-11-23 16:07:33.38438+00 a <nil> node type_error bad 2 <nil> 7 1 1 <nil> <nil> 1 p"},
		"accumulator, filtered, conflated, dead_lettered, consumed, checkpoint_at FROM counters": {
			"a 0 4 1 3 2026-11-23 16:07:33.38438+00", "b 0 0 0 0 2026-11-23 16:07:33.38438+00"},
		"output, emitted, filtered, dead_lettered, checkpoint_at FROM output_counters": {
			"o 2 1 5 2026-11-23 16:07:33.38438+00"},
	} {
		columns, from, _ := strings.Cut(text, " FROM ")
		view, where, _ := strings.Cut(from, " ")
		list := strings.Split(columns, ", ")
		for i := range list {
			if strings.HasSuffix(list[i], "_at") {
				list[i] += "::text"
			}
		}
		got := query(t, dsn, "SELECT "+strings.Join(list, ", ")+" FROM "+schema+"."+view+" "+where)
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
	for view := range views.Told(t) {
		if rows := query(t, dsn, "SELECT DISTINCT tenant FROM "+schema+"."+view); fmt.Sprint(rows) != "[acme]" {
			t.Errorf("%s has tenants %v", view, rows)
		}
	}
}
