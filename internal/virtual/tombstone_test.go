package virtual_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// M3: a tombstone of a compacted topic deletes the row of its message's key: it is an event that is null, and bears no
// more than what the broker knows of it.
func TestTombstoneDeletesItsRow(t *testing.T) {
	t.Parallel()
	for _, more := range []string{
		"", "schema: { type: [object, \"null\"], properties: { risk: { type: integer } } }",
		"emit: { risk: 'event.risk' }",
	} {
		u := tableUnit(t, `graph: fraud
accumulators:
  payments: { strategy: sequential, time: event.at }
  orders: { passive: true }
  merchants:
    time: meta.timestamp
    table: { key: meta.key, as_of: event }
    `+more+`
nodes:
  known: { expr: '[len(merchants), merchants["m1"]?.risk]' }
  paid: { expr: '[payments.n, known]' }
outputs:
  paid_out: { from: paid, sink: { drop: {} } }
durability: { mode: journal }
`)
		d := newDriven(t, u)
		for n, value := range []string{`{"risk":5}`, "null", `{"risk":6}`} {
			d.until(d.now.Add(time.Second))
			d.accs[2].Add(d.now, &boundary.Event{Raw: []byte(value), Meta: &boundary.Meta{
				Key: "m1", Topic: "merchants", Offset: int64(n), Timestamp: d.now,
			}}, true)
			d.add(0, fmt.Sprintf(`{"at":%q,"n":%d}`, d.now.Format(time.RFC3339), n))
			d.settle()
		}
		got := strings.Join(d.out, ",")
		if want := `1  paid_out [0,[1,5]],2  paid_out [1,[0,null]],3  paid_out [2,[1,6]]`; got != want {
			t.Errorf("%s: it was %s, want %s", more, got, want)
		}
	}
}
