package live

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// The simulator drives the real reactor, core, inbox, writers and memory store through a
// seeded sequence of arrivals, turns, store calls, deliveries, commands and faults, and
// checks the promises after every step. There is no goroutine and no clock in it: a call to
// the store waits in a list until its turn comes, so that commits are as slow as the seed
// wants, and the same seed is the same run. SIM_SEED=n runs one seed.

// The inputs of a run: a is pulled from a replayable source of two streams, b and c are pushed.
const (
	inA = iota
	inB
	inC
	simInputs
)

// The outputs of a run: values of a and of c, each on every path.
const (
	directA = iota
	boxA
	tableA
	directC
	boxC
	tableC
	simOutputs
)

const simGraph = `graph: sim
accumulators:
  a: { strategy: sequential }
  b: { strategy: latest }
  c: { strategy: sequential }
reactor: { when: any%s }
nodes:
  va: { expr: a }
  vc: { expr: c }
  q: { expr: '7 / (a %% 7 == 3 ? 0 : 1)' }
outputs:
  direct_a: { from: va, sink: { drop: {} } }
  box_a: { from: va, sink: { drop: {} } }
  table_a: { from: va, sink: { drop: {} } }
  direct_c: { from: vc, sink: { drop: {} } }
  box_c: { from: vc, sink: { drop: {} } }
  table_c: { from: vc, sink: { drop: {} } }
`

const (
	// simEvents is how many events the source holds, over both streams.
	simEvents = 40
	simSteps  = 160
)

// fails and filtered are the fates of the source's events that never come out.
func fails(v int64) bool { return v%7 == 3 }

func (w *world) filtered(v int64) bool { return w.cfg.Guard && v%11 == 10 }

// refused are values that the receiver of box_a refuses for good, turnedAway those that direct_a's does.
func refused(v int64) bool { return v%13 == 5 }

func turnedAway(v int64) bool { return v%3 == 2 }

// world is one simulated run.
type world struct {
	t     testing.TB
	rng   *rand.Rand
	bug   bug
	trace hash.Hash
	steps int

	cfg    reactor.Config
	memory *memory.Store
	store  *checkpointtest.Faulty
	fault  checkpointtest.Outcome // what the next write to the store meets
	full   int                    // how many writes more find the disk full
	now    time.Time              // of the wall clock
	mono   int64

	own     *owner
	zombies []*owner // old owners that have not noticed yet

	streams [2]stream
	pushed  [simInputs]int64 // events of a pushed input in this life of the state
	nextC   int64            // values of c are never given twice
	acked   map[int64]bool
	paused  bool // what the operator was last told
	open    bool // whether a later command holds is not known
	deaf    bool // deafResume: nothing has arrived since the restore

	got     [simOutputs]map[string]int64 // what receivers have: by id, the value
	ids     [simOutputs]map[int64]map[string]bool
	lastSeq [simOutputs]int64
	shown   map[int64]string // what watchers have seen of an epoch of a journaled graph
	lastAt  time.Time
	problem string
	talk    bool // print the trace too
}

// stream is one of the source's streams.
type stream struct {
	next     int64 // offset of the next event
	assigned bool
}

// owner is one incarnation of the graph: a process that holds it, or believes to.
type owner struct {
	w       *world
	r       *Reactor
	core    *reactor.Core
	inbox   *Inbox
	ports   [simInputs]accumulator.Port
	stale   []func() error // handoffs that old incarnations of accumulators may still try
	jobs    []func()       // calls to the store that are on their way
	batches [simOutputs][]sink.Message
	sinks   [simOutputs]*simSink
	tickets []pushTicket
	asked   *asked // a pause or resume that is to be answered
	seen    int64  // records that the watcher has seen
	began   int64  // the epoch it was loaded with
	deepest int    // tightRoom: the most that ever waited
	head    checkpoint.Head
}

type asked struct {
	pause  bool
	waiter waiter
}

type pushTicket struct {
	value int64
	wait  accumulator.Ticket
}

func newWorld(t testing.TB, cfg reactor.Config, seed uint64, planted bug) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), bug: planted, trace: sha256.New(), cfg: cfg, now: epochZero,
		memory: memory.NewSeeded(seed), acked: map[int64]bool{}, shown: map[int64]string{},
	}
	for i := range w.got {
		w.got[i], w.ids[i] = map[string]int64{}, map[int64]map[string]bool{}
	}
	w.memory.MakeTable("table_a", "epoch")
	w.memory.MakeTable("table_c", "epoch")
	w.store = checkpointtest.NewFaulty(w.memory, w.meet)
	w.start()
	return w
}

// meet decides what a call on the store meets.
func (w *world) meet(c checkpointtest.Call) checkpointtest.Fault {
	if c.Op != checkpointtest.OpCommit && c.Op != checkpointtest.OpAppendJournal {
		return checkpointtest.Fault{}
	}
	if w.full > 0 {
		w.full--
		return checkpointtest.Fault{Outcome: checkpointtest.Fail}
	}
	f := checkpointtest.Fault{Outcome: w.fault}
	w.fault = checkpointtest.Pass
	return f
}

func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.trace, format+"\n", args...)
	if w.talk {
		w.t.Logf("%d: "+format, append([]any{w.steps}, args...)...)
	}
}

func (w *world) wrong(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf("step %d: ", w.steps) + fmt.Sprintf(format, args...)
	}
}

// start loads the graph as a new incarnation, as the engine does.
func (w *world) start() {
	ctx := context.Background()
	head, err := w.store.Acquire(ctx, w.cfg.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.rng.IntN(4) > 0 {
		head.Clean = true // one start in four goes on carefully (M43)
	}
	core, err := w.restore(ctx, head)
	if err != nil {
		w.wrong("restore: %v", err)
		return
	}
	o := &owner{w: w, core: core, head: head, began: core.Epoch(), inbox: NewInbox([]reactor.Lane{
		{Sequential: true, Capacity: 6, MaxBytes: 1 << 20}, {Capacity: 6, MaxBytes: 1 << 20},
		{Sequential: true, Capacity: 6, MaxBytes: 1 << 20},
	})}
	for i, in := range core.Look().Inputs {
		if w.cfg.Inputs[i].Sequential {
			o.inbox.Occupy(i, in.Depth, in.DepthBytes)
		}
	}
	o.r = New(Options{
		Core: core, Inbox: o.inbox, Writers: o.writers(ctx), Store: w.planted(o), Journal: w.planted(o),
		Ledger: w.store, Head: &head,
		Interval: 20 * time.Millisecond, Watch: o.watch, Clock: newClock(func() (wall, mono int64) {
			return w.now.UnixNano(), w.mono
		}),
		Log: slog.New(slog.DiscardHandler),
	})
	o.r.spawn = func(f func()) { o.jobs = append(o.jobs, f) }
	o.r.refused = make(chan *refusal, simEvents) // a round of a writer is one step here, and waits for nobody within
	o.r.started = w.now
	w.own, w.deaf, w.lastAt = o, true, time.Time{}
	core.Start(w.now)
	for i := range o.ports {
		o.restartAccumulator(i)
	}
	paused := core.Look().Paused
	if w.open {
		w.paused, w.open = paused, false
	}
	if paused != w.paused {
		w.wrong("the operator was told paused=%v, after the restart it is %v", w.paused, paused)
	}
	w.note("start %d epoch %d", head.Incarnation, core.Epoch())
}

// restore makes a core of the checkpoint and the journal after it.
func (w *world) restore(ctx context.Context, head checkpoint.Head) (*reactor.Core, error) {
	cfg := w.cfg
	cfg.Incarnation, cfg.Fence, cfg.Instance = head.Incarnation, head.Fence, uuid.MustParse(head.Instance)
	var cells []checkpoint.Cell
	if err := w.store.Load(ctx, cfg.ID, func(c checkpoint.Cell) error {
		cells = append(cells, c)
		return nil
	}); err != nil {
		return nil, err
	}
	core := reactor.NewCore(cfg)
	if _, err := core.Restore(head, cells); err != nil {
		return nil, err
	}
	replay := reactor.NewReplayer(core, head)
	replay.AdmitOnly = w.bug == admitOnly
	var entries []checkpoint.JournalEntry
	if replay.After() != head.Journal {
		err := w.store.ReadJournal(ctx, cfg.ID, replay.After(), func(e checkpoint.JournalEntry) error {
			entries = append(entries, e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if n := len(entries); w.bug == lostTail && n > 0 {
		entries[n-1].Data = nil
	}
	for _, e := range entries {
		if err := replay.Entry(e); err != nil {
			return nil, err
		}
	}
	replay.Done()
	core.Begin()
	return core, nil
}

// writers are those of the direct paths and of the outboxes; they are run step by step.
func (o *owner) writers(ctx context.Context) []*delivery.Writer {
	depths, err := o.w.store.OutboxDepths(ctx, o.w.cfg.ID)
	if err != nil {
		o.w.wrong("depths: %v", err)
	}
	ws := make([]*delivery.Writer, simOutputs)
	for _, i := range []int{directA, boxA, directC, boxC} {
		o.sinks[i] = &simSink{o: o, output: i}
		cfg := delivery.Config{Output: o.w.cfg.Outputs[i], Sink: o.sinks[i]}
		cfg.CarriedAfter = o.core.OutboxSeq(i)
		box := &delivery.Outbox{Delivered: cfg.CarriedAfter, Committed: cfg.CarriedAfter, Read: o.reader(i)}
		for _, d := range depths {
			if d.Output == cfg.Output {
				box.Delivered, box.Committed, box.Bytes = d.First-1, d.Last, d.Bytes
				if o.w.bug != seqAnew {
					o.core.SetOutboxSeq(i, d.Last)
				}
			}
		}
		cfg.DeadLetter = func(ctx context.Context, m *sink.Message, code, reason string) error {
			if o.w.bug == lostLetter {
				return nil
			}
			return o.r.DeadLetter(ctx, m, code, reason)
		}
		if o.w.cfg.Routes[i].Path == reactor.PathDirect {
			o.carry(ctx, &cfg, box)
		} else {
			if o.w.bug == lostMark && box.Committed > box.Delivered {
				box.Delivered++
			}
			cfg.Outbox = box
		}
		ws[i] = delivery.NewWriter(cfg)
	}
	return ws
}

// carry reads what a checkpoint has carried over from the direct path.
func (o *owner) carry(ctx context.Context, cfg *delivery.Config, box *delivery.Outbox) {
	cfg.CarriedAfter = box.Delivered
	for after := box.Delivered; after < box.Committed && o.w.bug != lostCarried; {
		page, err := box.Read(ctx, after)
		if err != nil || len(page) == 0 {
			o.w.wrong("what a checkpoint carried over cannot be read: %v", err)
			return
		}
		cfg.Carried = append(cfg.Carried, page...)
		after = page[len(page)-1].Seq
	}
}

func (o *owner) reader(i int) func(ctx context.Context, after int64) ([]sink.Message, error) {
	return func(ctx context.Context, after int64) ([]sink.Message, error) {
		entries, err := o.w.store.Outbox(ctx, o.w.cfg.ID, o.w.cfg.Outputs[i], after, 3, 0)
		var out []sink.Message
		for k := range entries {
			m, err := reactor.DecodeMessage(o.core.Config().Instance, i, o.core.Config().Stable(i), &entries[k])
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		}
		return out, err
	}
}

// restartAccumulator is a new incarnation of input i, going on from the last admitted mark.
func (o *owner) restartAccumulator(i int) {
	w := o.w
	if old := o.ports[i]; old != nil {
		from := w.streams
		o.stale = append(o.stale, func() error {
			h := w.sourceBatch(from, 0, 1)
			if w.bug == lateWords && i == inA {
				o.core.Admit(w.now, inA, h, 0)
				return ErrStale
			}
			return old.Put(ended(), h)
		})
	}
	o.inbox.Drain(w.now, o.core)
	o.ports[i] = o.inbox.Port(i)
	mark, _ := o.core.ResumePoint(i)
	if i == inA {
		w.streams = [2]stream{{assigned: true}, {assigned: true}}
		for _, p := range mark.Positions {
			w.streams[streamOf(p)].next = p.Offset
		}
	} else {
		w.pushed[i] = mark.Counters.Received
	}
	o.ports[i].Health(accumulator.Live, "", "")
	o.inbox.Drain(w.now, o.core)
}

func streamOf(p boundary.Position) int {
	if p.Stream == "1" {
		return 1
	}
	return 0
}

// ended is a context that never waits.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// sourceBatch is n events of a stream: event k of stream s has the value 2k+s. from is where
// both streams stand before it.
func (w *world) sourceBatch(from [2]stream, s int, n int64) *accumulator.Handoff {
	h := &accumulator.Handoff{}
	for range n {
		k := from[s].next
		from[s].next++
		pos := boundary.Position{Stream: fmt.Sprint(s), Offset: k + 1}
		h.Boundaries = append(h.Boundaries, boundary.Boundary{
			Value: boundary.Int(2*k + int64(s)), First: pos, Last: pos, At: w.now, Events: 1, Size: 8,
		})
	}
	h.Mark = accumulator.Mark{
		Positions: []boundary.Position{{Stream: "0", Offset: from[0].next}, {Stream: "1", Offset: from[1].next}},
		Counters:  accumulator.Counters{Received: from[0].next + from[1].next}, LastEventAt: w.now,
	}
	return h
}
