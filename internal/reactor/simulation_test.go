package reactor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/dal"
)

// The simulator drives the real core, the real inbox and the real memory store through a
// seeded sequence of arrivals, epochs, commands, commits, crashes and restarts, and checks
// the promises after every step. It has no goroutine and no clock: the same seed is the
// same run. SIM_SEED=n runs one seed.

// simEvents is how many events the replayable source of a run holds.
const simEvents = 40

// bug is a fault planted in the world around the core, to prove that the checks can fail.
type bug string

const (
	noBug         bug = ""
	lostFlag      bug = "dirty flags are not in the checkpoint"
	lostQueue     bug = "queued boundaries are not in the checkpoint"
	offsetFirst   bug = "positions are committed ahead of what was admitted"
	blindGoOn     bug = "an unknown commit outcome is taken for a success"
	lateWords     bug = "an old incarnation's hand-over is admitted"
	noUndo        bug = "a failed epoch keeps what it took"
	volatilePause bug = "a pause is answered before it is durable"
	deafResume    bug = "restored work is not evaluated until the next arrival"

	// Of keyed graphs.
	lostKey     bug = "a key that changed is not in the checkpoint"
	keptKey     bug = "an evicted key stays in the checkpoint"
	lostFailure bug = "keys of a checkpoint that failed are not written again"
)

func keyBugs() []bug { return []bug{lostFlag, lostQueue, offsetFirst, lostKey, keptKey, lostFailure} }

func allBugs() []bug {
	return []bug{lostFlag, lostQueue, offsetFirst, blindGoOn, lateWords, noUndo, volatilePause, deafResume}
}

// world is one simulated run.
type world struct {
	t     testing.TB
	rng   *rand.Rand
	bug   bug
	trace hash.Hash
	steps int

	cfg   Config
	store *checkpointtest.Faulty
	fault checkpointtest.Outcome // what the next commit meets

	core  *Core
	inbox *Inbox
	port  [2]accumulator.Port // of a, the replayable source, and b, which is pushed
	stale []func() error      // hand-overs that old incarnations may still try
	head  checkpoint.Head
	seq   int64
	now   time.Time

	next     int64 // offset of the next source event
	pushed   int64 // events of b received in this life of the state
	inflight *Seal
	paused   bool // what the operator was last told
	deaf     bool // deafResume: nothing has arrived since the restore

	released map[int64]int          // by value of a, how often an epoch released it
	last     map[boundary.Key]int64 // by key, the newest value of a that this incarnation released
	problem  string
}

const simGraph = `graph: sim
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

func newWorld(t testing.TB, cfg Config, seed uint64, planted bug) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), bug: planted, trace: sha256.New(), cfg: cfg, now: epochZero,
		released: map[int64]int{},
	}
	w.store = checkpointtest.NewFaulty(dal.NewSeededMemory(seed), func(c checkpointtest.Call) checkpointtest.Fault {
		f := checkpointtest.Fault{}
		if c.Op == checkpointtest.OpCommit {
			f.Outcome, w.fault = w.fault, checkpointtest.Pass
		}
		return f
	})
	w.start()
	return w
}

func (w *world) note(format string, args ...any) { fmt.Fprintf(w.trace, format+"\n", args...) }

func (w *world) wrong(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
	}
}

// start loads the graph as a new incarnation, as the engine does.
func (w *world) start() {
	ctx := context.Background()
	var err error
	if w.head, err = w.store.Acquire(ctx, w.cfg.ID); err != nil {
		w.t.Fatal(err)
	}
	cfg := w.cfg
	cfg.Incarnation, cfg.Fence, cfg.Instance = w.head.Incarnation, w.head.Fence, uuid.MustParse(w.head.Instance)
	var cells []checkpoint.Cell
	if err := w.store.Load(ctx, cfg.ID, func(c checkpoint.Cell) error { cells = append(cells, c); return nil }); err != nil {
		w.t.Fatal(err)
	}
	w.core = NewCore(cfg)
	if _, err := w.core.Restore(w.head, cells); err != nil {
		w.wrong("restore: %v", err)
		return
	}
	keyed := cfg.Keys != nil
	w.inbox = NewInbox([]LaneConfig{{Sequential: true, Keyed: keyed, Capacity: 6, MaxBytes: 1 << 20}, {Keyed: keyed, Capacity: 6, MaxBytes: 1 << 20}})
	w.last = map[boundary.Key]int64{}
	for i, in := range w.core.Look().Inputs {
		if i == 0 {
			w.inbox.Occupy(i, in.Depth, in.DepthBytes)
		}
	}
	w.seq, w.inflight, w.deaf = w.head.Seq, nil, true
	w.stale, w.port = nil, [2]accumulator.Port{} // they died with the memory they spoke to
	w.core.Start(w.now)
	for i := range w.port {
		w.restartAccumulator(i)
	}
	if w.core.paused != w.paused {
		w.wrong("the operator was told paused=%v, after the restart it is %v", w.paused, w.core.paused)
	}
	w.note("start %d epoch %d next %d", w.head.Incarnation, w.core.Epoch(), w.next)
}

// restartAccumulator is a new incarnation of input i, going on from the last admitted mark.
func (w *world) restartAccumulator(i int) {
	if old := w.port[i]; old != nil {
		from := w.next
		w.stale = append(w.stale, func() error {
			if w.bug == lateWords && i == 0 {
				w.core.Admit(w.now, 0, w.sourceBatch(from, 1), 0)
				return ErrStale
			}
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
func (w *world) sourceBatch(from, n int64) *accumulator.Handover {
	h := &accumulator.Handover{}
	for k := from; k < from+n; k++ {
		pos := boundary.Position{Offset: k + 1}
		h.Boundaries = append(h.Boundaries, boundary.Boundary{Value: boundary.Int(k), Key: w.key(k), First: pos, Last: pos, At: w.now, Events: 1, Size: 8})
	}
	h.Mark = accumulator.Mark{Positions: []boundary.Position{{Offset: from + n}}, Counters: accumulator.Counters{Received: from + n}, LastEventAt: w.now}
	return h
}

// key is the key of an event: five of them take turns where there are keys.
func (w *world) key(n int64) boundary.Key {
	if w.cfg.Keys == nil {
		return ""
	}
	return boundary.KeyOf(boundary.Int(n % 5))
}

// step is one random thing.
func (w *world) step() {
	w.steps++
	w.now = w.now.Add(time.Duration(w.rng.IntN(3)) * time.Millisecond)
	switch k := w.rng.IntN(100); {
	case k < 25:
		w.read()
	case k < 35:
		w.push()
	case k < 60:
		w.fire(1 + w.rng.IntN(3))
	case k < 75:
		w.seal()
	case k < 82:
		w.settle([]checkpointtest.Outcome{checkpointtest.Pass, checkpointtest.Pass, checkpointtest.Pass, checkpointtest.Fail, checkpointtest.UnknownApplied, checkpointtest.UnknownLost, checkpointtest.UnknownLate}[w.rng.IntN(7)])
	case k < 86:
		w.note("crash")
		w.start()
	case k < 90:
		w.note("accumulator %d", k%2)
		w.restartAccumulator(k % 2)
	case k < 92:
		w.speakLate()
	case k < 96:
		w.command(k % 2)
	default:
		w.fireWith(k%2 == 0)
	}
	w.check()
}

// read hands over some events of the source, if there is room.
func (w *world) read() {
	n := min(1+w.rng.Int64N(3), simEvents-w.next)
	if n <= 0 {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.port[0].Put(ended, w.sourceBatch(w.next, n)); err != nil {
		w.note("full")
		return // held back: the batch is read again
	}
	w.next += n
	w.note("read to %d", w.next)
}

func (w *world) push() {
	w.pushed++
	h := &accumulator.Handover{Boundaries: []boundary.Boundary{{Value: boundary.Int(w.pushed), Key: w.key(w.pushed), At: w.now, Events: 1, Size: 8}}}
	h.Mark = accumulator.Mark{Counters: accumulator.Counters{Received: w.pushed}}
	if err := w.port[1].Put(context.Background(), h); err != nil {
		w.wrong("push: %v", err)
	}
	w.note("push %d", w.pushed)
}

func (w *world) fire(n int) {
	if w.inbox.Drain(w.now, w.core) {
		w.deaf = false
	}
	if w.deaf && w.bug == deafResume {
		return
	}
	w.core.Tick(w.now)
	for range n {
		var head *boundary.Boundary
		if q := w.core.cell.slots[0].queue; w.cfg.Keys == nil && q.len() > 0 {
			head = q.at(0).b
		}
		epoch := w.core.Epoch()
		if !w.core.Fire(w.now) {
			break
		}
		if w.bug == noUndo && w.core.Epoch() > epoch && w.core.ring.at(w.core.ring.total-1).Err != "" && head != nil {
			w.core.cell.slots[0].cur = head.Value
		}
	}
	w.core.TakeFreed(w.inbox.Free)
	w.release()
}

func (w *world) release() {
	for _, m := range w.core.Released() {
		v, _ := m.Value.Index(0).AsInt()
		w.released[v]++
		if last, ok := w.last[m.Key]; ok && v >= 0 && v < last {
			w.wrong("step %d: of the key %q %d came out after %d", w.steps, m.Key, v, last)
		}
		w.last[m.Key] = max(v, w.last[m.Key])
		w.note("epoch %d %s", m.Epoch, m.Value)
	}
	w.core.ResetReleased()
}

// seal starts a commit when none is in flight.
func (w *world) seal() {
	if w.inflight != nil || !w.core.Changed() {
		return
	}
	s := w.core.Seal(w.now)
	switch w.bug {
	case lostFlag:
		for i := range s.slots {
			s.slots[i].pend = nil
		}
		for _, k := range s.keys {
			for i := range k.slots {
				k.slots[i].pend = nil
			}
		}
	case lostKey:
		s.keys = s.keys[:len(s.keys)/2]
	case keptKey:
		s.commit.Cells = slices.DeleteFunc(s.commit.Cells, func(c checkpoint.Cell) bool { return c.Kind == cellKey && c.Data == nil })
	case lostQueue:
		s.queue = nil
	case offsetFirst:
		for i := range s.accs {
			if s.accs[i].input == 0 && w.next > 0 {
				s.accs[i].mark = w.sourceBatch(w.next-1, 1).Mark
			}
		}
	}
	w.inflight = s
	w.note("seal %d", s.Epoch)
}

// settle lets the commit in flight meet an outcome.
func (w *world) settle(outcome checkpointtest.Outcome) error {
	if w.inflight == nil {
		return nil
	}
	s := w.inflight
	w.inflight, w.fault = nil, outcome
	c := s.Commit()
	c.Seq = w.seq + 1
	err := w.store.Commit(context.Background(), c)
	w.note("commit %d %v", outcome, err != nil)
	switch {
	case errors.Is(err, checkpoint.ErrUnknownOutcome) && w.bug == blindGoOn:
		w.core.Sealed(s, nil)
		w.seq++
	case errors.Is(err, checkpoint.ErrUnknownOutcome), errors.Is(err, checkpoint.ErrFenced):
		w.start() // memory is discarded
		if outcome == checkpointtest.UnknownLate {
			w.late() // and what was on its way arrives after the graph was taken anew
		}
	case err != nil && w.bug == lostFailure:
		s.before.touched = nil
		w.core.Sealed(s, err)
	case err != nil:
		w.core.Sealed(s, err)
	default:
		w.core.Sealed(s, nil)
		w.seq++
	}
	return err
}

// late delivers a commit that was on its way when the graph was taken anew: it must change nothing.
func (w *world) late() {
	for _, err := range w.store.Deliver(context.Background()) {
		if !errors.Is(err, checkpoint.ErrFenced) {
			w.wrong("a stale commit was not fenced: %v", err)
		}
	}
}

// speakLate lets an old incarnation of an accumulator try to hand something over.
func (w *world) speakLate() {
	if len(w.stale) == 0 {
		return
	}
	if err := w.stale[len(w.stale)-1](); !errors.Is(err, ErrStale) && !errors.Is(err, context.Canceled) {
		w.wrong("the words of an old incarnation were taken: %v", err)
	}
	w.stale = w.stale[:len(w.stale)-1]
	w.note("late words")
}

// command pauses or resumes, and is answered when it is durable.
func (w *world) command(kind int) {
	before := w.paused
	if kind == 0 {
		w.core.Pause(w.now, "op")
	} else {
		w.core.Resume(w.now)
	}
	if w.bug == volatilePause {
		w.core.changes.head = false
		w.paused = w.core.paused
		return
	}
	if err := w.settle(checkpointtest.Pass); err != nil {
		return
	}
	w.seal()
	if err := w.settle(checkpointtest.Pass); err != nil {
		w.paused = before
		return
	}
	w.paused = kind == 0
	w.note("paused %v", w.paused)
}

func (w *world) fireWith(replace bool) {
	w.inbox.Drain(w.now, w.core)
	key := w.key(w.rng.Int64N(5))
	if w.core.Keyed() && !w.core.HasKey(key) {
		if _, err := w.core.ForceFire(w.now, key); !errors.Is(err, ErrNoKey) {
			w.wrong("fired a key that is not there: %v", err)
		}
		return
	}
	if !replace {
		before, _ := w.core.GetState(key)
		if _, err := w.core.FireWith(w.now, key, []boundary.Value{boundary.Int(-1), {}}, false); err != nil {
			w.wrong("fire: %v", err)
		}
		after, _ := w.core.GetState(key)
		after.Epoch = before.Epoch
		if fmt.Sprint(before) != fmt.Sprint(after) {
			w.wrong("an aside left a trace: %v, then %v", before, after)
		}
	} else if _, err := w.core.ForceFire(w.now, key); err != nil {
		w.wrong("fire: %v", err)
	}
	w.core.TakeFreed(w.inbox.Free)
	w.release()
}

// check holds after every step: the books balance, what was received is exactly what the
// position says, and a failed epoch left nothing in the cache.
func (w *world) check() {
	for i := range w.core.accs {
		b := w.core.books(i)
		if sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed + b.Queued; sum != b.Received {
			w.wrong("step %d: books of input %d: received %d, accounted for %d: %+v", w.steps, i, b.Received, sum, b)
		}
	}
	if mark := w.core.accs[0].mark; len(mark.Positions) == 1 && mark.Positions[0].Offset != mark.Counters.Received {
		w.wrong("step %d: position %d, received %d", w.steps, mark.Positions[0].Offset, mark.Counters.Received)
	}
	cells := []*cell{w.core.shared}
	if w.cfg.Keys != nil {
		checkKeys(w.t, w.core)
		cells = slices.SortedFunc(maps.Values(w.core.keys.byKey), byArrival)
	}
	for _, k := range cells {
		if v, ok := k.slots[0].cur.AsInt(); ok && v%7 == 3 && v%11 != 10 {
			w.wrong("step %d: the value %d, whose epoch failed, is in the cache", w.steps, v)
		}
	}
}

// heal ends the faults and requires liveness: everything is read and fired, and accounted
// for exactly once.
func (w *world) heal() {
	if w.problem != "" {
		return
	}
	if err := w.settle(checkpointtest.Pass); err != nil {
		w.wrong("the store is well, but the commit failed: %v", err)
	}
	w.start()
	w.fire(1000) // what was restored must run without another arrival (M12)
	if !w.core.paused && w.core.accs[0].waiting.boundaries > 0 {
		w.wrong("restored work does not run")
	}
	w.core.Resume(w.now)
	for range 4 * simEvents {
		w.read()
		w.fire(1000)
	}
	b := w.core.books(0)
	if b.Received != simEvents || b.Queued != 0 || b.Consumed+b.DeadLettered+b.Filtered != simEvents {
		w.wrong("at the end the source's %d events are not each accounted for once: %+v", simEvents, b)
	}
	for v := range int64(simEvents) {
		fails, filtered := v%7 == 3, v%11 == 10
		if n := w.released[v]; n == 0 && !fails && !filtered && w.core.keys.evicted == 0 {
			w.wrong("the event %d never came out", v)
		}
	}
	w.check()
}

// simulate runs one seed, and answers its trace and what was wrong.
func simulate(t testing.TB, cfg Config, seed uint64, planted bug) (trace, problem string) {
	w := newWorld(t, cfg, seed, planted)
	for range 150 {
		if w.problem != "" {
			break
		}
		w.step()
	}
	w.heal()
	return hex.EncodeToString(w.trace.Sum(nil)), w.problem
}

func simConfig(t *testing.T) Config {
	return testConfig(t, simGraph, func(c *Config) { c.KeepFirings = 20 })
}

// TestSimulation runs seeds of the simulator: safety after every step, liveness in the end (M7, M21, M22, M28, M35, M42).
func TestSimulation(t *testing.T) {
	cfg := simConfig(t)
	if s := os.Getenv("SIM_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		_, problem := simulate(t, cfg, seed, noBug)
		t.Logf("seed %d: %q", seed, problem)
		return
	}
	for seed := range uint64(1000) {
		if _, problem := simulate(t, cfg, seed, noBug); problem != "" {
			t.Fatalf("SIM_SEED=%d: %s", seed, problem)
		}
	}
}

// keyedSimConfig is the same graph with keys: so many may be there of the five.
func keyedSimConfig(t *testing.T, most int) Config {
	return testConfig(t, simGraph, func(c *Config) { c.KeepFirings = 20 }, keyed(func(k *Keys) { k.Max, k.TTL = most, 200*time.Millisecond }))
}

// TestM13Simulation runs seeds of the simulator on keyed graphs, with and without evictions:
// the same promises, and what is counted and ordered about keys agrees with the keys (M13).
func TestM13Simulation(t *testing.T) {
	for most, seeds := range map[int]uint64{100: 500, 3: 300} {
		cfg := keyedSimConfig(t, most)
		for seed := range seeds {
			if _, problem := simulate(t, cfg, seed, noBug); problem != "" {
				t.Fatalf("at most %d keys, seed %d: %s", most, seed, problem)
			}
		}
	}
	cfg := keyedSimConfig(t, 3)
	for seed := range uint64(30) {
		a, _ := simulate(t, cfg, seed, noBug)
		b, _ := simulate(t, cfg, seed, noBug)
		if a != b {
			t.Fatalf("seed %d ran differently the second time", seed)
		}
	}
}

// TestM13SimulationFindsPlantedBugs: the harness finds what can go wrong with keys.
func TestM13SimulationFindsPlantedBugs(t *testing.T) {
	for _, planted := range keyBugs() {
		found := false
		for seed := uint64(0); seed < 300 && !found; seed++ {
			cfg := keyedSimConfig(t, []int{100, 3}[seed%2])
			if _, problem := simulate(t, cfg, seed, planted); problem != "" {
				found = true
				t.Logf("%s: found by seed %d: %s", planted, seed, problem)
			}
		}
		if !found {
			t.Errorf("the planted bug was not found: %s", planted)
		}
	}
}

// TestSimulationRepeats: the same seed is the same run.
func TestSimulationRepeats(t *testing.T) {
	cfg := simConfig(t)
	for seed := range uint64(50) {
		a, _ := simulate(t, cfg, seed, noBug)
		b, _ := simulate(t, cfg, seed, noBug)
		if a != b {
			t.Fatalf("seed %d ran differently the second time", seed)
		}
	}
}

// TestSimulationFindsPlantedBugs: a harness that cannot fail proves nothing.
func TestSimulationFindsPlantedBugs(t *testing.T) {
	cfg := simConfig(t)
	for _, planted := range allBugs() {
		found := false
		for seed := uint64(0); seed < 300 && !found; seed++ {
			if _, problem := simulate(t, cfg, seed, planted); problem != "" {
				found = true
				t.Logf("%s: found by seed %d: %s", planted, seed, problem)
			}
		}
		if !found {
			t.Errorf("the planted bug was not found: %s", planted)
		}
	}
}
