package reactor_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// step is one random thing.
func (w *coreWorld) step() {
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
		w.settle([]checkpointtest.Outcome{
			checkpointtest.Pass, checkpointtest.Pass, checkpointtest.Pass, checkpointtest.Fail,
			checkpointtest.UnknownApplied, checkpointtest.UnknownLost, checkpointtest.UnknownLate,
		}[w.rng.IntN(7)])
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
func (w *coreWorld) read() {
	n := min(1+w.rng.Int64N(3), coreEvents-w.next)
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

func (w *coreWorld) push() {
	w.pushed++
	h := &accumulator.Handoff{
		Boundaries: []boundary.Boundary{
			{Value: boundary.Int(w.pushed), Key: w.key(w.pushed), At: w.now, Events: 1, Size: 8},
		},
	}
	h.Mark = accumulator.Mark{Counters: accumulator.Counters{Received: w.pushed}}
	if err := w.port[1].Put(context.Background(), h); err != nil {
		w.wrong("push: %v", err)
	}
	w.note("push %d", w.pushed)
}

func (w *coreWorld) fire(n int) {
	w.inbox.Drain(w.now, w.core)
	w.core.Tick(w.now)
	for range n {
		if !w.core.Fire(w.now) {
			break
		}
	}
	w.core.DrainFreed(w.inbox.Free)
	w.release()
}

func (w *coreWorld) release() {
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
func (w *coreWorld) seal() {
	if w.inflight != nil || !w.core.Changed() {
		return
	}
	s := w.core.Seal(w.now)
	switch w.bug {
	case lostFlag:
		reactor.SpoilFlags(s)
	case lostKey:
		reactor.SpoilKeys(s)
	case keptKey:
		reactor.SpoilEvictions(s)
	case lostQueue:
		reactor.SpoilQueues(s)
	case offsetFirst:
		if w.next > 0 {
			reactor.SpoilMark(s, w.sourceBatch(w.next-1, 1).Mark)
		}
	}
	w.inflight = s
	w.note("seal %d", s.Epoch)
}

// settle lets the commit in flight meet an outcome.
func (w *coreWorld) settle(outcome checkpointtest.Outcome) error {
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
	case errors.Is(err, checkpoint.ErrUnknownOutcome), errors.Is(err, checkpoint.ErrFenced):
		w.start() // memory is discarded
		if outcome == checkpointtest.UnknownLate {
			w.late() // and what was on its way arrives after the graph was taken anew
		}
	case err != nil && w.bug == lostFailure:
		reactor.SpoilTouched(s)
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
func (w *coreWorld) late() {
	for _, err := range w.store.Deliver(context.Background()) {
		if !errors.Is(err, checkpoint.ErrFenced) {
			w.wrong("a stale commit was not fenced: %v", err)
		}
	}
}

// speakLate lets an old incarnation of an accumulator try to hand something over.
func (w *coreWorld) speakLate() {
	if len(w.stale) == 0 {
		return
	}
	if err := w.stale[len(w.stale)-1](); !errors.Is(err, live.ErrStale) && !errors.Is(err, context.Canceled) {
		w.wrong("the words of an old incarnation were taken: %v", err)
	}
	w.stale = w.stale[:len(w.stale)-1]
	w.note("late words")
}

// command pauses or resumes, and is answered when it is durable.
func (w *coreWorld) command(kind int) {
	before := w.paused
	if kind == 0 {
		w.core.Pause(w.now, "op")
	} else {
		w.core.Resume(w.now)
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

func (w *coreWorld) fireWith(replace bool) {
	w.inbox.Drain(w.now, w.core)
	key := w.key(w.rng.Int64N(5))
	if w.core.Keyed() && !w.core.HasKey(key) {
		if _, err := w.core.ForceFire(w.now, key, false); !errors.Is(err, reactor.ErrNoKey) {
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
	} else if _, err := w.core.ForceFire(w.now, key, w.rng.IntN(2) == 0); err != nil {
		w.wrong("fire: %v", err)
	}
	w.core.DrainFreed(w.inbox.Free)
	w.release()
}

// check holds after every step: the books balance, what was received is exactly what the
// position says, and a failed epoch left nothing in the cache.
func (w *coreWorld) check() {
	for i, in := range w.core.Look().Inputs {
		b := in.Books
		if sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed + b.Queued; sum != b.Received {
			w.wrong("step %d: books of input %d: received %d, accounted for %d: %+v", w.steps, i, b.Received, sum, b)
		}
	}
	if mark, _ := w.core.ResumePoint(0); len(mark.Positions) == 1 &&
		mark.Positions[0].Offset != mark.Counters.Received {
		w.wrong("step %d: position %d, received %d", w.steps, mark.Positions[0].Offset, mark.Counters.Received)
	}
	if w.cfg.Keys != nil {
		reactor.CheckKeys(w.t, w.core)
	}
	for _, cached := range reactor.Cached(w.core, 0) {
		if v, ok := cached.AsInt(); ok && v%7 == 3 && v%11 != 10 {
			w.wrong("step %d: the value %d, whose epoch failed, is in the cache", w.steps, v)
		}
	}
}

// heal ends the faults and requires liveness: everything is read and fired, and accounted
// for exactly once.
func (w *coreWorld) heal() {
	if w.problem != "" {
		return
	}
	if err := w.settle(checkpointtest.Pass); err != nil {
		w.wrong("the store is well, but the commit failed: %v", err)
	}
	w.start()
	w.fire(1000) // what was restored must run without another arrival (M12)
	if v := w.core.Look(); !v.Paused && v.Inputs[0].Depth > 0 {
		w.wrong("restored work does not run")
	}
	w.core.Resume(w.now)
	for range 4 * coreEvents {
		w.read()
		w.fire(1000)
	}
	b := w.core.Look().Inputs[0].Books
	if b.Received != coreEvents || b.Queued != 0 || b.Consumed+b.DeadLettered+b.Filtered != coreEvents {
		w.wrong("at the end the source's %d events are not each accounted for once: %+v", coreEvents, b)
	}
	for v := range int64(coreEvents) {
		fails, filtered := v%7 == 3, v%11 == 10
		if n := w.released[v]; n == 0 && !fails && !filtered && w.core.Look().Evicted == 0 {
			w.wrong("the event %d never came out", v)
		}
	}
	w.check()
}

// simulateCore runs one seed, and answers its trace and what was wrong.
func simulateCore(t testing.TB, cfg reactor.Config, seed uint64, planted bug) (trace, problem string) {
	w := newCoreWorld(t, cfg, seed, planted)
	for range 150 {
		if w.problem != "" {
			break
		}
		w.step()
	}
	w.heal()
	return hex.EncodeToString(w.trace.Sum(nil)), w.problem
}

// keyedSimConfig is the same graph with keys: so many may be there of the five.
func keyedSimConfig(t *testing.T, most int) reactor.Config {
	return reactor.TestConfig(t, coreGraph, func(c *reactor.Config) {
		c.KeepFirings = 20
	}, reactor.Keyed(func(k *reactor.Keys) { k.Max, k.TTL = most, 200*time.Millisecond }))
}

// TestM13Simulation runs seeds of the simulator on keyed graphs, with and without evictions:
// the same promises, and what is counted and ordered about keys agrees with the keys (M13).
func TestM13Simulation(t *testing.T) {
	for most, seeds := range map[int]uint64{100: 500, 3: 300} {
		cfg := keyedSimConfig(t, most)
		for seed := range seeds {
			if _, problem := simulateCore(t, cfg, seed, noBug); problem != "" {
				t.Fatalf("at most %d keys, seed %d: %s", most, seed, problem)
			}
		}
	}
	cfg := keyedSimConfig(t, 3)
	for seed := range uint64(30) {
		a, _ := simulateCore(t, cfg, seed, noBug)
		b, _ := simulateCore(t, cfg, seed, noBug)
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
			if _, problem := simulateCore(t, cfg, seed, planted); problem != "" {
				found = true
				t.Logf("%s: found by seed %d: %s", planted, seed, problem)
			}
		}
		if !found {
			t.Errorf("the planted bug was not found: %s", planted)
		}
	}
}
