package reactor_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// The simulator of keyed graphs drives the real core, the real inbox and the real memory
// store, without the reactor around them, through a seeded sequence of arrivals, epochs,
// commands, commits, crashes and restarts, and checks the promises after every step. It has
// no goroutine and no clock: the same seed is the same run.

// coreEvents is how many events the replayable source of a run holds.
const coreEvents = 40

// bug is a fault planted in the world around the core, to prove that the checks can fail.
type bug string

// What can go wrong with keys.
const (
	noBug       bug = ""
	lostFlag    bug = "dirty flags are not in the checkpoint"
	lostQueue   bug = "queued boundaries are not in the checkpoint"
	offsetFirst bug = "positions are committed ahead of what was admitted"
	lostKey     bug = "a key that changed is not in the checkpoint"
	keptKey     bug = "an evicted key stays in the checkpoint"
	lostFailure bug = "keys of a checkpoint that failed are not written again"
)

func keyBugs() []bug { return []bug{lostFlag, lostQueue, offsetFirst, lostKey, keptKey, lostFailure} }

// coreWorld is one simulated run.
type coreWorld struct {
	t     testing.TB
	rng   *rand.Rand
	bug   bug
	trace hash.Hash
	steps int

	cfg   reactor.Config
	store *checkpointtest.Faulty
	fault checkpointtest.Outcome // what the next commit meets

	core  *reactor.Core
	inbox *live.Inbox
	port  [2]accumulator.Port // of a, the replayable source, and b, which is pushed
	stale []func() error      // handoffs that old incarnations may still try
	head  checkpoint.Head
	seq   int64
	now   time.Time

	next     int64 // offset of the next source event
	pushed   int64 // events of b received in this life of the state
	inflight *reactor.Seal
	paused   bool // what the operator was last told

	released map[int64]int          // by value of a, how often an epoch released it
	last     map[boundary.Key]int64 // by key, the newest value of a that this incarnation released
	problem  string
}

const coreGraph = `graph: sim
accumulators:
  a: { strategy: sequential }
  b: { strategy: latest }
reactor: { when: any, guard: '(a ?? 0) % 11 != 10' }
nodes:
  q: { expr: '7 / (a % 7 == 3 ? 0 : 1) + a' }
  s: { expr: '[a, b ?? nil]' }
outputs:
  out: { from: s, sink: { drop: {} } }
`

func newCoreWorld(t testing.TB, cfg reactor.Config, seed uint64, planted bug) *coreWorld {
	w := &coreWorld{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), bug: planted, trace: sha256.New(), cfg: cfg, now: reactor.EpochZero,
		released: map[int64]int{},
	}
	w.store = checkpointtest.NewFaulty(memory.NewSeeded(seed), func(c checkpointtest.Call) checkpointtest.Fault {
		f := checkpointtest.Fault{}
		if c.Op == checkpointtest.OpCommit {
			f.Outcome, w.fault = w.fault, checkpointtest.Pass
		}
		return f
	})
	w.start()
	return w
}

func (w *coreWorld) note(format string, args ...any) { fmt.Fprintf(w.trace, format+"\n", args...) }

func (w *coreWorld) wrong(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
	}
}

// start loads the graph as a new incarnation, as the engine does.
func (w *coreWorld) start() {
	ctx := context.Background()
	var err error
	if w.head, err = w.store.Acquire(ctx, w.cfg.ID); err != nil {
		w.t.Fatal(err)
	}
	cfg := w.cfg
	cfg.Incarnation, cfg.Fence, cfg.Instance = w.head.Incarnation, w.head.Fence, uuid.MustParse(w.head.Instance)
	var cells []checkpoint.Cell
	if err := w.store.Load(ctx, cfg.ID, func(c checkpoint.Cell) error {
		cells = append(cells, c)
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	w.core = reactor.NewCore(cfg)
	if _, err := w.core.Restore(w.head, cells); err != nil {
		w.wrong("restore: %v", err)
		return
	}
	keyed := cfg.Keys != nil
	w.inbox = live.NewInbox([]reactor.Lane{{Sequential: true, Keyed: keyed, Capacity: 6, MaxBytes: 1 << 20},
		{Keyed: keyed, Capacity: 6, MaxBytes: 1 << 20}})
	w.last = map[boundary.Key]int64{}
	for i, in := range w.core.Look().Inputs {
		if i == 0 {
			w.inbox.Occupy(i, in.Depth-in.Own.Boundaries, in.DepthBytes-in.Own.Bytes)
		}
	}
	w.seq, w.inflight = w.head.Seq, nil
	w.stale, w.port = nil, [2]accumulator.Port{} // they died with the memory they spoke to
	w.core.Start(w.now)
	for i := range w.port {
		w.restartAccumulator(i)
	}
	if paused := w.core.Look().Paused; paused != w.paused {
		w.wrong("the operator was told paused=%v, after the restart it is %v", w.paused, paused)
	}
	w.note("start %d epoch %d next %d", w.head.Incarnation, w.core.Epoch(), w.next)
}

// restartAccumulator is a new incarnation of input i, going on from the last admitted mark.
func (w *coreWorld) restartAccumulator(i int) {
	if old := w.port[i]; old != nil {
		from := w.next
		w.stale = append(w.stale, func() error {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			return old.Put(ended, w.sourceBatch(from, 1))
		})
	}
	w.inbox.Drain(w.now, w.core)
	w.port[i] = w.inbox.Port(i)
	mark, _ := w.core.ResumePoint(i)
	if i == 0 {
		w.next = 0
		if len(mark.Positions) == 1 {
			w.next = mark.Positions[0].Offset
		}
	} else {
		w.pushed = mark.Counters.Received
	}
	w.port[i].Health(accumulator.Live, "", "")
	w.inbox.Drain(w.now, w.core)
}

// sourceBatch is n events of the replayable source from an offset on: event k has the value k.
func (w *coreWorld) sourceBatch(from, n int64) *accumulator.Handoff {
	h := &accumulator.Handoff{}
	for k := from; k < from+n; k++ {
		pos := boundary.Position{Offset: k + 1}
		h.Boundaries = append(h.Boundaries, boundary.Boundary{
			Value: boundary.Int(k), Key: w.key(k), First: pos, Last: pos, At: w.now, Events: 1, Size: 8,
		})
	}
	h.Mark = accumulator.Mark{
		Positions: []boundary.Position{{Offset: from + n}}, Counters: accumulator.Counters{Received: from + n},
		LastEventAt: w.now,
	}
	return h
}

// key is the key of an event: five of them take turns where there are keys.
func (w *coreWorld) key(n int64) boundary.Key {
	if w.cfg.Keys == nil {
		return ""
	}
	return boundary.KeyOf(boundary.Int(n % 5))
}
