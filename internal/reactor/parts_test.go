package reactor

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/spec"
)

const windowsDoc = `
graph: windows
accumulators:
  readings:
    time: event.at
    strategy: sequential
    window:
      hopping: { size: 20s, every: 10s }
      lateness: 3s
      key: event.k
      aggregate: { n: count(), total: sum(event.x), ids: 'collect(event.x, 5)' }
outputs: { all: { from: readings, sink: { drop: {} } } }
`

// windowRig is a window's fold in front of a core, and a store that keeps cells.
type windowRig struct {
	t     *testing.T
	p     *accumulator.Program
	acc   *accumulator.Core
	core  *Core
	cfg   Config
	head  checkpoint.Head
	cells map[[2]string]checkpoint.Cell
	wrote int // parts written by the last commit
}

func newWindowRig(t *testing.T) *windowRig {
	t.Helper()
	g, diags := spec.Parse([]byte(windowsDoc), testKinds(), spec.Options{})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	p, ds := accumulator.Compile(&g.Accumulators[0], accumulator.CompileOptions{})
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	p.Project(nil, true)
	r := &windowRig{t: t, p: p, cfg: testConfig(t, windowsDoc), cells: map[[2]string]checkpoint.Cell{}}
	r.start()
	return r
}

// start is a start after which only the store is left of what was before.
func (r *windowRig) start() {
	r.t.Helper()
	r.core, r.acc = NewCore(r.cfg), accumulator.NewCore(r.p, accumulator.Limits{})
	if _, err := r.core.Restore(r.head, slices.Collect(maps.Values(r.cells))); err != nil {
		r.t.Fatal(err)
	}
	r.core.Start(epochZero)
	r.core.SetHealth(epochZero, 0, accumulator.SocketOnly, "", "")
	m, state := r.core.ResumePoint(0)
	if err := r.acc.Restore(state, m.Counters, m.Positions); err != nil {
		r.t.Fatal(err)
	}
}

// position is how many events the store covers.
func (r *windowRig) position() int {
	if m, _ := r.core.ResumePoint(0); len(m.Positions) > 0 {
		return int(m.Positions[0].Offset)
	}
	return 0
}

func (r *windowRig) add(n int, at, k, x int) {
	ev := boundary.Event{
		Raw: fmt.Appendf(nil, `{"at":%d,"k":%d,"x":%d}`, 1_700_000_000_000+at, k, x),
		Pos: boundary.Position{Stream: "f", Offset: int64(n + 1)},
	}
	if o := r.acc.Add(epochZero.Add(time.Hour), &ev, true); o.Status != accumulator.Accepted {
		r.t.Fatalf("event %d: %+v", n, o)
	}
}

// admit hands over, fires, and returns what was handed over.
func (r *windowRig) admit() (out []string) {
	h := &accumulator.Handoff{}
	if r.acc.Drain(h) {
		for i := range h.Boundaries {
			out = append(out, fmt.Sprint(h.Boundaries[i].Value, h.Boundaries[i].Events))
		}
		r.core.Admit(epochZero, 0, h, 0)
	}
	for r.core.Fire(epochZero) {
		r.core.ResetReleased()
	}
	return out
}

func (r *windowRig) seal(fails bool) {
	s := r.core.Seal(epochZero)
	c := s.Commit()
	if fails {
		r.core.Sealed(s, errors.New("disk full"))
		return
	}
	r.head = checkpoint.Head{Epoch: c.Epoch, Meta: c.Meta}
	r.wrote = 0
	for _, cell := range c.Cells {
		name := [2]string{cell.Kind, cell.Name}
		if cell.Kind == form.CellPart && cell.Data != nil {
			r.wrote++
		}
		if cell.Data == nil {
			if _, ok := r.cells[name]; !ok {
				r.t.Errorf("the cell %v is deleted and was not there", name)
			}
			delete(r.cells, name)
			continue
		}
		r.cells[name] = cell
	}
	r.core.Sealed(s, nil)
}

// M28, M3: open windows are kept in parts, of which a checkpoint writes what has changed.
// After crashes at random points, with commits that fail, the windows are those of a run
// without any, each event in the books once; and nothing of closed windows stays behind.
func TestM28WindowsInParts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		type event struct{ at, k, x int }
		events := make([]event, 600)
		for i := range events {
			events[i] = event{at: i*150 + r.IntN(3000), k: r.IntN(90), x: i}
		}
		plain, w := newWindowRig(t), newWindowRig(t)
		for i, e := range events {
			plain.add(i, e.at, e.k, e.x)
		}
		plain.acc.EndOfInput(epochZero)
		want := plain.admit()
		var durable, since []string
		for i := 0; i < len(events); i++ {
			e := events[i]
			w.add(i, e.at, e.k, e.x)
			if r.IntN(10) == 0 {
				since = append(since, w.admit()...)
			}
			switch r.IntN(40) {
			case 0, 1:
				w.seal(false)
				durable, since = append(durable, since...), nil
			case 2:
				w.seal(true)
			case 3:
				w.start()
				i, since = w.position()-1, nil
			}
		}
		w.acc.EndOfInput(epochZero)
		got := append(append(durable, since...), w.admit()...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		v := w.core.Look()
		if b := v.Inputs[0].Books; b.Received != int64(len(events)) || b.Consumed != int64(len(events)) ||
			b.Queued != 0 {
			t.Errorf("seed %d: books %+v", seed, b)
		}
		w.seal(false)
		for name := range w.cells {
			if name[0] == form.CellPart {
				t.Errorf("seed %d: %v stays behind although nothing is open", seed, name)
			}
		}
	}
}

// M28: what a checkpoint writes is in proportion to what has changed.
func TestM28PartsWrittenAreTheChanges(t *testing.T) {
	t.Parallel()
	w := newWindowRig(t)
	for i := range 3200 {
		w.add(i, 15_000, i, i)
	}
	w.admit()
	w.seal(false)
	all := w.wrote
	w.add(3200, 15_000, 5, 1)
	w.admit()
	w.seal(false)
	if all != 200 || w.wrote != 2 {
		t.Errorf("%d parts at first and %d for one event in two windows; want 200 and 2", all, w.wrote)
	}
	w.seal(false)
	if w.wrote != 0 {
		t.Errorf("%d parts without a change", w.wrote)
	}
}
