package virtual_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// tableGraph looks up what a stream of changes has left, with and without keys.
func tableGraph(keyed bool) string {
	key := ""
	if keyed {
		key = ", key: card"
	}
	return `graph: fraud
accumulators:
  payments: { strategy: sequential }
  orders: { strategy: latest }
  merchants:
    table: { key: event.m, delete_when: event.gone == true, ttl: 40s, max_rows: 60 }
    emit: { risk: event.risk }
reactor: { when: any` + key + ` }
nodes:
  risk: { expr: 'merchants[payments.m]?.risk' }
  alert:
    expr: '{ "n": payments.n, "risk": risk ?? -1, "all": len(merchants), "sum": sum(values(merchants), .risk) }'
  state: { expr: '{ "order": orders.n, "known": orders.m in merchants }' }
  bad: { expr: '1 / ((payments.n + 4) % 9)', on_error: fail_epoch }
outputs:
  alerts: { from: alert, sink: { drop: {} } }
  orders_out: { from: state, sink: { drop: {} } }
durability: { mode: journal }
`
}

func tableUnit(t *testing.T, text string) *compile.Unit {
	t.Helper()
	kinds := &builtin.Kinds{}
	g, diags := spec.Parse([]byte(text), kinds.Declared(), spec.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	u, diags := kinds.Compile(g)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return u
}

// driven is a journaled core with its accumulators, which can lose its memory at any moment.
type driven struct {
	t       *testing.T
	u       *compile.Unit
	core    *reactor.Core
	accs    []*accumulator.Core
	now     time.Time
	head    checkpoint.Head
	cells   map[string]checkpoint.Cell
	journal []checkpoint.JournalEntry
	out     []string
}

func newDriven(t *testing.T, u *compile.Unit) *driven {
	d := &driven{t: t, u: u, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), cells: map[string]checkpoint.Cell{}}
	d.begin()
	return d
}

// begin makes core and accumulators of what is kept.
func (d *driven) begin() {
	cfg := d.u.Reactor()
	cfg.KeepFirings = 5
	d.core = reactor.NewCore(cfg)
	cells := slices.Collect(maps.Values(d.cells))
	if _, err := d.core.Restore(d.head, cells); err != nil {
		d.t.Fatal(err)
	}
	r := reactor.NewReplayer(d.core, d.head)
	for _, e := range d.journal {
		if err := r.Entry(e); err != nil {
			d.t.Fatal(err)
		}
	}
	r.Done()
	d.core.ResetReleased()
	d.core.Begin()
	d.accs = nil
	for i, p := range d.u.Programs {
		a := accumulator.NewCore(p, accumulator.Limits{})
		mark, state := d.core.ResumePoint(i)
		if err := a.RestoreMark(mark, state); err != nil {
			d.t.Fatal(err)
		}
		a.Restarted(d.now)
		d.accs = append(d.accs, a)
	}
	d.core.Start(d.now)
	for i := range d.accs {
		d.core.SetHealth(d.now, i, accumulator.SocketOnly, "", "")
	}
}

// seal takes a checkpoint.
func (d *driven) seal() {
	s := d.core.Seal(d.now)
	c := s.Commit()
	d.core.Sealed(s, nil)
	for _, cell := range c.Cells {
		id := cell.Kind + "/" + cell.Name + "/" + cell.Key
		if cell.Data == nil {
			delete(d.cells, id)
		} else {
			d.cells[id] = cell
		}
	}
	d.head = checkpoint.Head{Epoch: c.Epoch, Meta: c.Meta, Journal: c.JournalTo}
	d.journal = nil
	d.core.DrainJournal()
}

func (d *driven) add(input int, event string) {
	d.accs[input].Add(d.now, &boundary.Event{Raw: []byte(event)}, false)
}

// settle hands over what there is and fires.
func (d *driven) settle() {
	for i, a := range d.accs {
		if due, ok := a.Due(); ok && !due.After(d.now) {
			a.Tick(d.now)
		}
		h := &accumulator.Handoff{}
		if a.Drain(h) {
			d.core.Admit(d.now, i, h, 0)
		}
	}
	for d.core.Fire(d.now) {
		for _, m := range d.core.Released() {
			d.out = append(d.out, fmt.Sprintf("%d %s %s %s", m.Epoch, m.Key, m.Output, m.Value))
		}
		d.core.ResetReleased()
	}
	d.journal = append(d.journal, d.core.DrainJournal()...)
}

// books fails unless they balance (M42).
func (d *driven) books() {
	d.t.Helper()
	for i, in := range d.core.Look().Inputs {
		b := in.Books
		if b.Received != b.Filtered+b.Conflated+b.Rejected+b.DeadLettered+b.Consumed+b.Queued {
			d.t.Fatalf("the books of input %d do not balance: %+v", i, b)
		}
		if i == 2 && (b.Conflated != 0 || b.Queued != 0) {
			d.t.Fatalf("an event of a table is neither conflated nor queued: %+v", b)
		}
	}
}

// M28, M29, M42: a graph that looks up rows and loses its memory at any moment goes on, from a checkpoint
// and the journal behind it, as one that has not.
func TestTableIsRestoredAtAnyMoment(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		u := tableUnit(t, tableGraph(seed%2 == 1))
		r := rand.New(rand.NewPCG(seed, 7))
		plain, torn := newDriven(t, u), newDriven(t, u)
		for n := range 150 {
			wait := time.Duration(r.IntN(5)) * time.Second
			input, event := r.IntN(3), ""
			switch m, card := r.IntN(90), r.IntN(3); input {
			case 2:
				event = fmt.Sprintf(`{"m":%d,"risk":%d,"gone":%t}`, m, r.IntN(9), r.IntN(4) == 0)
			default:
				event = fmt.Sprintf(`{"card":"c%d","m":%d,"n":%d}`, card, m, n)
			}
			many := input == 2 && r.IntN(6) == 0
			settles, seals, dies := r.IntN(3) > 0, r.IntN(12) == 0, r.IntN(6) == 0
			for _, d := range []*driven{plain, torn} {
				d.now = d.now.Add(wait)
				d.add(input, event)
				for m := 0; many && m < 70; m++ {
					d.add(2, fmt.Sprintf(`{"m":%d,"risk":1}`, m))
				}
				if settles || dies || seals {
					d.settle()
				}
			}
			if seals {
				torn.seal()
			}
			if dies {
				torn.begin()
			}
			plain.books()
			torn.books()
		}
		if a, b := strings.Join(plain.out, "\n"), strings.Join(torn.out, "\n"); a != b || len(plain.out) < 20 {
			t.Fatalf("seed %d:\n%s\n\nafter losing its memory:\n%s", seed, a, b)
		}
		a, _ := plain.core.ResumePoint(2)
		b, _ := torn.core.ResumePoint(2)
		if string(a.State.AppendBinary(nil)) != string(b.State.AppendBinary(nil)) {
			t.Fatalf("seed %d: the tables differ", seed)
		}
	}
}

// M16: a change of a table triggers nothing. A node whose every run counts does not run because of one; a
// node of state does, with the next epoch.
func TestChangeOfATableTriggersNothing(t *testing.T) {
	t.Parallel()
	d := newDriven(t, tableUnit(t, tableGraph(false)))
	d.add(2, `{"m":1,"risk":5}`)
	d.settle()
	d.add(0, `{"m":1,"n":1}`)
	d.settle()
	d.add(1, `{"m":2,"n":1}`)
	d.settle()
	d.add(2, `{"m":2,"risk":6}`)
	d.settle()
	d.add(0, `{"m":3,"n":2}`)
	d.settle()
	want := []string{
		`1  alerts {"all":1,"n":1,"risk":5,"sum":5}`,
		`2  orders_out {"known":false,"order":1}`,
		`3  alerts {"all":2,"n":2,"risk":-1,"sum":11}`,
		`3  orders_out {"known":true,"order":1}`,
	}
	if !slices.Equal(d.out, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(d.out, "\n"), strings.Join(want, "\n"))
	}
}

// M3, M21, M28: what was admitted to a table is seen by every epoch after it, whether the one before has failed or
// not, and whether the graph was restored in between.
func TestFailedEpochLosesNoChangeOfATable(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		d := newDriven(t, tableUnit(t, tableGraph(false)))
		d.add(2, `{"m":1,"risk":5}`)
		d.settle()
		d.add(0, `{"m":1,"n":5}`) // this one fails
		d.settle()
		if dies {
			d.seal()
			d.begin()
		}
		d.add(0, `{"m":1,"n":6}`)
		d.settle()
		want := []string{`2  alerts {"all":1,"n":6,"risk":5,"sum":5}`}
		if !slices.Equal(d.out, want) {
			t.Errorf("restored %t: got\n%s\nwant\n%s", dies, strings.Join(d.out, "\n"), strings.Join(want, "\n"))
		}
		if b := d.core.Look().Inputs[2].Books; b.Consumed != 1 || b.DeadLettered != 0 {
			t.Errorf("restored %t: the books of the table are %+v", dies, b)
		}
	}
}

// M3, M11, M28: a firing on values that are given sees the newest rows, as it does after a restart.
func TestFiringOnGivenValuesSeesTheNewestRows(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		d := newDriven(t, tableUnit(t, tableGraph(false)))
		d.add(2, `{"m":1,"risk":5}`)
		d.add(0, `{"m":1,"n":1}`)
		d.settle()
		d.add(2, `{"m":1,"risk":6}`)
		d.settle()
		if dies {
			d.seal()
			d.begin()
		}
		values := make([]boundary.Value, 3)
		values[0] = boundary.Object(boundary.NewShape("m", "n"), []boundary.Value{boundary.Int(1), boundary.Int(2)})
		res, err := d.core.FireWith(d.now, "", values, false)
		if err != nil || res.Err != "" || fmt.Sprint(res.Values) != `[{"all":1,"n":2,"risk":6,"sum":6}]` {
			t.Errorf("restored %t: %+v, %v", dies, res, err)
		}
	}
}

// M28: after a restart too a checkpoint writes what has changed in a table, and not the table.
func TestRestartedTableIsNotWrittenAnew(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(tableGraph(false), "max_rows: 60", "max_rows: 6000")
	d := newDriven(t, tableUnit(t, text))
	for m := range 4000 {
		d.add(2, fmt.Sprintf(`{"m":%d,"risk":1}`, m))
	}
	d.settle()
	d.seal()
	d.begin()
	d.add(2, `{"m":7,"risk":2}`)
	d.settle()
	s := d.core.Seal(d.now)
	parts := 0
	for _, cell := range s.Commit().Cells {
		if cell.Kind == "part" {
			parts++
		}
	}
	if parts != 1 {
		t.Errorf("%d parts are written for one change", parts)
	}
}

// A firing record tells of a table what was looked up, and not the table.
func TestRecordTellsWhatWasLookedUp(t *testing.T) {
	t.Parallel()
	d := newDriven(t, tableUnit(t, tableGraph(false)))
	d.add(2, `{"m":1,"risk":5}`)
	d.add(0, `{"m":1,"n":1}`)
	d.add(0, `{"m":2,"n":2}`)
	d.settle()
	var got []string
	d.core.Show(d.core.RecordsMade())
	d.core.Records(0, func(_ int64, r *reactor.Record) bool {
		text := string(d.core.Config().AppendRecord(nil, r))
		_, text, _ = strings.Cut(text, `"merchants":`)
		text, _, _ = strings.Cut(text, `},"outputs"`)
		got = append(got, text)
		return true
	})
	want := []string{
		`{"rows":1,"version":2,"looked_up":[{"key":1,"row":{"risk":5}}]}`,
		`{"rows":1,"version":2,"looked_up":[{"key":2,"row":null}]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
