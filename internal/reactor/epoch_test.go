package reactor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
)

const ratio = `nodes:
  q: { expr: a / b }
outputs:
  out: { from: q, sink: { drop: {} } }
`

// M21: a failed epoch uses its number, is recorded as failed (W7), undoes its cut, and its
// events become dead letters with their original bytes.
func TestM21FailedEpochUndoesItsCut(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", ratio))
	r.push("a", 6)
	r.push("b", 2)
	r.want(r.fire(), "out=3@1")
	r.push("b", 0)
	r.want(r.fire(), "")
	rec := r.last()
	if rec.Epoch != 2 || rec.ErrCode != "not_finite" {
		t.Fatalf("record of the failed epoch: %+v", rec)
	}
	st := stateOf(r.c)
	if st.Cache[1].String() != "2" || st.Dirty[1] || st.Nodes[0].String() != "3" {
		t.Fatalf("the failed epoch left something behind: %+v", st)
	}
	if l := r.c.deadLetters; len(l) != 1 || string(l[0].Payload) != "0" || l[0].Epoch != 2 || l[0].Position != "b@2" {
		t.Fatalf("letters %+v", l)
	}
	// Nothing poisoned is left: the next epoch computes from what was committed (W7).
	r.push("a", 8)
	r.want(r.fire(), "out=4@3")
}

// M21: with on_failure: halt a failed epoch takes nothing, and the graph stops.
func TestM21HaltOnFailureKeepsTheEvents(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: { strategy: sequential }\n", "{ when: any }",
		ratio+"durability: { on_failure: halt }\n"))
	r.push("a", 6)
	r.push("b", 0, 2)
	r.want(r.fire(), "")
	if r.c.Health() != HealthHalted || r.books("b").Queued != 2 || len(r.c.deadLetters) != 0 {
		t.Fatalf("health %s, books %+v", r.c.Health(), r.books("b"))
	}
}

// M21: on_error dead_letter keeps a letter for the node; the epoch's events are consumed all the same.
func TestM21NodeDeadLetter(t *testing.T) {
	r := newRig(t,
		graphOf(two, "{ when: any }",
			"nodes:\n  q: { expr: a / b, on_error: dead_letter }\noutputs:\n  out: { from: q, sink: { drop: {} } }\n"))
	r.push("a", 1)
	r.push("b", 0)
	r.want(r.fire(), "")
	if rec := r.last(); rec.Err != "" || rec.Nodes[0].Status != graph.Failed {
		t.Fatalf("record %+v", rec)
	}
	if l := r.c.deadLetters; len(l) != 1 || l[0].Events != 0 || string(l[0].Payload) != `{"a":1,"b":0}` ||
		r.books("a").Consumed != 1 {
		t.Fatalf("letters %+v", l)
	}
}

// M25: an epoch that runs past its timeout fails and leaves nothing behind.
func TestM25EpochTimeout(t *testing.T) {
	var clock int64
	r := newRig(t, graphOf("  a: {}\n", "{ when: any }",
		"nodes:\n  n: { expr: a + 1 }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"), func(c *Config) {
		c.EpochTimeout = time.Second
		c.Mono = func() int64 { clock += int64(time.Minute); return clock }
	})
	r.push("a", 1)
	r.want(r.fire(), "")
	if rec := r.last(); rec.ErrCode != graph.CodeEpochTimeout {
		t.Fatalf("record %+v", rec)
	}
}

// M11: ForceFire makes a cut whatever pause, criteria, guard and rate limit say, also on an
// empty queue (the original dropped it, W36).
func TestM11ForceFire(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: all, guard: 'false', rate_limit: 1h }",
		pair))
	r.c.Pause(r.now, "ann")
	for want := 1; want <= 2; want++ {
		res, err := r.c.ForceFire(r.now, "", false)
		if err != nil || res.Epoch != int64(want) || res.Err != "" || res.Cause != CauseForce {
			t.Fatalf("force %d: %+v, %v", want, res, err)
		}
	}
	r.push("a", 1, 2)
	r.released()
	if _, err := r.c.ForceFire(r.now, "", false); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), "out=[1,null]@3") // at most one head
	if !r.c.paused || r.books("a").Queued != 1 {
		t.Fatalf("paused %v, books %+v", r.c.paused, r.books("a"))
	}
}

// M11: FireWith replaces the whole cache, clears the flags and keeps the queues.
func TestM11FireWithReplaces(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: { strategy: sequential }\n", "{ when: any }", pair))
	r.push("a", 1)
	r.fire()
	r.c.Pause(r.now, "ann")
	r.push("a", 2)
	r.push("b", 3)
	res, err := r.c.FireWith(r.now, "", []boundary.Value{{}, value(t, 9)}, true)
	if err != nil || res.Err != "" {
		t.Fatalf("%+v, %v", res, err)
	}
	r.want(r.released(), "out=[null,9]@2")
	st := stateOf(r.c)
	if !st.Cache[0].IsAbsent() || st.Cache[1].String() != "9" || st.Dirty[0] || st.Queues[1] != 1 {
		t.Fatalf("state %+v", st)
	}
	if b := r.books("a"); b.Conflated != 1 || b.Consumed != 1 {
		t.Fatalf("books of a: %+v", b)
	}
	r.c.Resume(r.now)
	r.want(r.fire(), "out=[null,3]@3")
}

// M11: with replace: false the epoch is an aside: its outputs go out and nothing else changes.
func TestM11FireWithAsideLeavesNoTrace(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.push("a", 1)
	r.fire()
	r.push("b", 2)
	before := fmt.Sprint(stateOf(r.c), r.books("a"), r.books("b"))
	if _, err := r.c.FireWith(r.now, "", []boundary.Value{{}, value(t, 50)}, false); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), "out=[1,50]@2")
	st := stateOf(r.c)
	st.Epoch--
	if after := fmt.Sprint(st, r.books("a"), r.books("b")); after != before {
		t.Fatalf("the aside left a trace:\n%s\n%s", before, after)
	}
	r.want(r.fire(), "out=[1,2]@3")
}

// M11, M21: a FireWith whose epoch fails leaves the cache as it was.
func TestM21FailedFireWithIsUndone(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", ratio))
	r.push("a", 6)
	r.push("b", 2)
	r.fire()
	res, err := r.c.FireWith(r.now, "", []boundary.Value{value(t, 1), value(t, 0)}, true)
	if err != nil || res.Err == "" {
		t.Fatalf("%+v, %v", res, err)
	}
	r.push("a", 8)
	r.want(r.fire(), "out=4@3")
}

// M11: the state forbids commands before the graph is loaded and after it has failed.
func TestM11CommandsNeedALoadedGraph(t *testing.T) {
	c := NewCore(testConfig(t, graphOf(two, "{ when: any }", pair)))
	if _, err := c.ForceFire(epochZero, "", false); err != ErrState {
		t.Fatalf("starting: %v", err)
	}
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	if err := r.c.Step(r.now, 1); err != ErrNotPaused {
		t.Fatalf("step while live: %v", err)
	}
}

// M11, M12: pause stops the evaluation while boundaries accumulate; resume evaluates at once (W12).
func TestM12ResumeEvaluatesAtOnce(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any }",
		"nodes:\n  n: { expr: a }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"))
	r.c.Pause(r.now, "ann")
	r.push("a", 1, 2, 3, 4)
	r.want(r.fire(), "")
	if err := r.c.Step(r.now, 2); err != nil {
		t.Fatal(err)
	}
	r.want(r.fire(), "out=1@1 out=2@2")
	r.c.Resume(r.now)
	r.want(r.fire(), "out=3@3 out=4@4")
}

// M10: a graph warms until its accumulators are healthy, receiving but not firing, and then fires at once.
func TestM10WarmingThenLive(t *testing.T) {
	r := &rig{
		t: t, now: epochZero, sent: map[string]int64{}, c: NewCore(testConfig(t, graphOf(two, "{ when: any }", pair))),
	}
	r.c.Start(r.now)
	r.push("a", 1)
	r.want(r.fire(), "")
	r.c.SetHealth(r.now, 0, accumulator.Live, "", "")
	if h := r.c.Health(); h != HealthWarming {
		t.Fatalf("health %s", h)
	}
	if w := fmt.Sprint(r.c.WaitingFor()); w != "[b]" {
		t.Fatalf("waiting for %s", w)
	}
	r.c.SetHealth(r.now, 1, accumulator.SocketOnly, "", "")
	r.want(r.fire(), "out=[1,null]@1")
}

// M10: warm_timeout ends the wait: the graph fires anyway, degraded and saying so, or fails (W20).
func TestM10WarmTimeout(t *testing.T) {
	for _, tc := range []struct {
		reactor string
		want    Health
		out     string
	}{
		{"{ when: any }", HealthDegraded, "out=[1,null]@1"},
		{"{ when: any, on_warm_timeout: fail }", HealthFailed, ""},
	} {
		r := &rig{
			t: t, now: epochZero, sent: map[string]int64{}, c: NewCore(testConfig(t, graphOf(two, tc.reactor, pair))),
		}
		r.c.Start(r.now)
		r.c.SetHealth(r.now, 0, accumulator.Live, "", "")
		r.push("a", 1)
		at, ok := r.c.Due()
		if !ok || at.Sub(epochZero) != 30*time.Second {
			t.Fatalf("due %v %v", at, ok)
		}
		r.now = at
		r.want(r.fire(), tc.out)
		if r.c.Health() != tc.want {
			t.Fatalf("health %s, want %s", r.c.Health(), tc.want)
		}
		if tc.out != "" && fmt.Sprint(r.last().Degraded) != "[b]" {
			t.Fatalf("the record does not say that b was not healthy: %+v", r.last())
		}
	}
}

// M10: live ⇄ degraded follows accumulators and checkpoints; it keeps firing (W21, W23).
func TestM10Degraded(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.c.SetHealth(r.now, 0, accumulator.Disconnected, "connection_lost", "broker away")
	r.c.SetPersistError(Obstacle{"checkpoint_failing", "disk full"})
	if got := fmt.Sprint(r.c.Degraded()); got != "[a checkpoint]" {
		t.Fatalf("degraded %s", got)
	}
	r.push("b", 1)
	r.want(r.fire(), "out=[null,1]@1")
	r.c.SetHealth(r.now, 0, accumulator.Live, "", "")
	if code, _ := r.c.HealthReason(); r.c.Health() != HealthDegraded || code != "checkpoint_failing" {
		t.Fatalf("health %s %s: the accumulator's recovery must not hide the checkpoint's trouble", r.c.Health(), code)
	}
	r.c.SetPersistError(Obstacle{})
	if r.c.Health() != HealthLive {
		t.Fatalf("health %s", r.c.Health())
	}
}

// M44: an accumulator whose position is gone halts the graph until the operator decides.
func TestM44DataLossHalts(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.c.SetHealth(r.now, 0, accumulator.Halted, "source_data_lost", "want x, have y")
	r.push("b", 1)
	r.want(r.fire(), "")
	if code, _ := r.c.HealthReason(); r.c.Health() != HealthHalted || code != "source_data_lost" {
		t.Fatalf("health %s %s", r.c.Health(), code)
	}
	r.c.SetHealth(r.now, 0, accumulator.Live, "", "")
	r.want(r.fire(), "out=[null,1]@1")
}

// M32: the ring keeps the newest records and reuses them.
func TestM32RingKeepsTheNewest(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair), func(c *Config) { c.KeepFirings = 3 })
	for i := range 10 {
		r.push("a", i)
		r.fire()
	}
	var got []int64
	r.c.RecordsBefore(1<<60, "", 10, func(rec *Record) { got = append(got, rec.Epoch) })
	if fmt.Sprint(got) != "[10 9 8]" {
		t.Fatalf("records %v", got)
	}
}

// M28: what is sealed is enough to go on exactly: cache, flags, queues, node values, pause, books.
func TestM28RestoreGoesOnExactly(t *testing.T) {
	doc := graphOf("  a: { strategy: sequential }\n  b: {}\n  d: { passive: true }\n", "{ when: any }",
		"nodes:\n  s: { expr: '[a ?? nil, b ?? nil, d ?? nil]' }\noutputs:\n  out: { from: s, sink: { drop: {} }, "+
			"emit: on_change }\n")
	r := newRig(t, doc)
	cells := map[string]checkpoint.Cell{}
	r.push("b", map[string]any{"x": 1.5})
	r.push("a", 1, 2, 3)
	r.fireOnce()
	r.reload(cells)
	r.start()
	r.want(r.fireOnce(), `out=[2,{"x":1.5},null]@2`) // M12: restored work runs at once
	r.c.Pause(r.now, "ann")
	r.push("d", "late")
	r.reload(cells)
	r.start()
	if !r.c.paused || r.c.pausedBy != "ann" {
		t.Fatal("the pause did not survive (W27)")
	}
	r.want(r.fire(), "")
	st := stateOf(r.c)
	if st.Queues[0] != 1 || !st.Dirty[2] || st.Epoch != 2 {
		t.Fatalf("restored state %+v", st)
	}
	r.c.Resume(r.now)
	r.want(r.fire(), `out=[3,{"x":1.5},"late"]@3`)
	r.reload(cells)
	if n := len(cells); n != 3+3+2+1 { // acc and in per input; node, output; stamp
		t.Fatalf("%d cells are left: %v", n, cells)
	}
}

// M28: a seal whose commit failed is merged into the next one.
func TestM28FailedCommitIsMergedBack(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: all }", pair))
	cells := map[string]checkpoint.Cell{}
	r.push("a", 1, 2)
	r.c.keepDeadLetter(checkpoint.DeadLetter{Accumulator: "a", Code: "x"})
	lost := r.c.Seal(r.now)
	if n := r.c.Look().DeadLetters; n != 1 {
		t.Errorf("%d letters are told that are not in the store yet, want the one that is on its way", n)
	}
	r.push("b", 1)
	r.want(r.fire(), "out=[1,1]@1 out=[2,1]@2")
	r.c.Sealed(lost, fmt.Errorf("disk full"))
	if n := r.c.DeadLettersPending(); n != 1 {
		t.Fatalf("%d letters wait for the next commit, want the one of the failed commit", n)
	}
	r.reload(cells)
	r.start()
	r.want(r.fire(), "")
	r.push("b", 2)
	r.push("a", 3)
	r.want(r.fire(), "out=[3,2]@3")
}

// M33: a changed node runs as if for the first time; what is gone is named.
func TestM33ChangedNodeIsDropped(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.push("a", 1)
	r.fire()
	s := r.c.Seal(r.now)
	cells := map[string]checkpoint.Cell{}
	applyCells(cells, s.Commit())
	c := NewCore(testConfig(t, graphOf("  a: {}\n  c: {}\n", "{ when: any }",
		"nodes:\n  other: { expr: a }\noutputs:\n  out: { from: other, sink: { drop: {} } }\n")))
	dropped, err := c.Restore(checkpoint.Head{Epoch: s.Epoch, Meta: s.commit.Meta}, listCells(cells))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(dropped); got != "[node both]" {
		t.Fatalf("dropped %s", got)
	}
}

// A checkpoint that cannot be read is refused, never taken for an empty one.
func TestRestoreRefusesDamage(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: all }", pair))
	r.push("a", 1, 2)
	r.push("b", 1)
	r.fire()
	s := r.c.Seal(r.now)
	com := s.Commit()
	for i := range com.Cells {
		for cut := range len(com.Cells[i].Data) {
			c := NewCore(r.c.cfg)
			damaged := append([]checkpoint.Cell(nil), com.Cells...)
			damaged[i].Data = damaged[i].Data[:cut]
			if damaged[i].Kind == form.CellAccount {
				continue // its tail is the fold's own, which checks it
			}
			if _, err := c.Restore(checkpoint.Head{Epoch: com.Epoch, Meta: com.Meta}, damaged); err == nil {
				t.Fatalf("cell %s %s cut to %d bytes was taken", com.Cells[i].Kind, com.Cells[i].Name, cut)
			}
		}
	}
	c := NewCore(r.c.cfg)
	if _, err := c.Restore(checkpoint.Head{Meta: []byte(`{"format":99}`)}, nil); err == nil {
		t.Fatal("a newer format was taken")
	}
}

// FuzzRestore feeds the checkpoint reader with damaged cells: an error or a core, never a panic.
func FuzzRestore(f *testing.F) {
	for _, kind := range []string{form.CellAccount, form.CellInput, form.CellQueue, "node", "stamp"} {
		f.Add(kind, "a/0000000000000001", []byte{0, 1, 2, 3, 255, 255, 255, 255, 255, 255, 255, 255, 127})
	}
	f.Fuzz(func(t *testing.T, kind, name string, data []byte) {
		c := NewCore(testConfig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: any }", pair)))
		_, err := c.Restore(checkpoint.Head{Meta: []byte(`{"format":1}`)}, []checkpoint.Cell{
			{Kind: kind, Name: name, Data: data},
		})
		if err != nil {
			return
		}
		c.Start(epochZero)
		for i := range c.accs {
			c.SetHealth(epochZero, i, accumulator.Live, "", "")
		}
		for range 3 {
			c.Fire(epochZero)
		}
	})
}

// M32: a record holds a large value by its size: the history stays small whatever the cache holds.
func TestM32RecordsOmitLargeValues(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.push("a", strings.Repeat("x", 1<<20))
	r.push("b", 1)
	r.fire()
	text := r.c.cfg.AppendRecord(nil, r.last())
	if len(text) > 4096 || !json.Valid(text) || !strings.Contains(string(text), `"omitted_bytes":`) {
		t.Fatalf("%d bytes: %.300s", len(text), text)
	}
}
