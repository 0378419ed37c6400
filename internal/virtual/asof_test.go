package virtual_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/compile"
)

// asOfGraph looks rows up as of the payments, which under all wait for the orders of their cards.
func asOfGraph(when, key string) string {
	return `graph: fraud
accumulators:
  payments: { strategy: sequential, time: event.at }
  orders: { strategy: sequential, time: event.at }
  merchants:
    time: event.at
    table: { key: event.m, delete_when: event.gone == true, ttl: 9s, as_of: event }
    emit: { risk: event.risk }
reactor: { when: ` + when + key + ` }
nodes:
  found:
    expr: >-
      { "n": fresh(payments) ? payments.n : nil, "o": fresh(orders) ? orders.n : nil, "m": payments?.m,
        "risk": merchants[payments?.m]?.risk, "all": len(merchants) }
outputs:
  alerts: { from: found, sink: { drop: {} } }
durability: { mode: journal }
`
}

// rowsThen is the oracle: every change there was, to be gone through for each question.
type rowsThen struct {
	list []rowChange
}

type rowChange struct {
	stamp, gone int64 // from when the row is there, and from when it is not any more
	m           int
	risk        int // -1: it was deleted
}

func (o *rowsThen) change(now, at time.Time, m, risk int) {
	if _, there := o.then(now.UnixNano() + 1)[m]; risk < 0 && !there {
		return
	}
	stamp := now.UnixNano()
	if at.Before(now) {
		stamp++
	}
	if n := len(o.list); n > 0 {
		stamp = max(stamp, o.list[n-1].stamp)
	}
	o.list = append(o.list, rowChange{stamp, now.Add(9 * time.Second).UnixNano(), m, risk})
}

func (o *rowsThen) then(t int64) map[int]int {
	rows := map[int]int{}
	for _, c := range o.list {
		if c.stamp > t {
			continue
		}
		if delete(rows, c.m); c.risk >= 0 && t < c.gone {
			rows[c.m] = c.risk
		}
	}
	return rows
}

// until brings the timers of the accumulators on the way to their own times, and the clock to a time.
func (d *driven) until(to time.Time) {
	for {
		var next *accumulator.Core
		at := to
		for _, a := range d.accs {
			if due, ok := a.Due(); ok && due.Before(at) {
				next, at = a, due
			}
		}
		if d.now = at; next == nil {
			return
		}
		next.Tick(at)
	}
}

// rest hands over what there is, and fires unless the graph is held up.
func (d *driven) rest(held bool) {
	for i, a := range d.accs {
		if due, ok := a.Due(); ok && !due.After(d.now) {
			a.Tick(d.now)
		}
		h := &accumulator.Handoff{}
		if a.Drain(h) {
			d.core.Admit(d.now, i, h, 0)
		}
	}
	for !held && d.core.Fire(d.now) {
		for _, m := range d.core.Released() {
			d.out = append(d.out, m.Value.String())
		}
		d.core.ResetReleased()
	}
	d.journal = append(d.journal, d.core.DrainJournal()...)
}

// M3, M26, M28, M29: a row is found as it was when what fires happened, in whatever order events come, however
// long they wait for others of their key or because the graph is held up, and whatever is lost on the way.
func TestRowsAreAsOfTheEvent(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		when := []string{"any", "all"}[seed%2]
		key := []string{"", ", key: card"}[seed/2%2]
		t.Run(fmt.Sprintf("%d %s%s", seed, when, key), func(t *testing.T) {
			t.Parallel()
			asOfTheEvent(t, seed, tableUnit(t, asOfGraph(when, key)))
		})
	}
}

func asOfTheEvent(t *testing.T, seed uint64, u *compile.Unit) {
	r := rand.New(rand.NewPCG(seed, 104))
	d, oracle := newDriven(t, u), &rowsThen{}
	times := [2][]time.Time{{}, {}} // of the payments and the orders, by number
	held := 0
	for range 250 {
		d.until(d.now.Add(time.Duration(1+r.IntN(3)) * 400 * time.Millisecond))
		for range 1 + r.IntN(3) {
			at := d.now
			if r.IntN(3) == 0 {
				at = at.Add(-time.Duration(r.IntN(6000)) * time.Millisecond)
			}
			text := at.Format(time.RFC3339Nano)
			switch input, m := r.IntN(3), r.IntN(5); input {
			case 2:
				risk := r.IntN(8) - 2
				oracle.change(d.now, at, m, max(risk, -1))
				d.add(2, fmt.Sprintf(`{"at":%q,"m":%d,"risk":%d,"gone":%t}`, text, m, risk, risk < 0))
			default:
				d.add(input, fmt.Sprintf(`{"at":%q,"card":"c%d","m":%d,"n":%d}`, text, r.IntN(3), m, len(times[input])))
				times[input] = append(times[input], at)
			}
		}
		if held > 0 {
			held--
		} else if r.IntN(8) == 0 {
			held = r.IntN(30)
		}
		d.rest(held > 0)
		if r.IntN(9) == 0 {
			d.seal()
		}
		if r.IntN(9) == 0 {
			d.begin()
		}
	}
	d.rest(false)
	seen := 0
	for _, text := range d.out {
		var got struct {
			All           int
			N, O, M, Risk *int
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		at := time.Time{}
		for i, n := range [...]*int{got.N, got.O} {
			if n != nil && times[i][*n].After(at) {
				at = times[i][*n]
			}
		}
		seen++
		rows := oracle.then(at.UnixNano())
		risk, ok := 0, false
		if got.M != nil {
			risk, ok = rows[*got.M]
		}
		if len(rows) != got.All || ok != (got.Risk != nil) || ok && *got.Risk != risk {
			t.Fatalf("%s as of %v, where there is %v", text, at, rows)
		}
	}
	if seen < 10 {
		t.Errorf("the test is void: %d of %d", seen, len(d.out))
	}
}

// M16: a node of state that has seen a table as it was sees the newest rows again with the next event, also after a
// restart in between.
func TestStateComesBackFromTheTableAsItWas(t *testing.T) {
	t.Parallel()
	u := tableUnit(t, `graph: fraud
accumulators:
  payments: { strategy: sequential, time: event.at }
  orders: { passive: true }
  merchants: { time: event.at, table: { key: event.m, as_of: event } }
nodes:
  known: { expr: len(merchants), event: false }
  paid: { expr: payments.n }
outputs:
  known_out: { from: known, sink: { drop: {} } }
  paid_out: { from: paid, sink: { drop: {} } }
durability: { mode: journal }
`)
	for _, restarts := range []bool{false, true} {
		d := newDriven(t, u)
		began := d.now
		for n, event := range []struct{ input, at, now int }{
			{2, 1, 1}, {0, 2, 2}, {2, 3, 3}, {0, 4, 4}, {0, 2, 5}, {0, 6, 6}, {0, 2, 7}, {0, 8, 8},
		} {
			d.until(began.Add(time.Duration(event.now) * time.Second))
			at := began.Add(time.Duration(event.at) * time.Second).Format(time.RFC3339)
			d.add(event.input, fmt.Sprintf(`{"at":%q,"m":%d,"n":%d}`, at, n, n))
			d.settle()
			if restarts {
				if n%2 == 0 {
					d.seal()
				}
				d.begin()
			}
		}
		got := ""
		for _, line := range d.out {
			if f := strings.Fields(line); f[1] == "known_out" {
				got += f[0] + ":" + f[2] + " "
			}
		}
		if want := "1:1 2:2 3:1 4:2 5:1 6:2 "; got != want {
			t.Errorf("restarts %t: the epochs saw %s, want %s", restarts, got, want)
		}
	}
}
