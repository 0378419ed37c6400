package virtual_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/drive"
)

// journaled is a graph whose core keeps a journal, as a daemon runs it under the event clock.
type journaled struct {
	t       *testing.T
	u       *compile.Unit
	core    *reactor.Core
	accs    []*accumulator.Core
	drive   *drive.Drive
	cells   map[string]checkpoint.Cell
	head    checkpoint.Head
	entries []checkpoint.JournalEntry // since head
	only    bool                      // nothing of them is run again
}

// declared is a declaration compiled, which has no mistake.
func declared(t *testing.T, text string) *compile.Unit {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(text), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return u
}

func newJournaled(t *testing.T, u *compile.Unit) *journaled {
	j := &journaled{t: t, u: u, core: reactor.NewCore(config(u)), cells: map[string]checkpoint.Cell{}}
	j.core.Begin()
	j.core.Start(time.Time{})
	j.drive = drive.New(j.core, nil, nil, j, time.Time{})
	for i, p := range u.Programs {
		j.core.SetHealth(time.Time{}, i, accumulator.SocketOnly, "", "")
		var acc *accumulator.Core
		if !u.Spec.Accumulators[i].Fed() {
			acc = accumulator.NewCore(p, accumulator.Limits{})
		}
		j.accs = append(j.accs, acc)
		j.drive.Enter(i, acc)
	}
	return j
}

func config(u *compile.Unit) reactor.Config {
	cfg := u.Reactor()
	cfg.ID, cfg.Instance = checkpoint.ID{Tenant: "default", Graph: u.Spec.Name}, uuid.Nil
	cfg.Incarnation, cfg.Fence, cfg.Journal, cfg.EventClock = 1, 1, true, true
	return cfg
}

// HandOver, Grant, Fired and Begun implement [drive.Host].
func (j *journaled) HandOver(i int) {
	var h accumulator.Handoff
	if j.accs[i] != nil && j.accs[i].Drain(&h) {
		j.core.Admit(j.drive.Time(), i, &h, 0)
	}
}
func (j *journaled) Grant() bool     { return true }
func (j *journaled) Fired()          { j.core.ResetReleased() }
func (j *journaled) Begun(time.Time) {}

// take folds an event at its time, with the graph at rest before and after.
func (j *journaled) take(second int, raw string) { j.takeInto(0, second, raw) }

// takeInto is take of input i's event.
func (j *journaled) takeInto(i, second int, raw string) {
	at := time.Unix(int64(second), 0).UTC()
	j.drive.Begin(at)
	for j.drive.Timer(at, false) {
		j.drive.Quiesce()
	}
	j.drive.Reach(at)
	j.accs[i].Add(j.drive.Touch(i), &boundary.Event{Raw: []byte(raw)}, true)
	j.drive.Close()
	j.drive.Quiesce()
	j.entries = append(j.entries, j.core.DrainJournal()...)
}

// seal takes a checkpoint.
func (j *journaled) seal() {
	s := j.core.Seal(j.drive.Time())
	c := s.Commit()
	j.core.Sealed(s, nil)
	for _, cell := range c.Cells {
		id := cell.Kind + "\x00" + cell.Name + "\x00" + cell.Key
		if j.cells[id] = cell; cell.Data == nil {
			delete(j.cells, id)
		}
	}
	j.head = checkpoint.Head{Epoch: c.Epoch, Meta: c.Meta, Journal: c.JournalTo}
	j.entries = nil
}

// replayed is the core that a crash now would leave behind.
func (j *journaled) replayed() *reactor.Core {
	j.t.Helper()
	c := reactor.NewCore(config(j.u))
	cells := make([]checkpoint.Cell, 0, len(j.cells))
	for _, cell := range j.cells {
		cells = append(cells, cell)
	}
	if _, err := c.Restore(j.head, cells); err != nil {
		j.t.Fatal(err)
	}
	r := reactor.NewReplayer(c, j.head)
	r.AdmitOnly = j.only
	for _, e := range j.entries {
		if err := r.Entry(e); err != nil {
			j.t.Fatal(err)
		}
	}
	r.Done()
	return c
}

// M28, M29: a checkpoint and the journal behind it give the stages that were there, whenever the
// process ends: windows that were closed by where a stage had come, batches by a timer, events of
// letters that came again.
func TestM29StagesAreReplayed(t *testing.T) {
	t.Parallel()
	u := declared(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s, window: { tumbling: 2s, lateness: 1s, key: event.k, aggregate: { n: count() } } }
  s: { from: n, time: event.start, window: { tumbling: 6s, lateness: 2s, aggregate: { n: sum(event.n) } } }
  w: { from: n, batch: { size: 5, interval: 3s } }
  d: { from: m, window: { tumbling: 9s, aggregate: { n: count() } } }
nodes:
  n: { expr: a }
  m: { expr: 's.n + 1' }
  all: { event: true, expr: '[now(), a ?? nil, s ?? nil, w ?? nil, d ?? nil]' }
outputs: { o: { from: all, sink: { stdout: {} } } }
reactor: { strategy: sequential }
`)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 29))
		j := newJournaled(t, u)
		second := 0
		for range 60 {
			second += r.IntN(4)
			j.take(second, fmt.Sprintf(`{"at":%d,"k":%d}`, max(0, second-r.IntN(2)), r.IntN(3)))
			if r.IntN(9) == 0 {
				j.core.Feed(j.drive.Time(), 2, &boundary.Event{Raw: []byte(`{"n":7}`)})
				j.entries = append(j.entries, j.core.DrainJournal()...)
			}
			got, want := j.replayed(), j.core
			if g, w := stateOf(t, got), stateOf(t, want); !reflect.DeepEqual(g, w) {
				t.Fatalf("seed %d, second %d:\nreplayed %+v\n  it was %+v", seed, second, g, w)
			}
			if r.IntN(6) == 0 {
				j.seal()
			}
		}
		if b := stateOf(t, j.core).Books; b[1].Consumed == 0 || b[2].Consumed == 0 || b[3].Consumed == 0 {
			t.Fatalf("seed %d is void: %+v", seed, b)
		}
	}
}

// told is what two equal cores have in common.
type told struct {
	Epoch  int64
	Values []string
	Queues []int
	Books  []reactor.Books
}

func stateOf(t *testing.T, c *reactor.Core) (all told) {
	t.Helper()
	st, err := c.GetState("")
	if err != nil {
		t.Fatal(err)
	}
	for i := range st.Cache {
		all.Values = append(all.Values, st.Cache[i].String())
	}
	for i := range st.Nodes {
		all.Values = append(all.Values, st.Nodes[i].String())
	}
	all.Epoch, all.Queues = st.Epoch, st.Queues
	for _, in := range c.Look().Inputs {
		all.Books = append(all.Books, in.Books)
	}
	return all
}

// M4: however fast newest values come, and however much a stage makes of each, what waits in it is bounded.
func TestM4StagesAreBounded(t *testing.T) {
	t.Parallel()
	u := declared(t, `graph: g
accumulators:
  a: { strategy: latest }
  s: { from: n, window: { hopping: { size: 10s, every: 1s }, aggregate: { n: count() } }, capacity: 50 }
nodes: { n: { event: true, expr: a } }
outputs: { o: { from: s, sink: { stdout: {} } } }
`)
	cfg := config(u)
	cfg.Journal, cfg.EventClock = false, false
	c := reactor.NewCore(cfg)
	now := time.Unix(1000, 0).UTC()
	c.Start(now)
	c.SetHealth(now, 0, accumulator.SocketOnly, "", "")
	taken := int64(0)
	for n := range 2000 {
		now = now.Add(5 * time.Second) // what five windows end in
		h := &accumulator.Handoff{Boundaries: []boundary.Boundary{{Value: boundary.Int(int64(n)), Events: 1}}}
		h.Mark.Counters.Received = int64(n + 1)
		c.Admit(now, 0, h, 0)
		c.Tick(now)
		c.Fire(now) // one epoch to each
		v := c.Look()
		if v.Inputs[1].Depth > 60 {
			t.Fatalf("after %d values %d boundaries wait", n, v.Inputs[1].Depth)
		}
		taken = v.Inputs[0].Books.Consumed
	}
	if taken < 100 {
		t.Errorf("only %d values were taken: the stage held up what feeds it for good", taken)
	}
}

// M42: late events of a stage take room of their input as those of any window do, and give it back.
func TestM42LateEventsOfAStageTakeRoom(t *testing.T) {
	t.Parallel()
	u := declared(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s, strategy: sequential }
  s: { from: n, time: event.at, time_unit: s, window: { tumbling: 1s, late: old, aggregate: { n: count() } } }
nodes: { n: { expr: a } }
outputs: { o: { from: old, sink: { stdout: {} } } }
`)
	j := newJournaled(t, u)
	var room reactor.Credit
	for second := range 20 {
		j.take(second, fmt.Sprintf(`{"at":%d}`, second-4*(second%2)))
		j.core.DrainFreed(func(i int, freed reactor.Credit) {
			if u.Spec.Accumulators[i].Name == "old" {
				room.Boundaries += freed.Boundaries
				room.Bytes += freed.Bytes
			}
		})
	}
	if b := stateOf(t, j.core).Books; b[1].Filtered == 0 || room != (reactor.Credit{}) {
		t.Errorf("books %+v, room %+v", b, room)
	}
}
