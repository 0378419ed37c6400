package faults

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// cadenceGraph fires on a grid, when both inputs have something, or when what is there has
// waited long enough: the pulse is slower than the wait. Each row says which events it took; that of a pulse
// which has waited alone, as when no more events come, took none.
const cadenceGraph = `graph: effects
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, emit: event.n, strategy: burst }
  pulse: { source: { generator: { every: 300ms, expr: i } }, strategy: latest }
reactor: { when: all, every: 20ms, max_wait: 100ms }
nodes:
  row:
    expr: >-
      { "epoch": epoch(), "pulse": pulse ?? -1, "n": fresh(events) ? len(events) : 0, "first": first(events),
      "last": last(events) }
outputs:
  rows: { from: row, sink: { postgres: { table: effects } } }
durability: { interval: 50ms }
`

// TestKillCadence kills the daemon at random moments and at failpoints while a cadence, a
// wait and "when: all" decide what an epoch takes (M8, M12, M28): every event is in one row,
// in order, and both the wait and the other input have fired epochs.
func TestKillCadence(t *testing.T) {
	t.Parallel()
	const table = `create table effects (epoch bigint primary key, pulse bigint not null, n bigint not null,
		first bigint not null, last bigint not null)`
	store, db := database(t, table)
	n := someKills(t, statePoints)
	dir := declare(t, "effects", cadenceGraph)
	args := []string{"--store", store, "--lease", "1500ms"}
	var p *process
	by := &storm{dir: dir, kills: n, each: 30, points: statePoints, seed: 15, args: args, meanwhile: func() {
		p = start(t, dir, "--store", store, "--lease", "2s")
		p.until("some epochs without a kill", time.Minute, func() bool {
			var pulses int
			err := db.QueryRow(t.Context(), "select count(distinct pulse) from effects").Scan(&pulses)
			return err == nil && pulses > n+10
		})
	}}
	total, rate := by.run(t)
	var s summary // a later one may be of a daemon that has lost its lease for a moment
	p.until("every event is in a row", stuck, func() bool {
		s = p.summary("effects")
		return s.Accumulators[0].Counters.Consumed >= total && pending(&s) == 0
	})
	if err := s.balanced(); err != nil || s.Accumulators[0].Counters.Consumed != total {
		t.Errorf("%d events, %+v, %v", total, s, err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	paired, waited := checkRanges(t, db, total)
	by.hold(t)
	if paired < 3 {
		t.Errorf("the test is void: %d epochs had both inputs, fewer than 3", paired)
	}
	if 2*waited < paired { // between two pulses the wait ends twice
		t.Errorf("%d epochs came after a wait, and %d of a pulse: ticks of the cadence begin the wait anew", waited,
			paired)
	}
	t.Logf("%d kills at %.0f events/s: %d events, %d epochs with both inputs, %d after a wait", n, rate, total, paired,
		waited)
}

// checkRanges holds that the rows' ranges follow one another from 0 to total without a gap,
// and counts those of epochs that had both inputs, and that had waited long enough for one.
func checkRanges(t *testing.T, db *pgx.Conn, total int64) (paired, waited int) {
	t.Helper()
	rows, err := db.Query(t.Context(), "select pulse, n, first, last from effects order by epoch")
	if err != nil {
		t.Fatal(err)
	}
	pulse, before := int64(0), int64(-1)
	var n, first, last, next int64
	if _, err := pgx.ForEachRow(rows, []any{&pulse, &n, &first, &last}, func() error {
		if n == 0 {
			before = pulse
			return nil
		}
		if first != next || last != first+n-1 {
			t.Errorf("a row has the %d events from %d to %d, and %d was due", n, first, last, next)
		}
		next = last + 1
		if pulse != before { // it has come since the row before
			paired++
		} else {
			waited++
		}
		before = pulse
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if next != total {
		t.Errorf("the rows go up to %d of %d events", next, total)
	}
	return paired, waited
}
