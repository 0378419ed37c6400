package reactor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// beating is a graph with a lane that ticks every second: h is of a node in it, n of one that is not.
func beating(policy, reactor string) string {
	return "graph: g\naccumulators: { a: { strategy: sequential } }\nreactor: " + reactor + "\n" +
		"lanes: { beat: { fixed_rate: { period: 1s, overrun_policy: " + policy + " } } }\n" +
		"nodes: { held: { expr: a, lane: beat }, each: { expr: a * 10 } }\n" +
		"outputs: { h: { from: held, sink: { drop: {} } }, n: { from: each, sink: { drop: {} } } }\n"
}

// M23: the nodes of a lane run at its ticks, which are epochs of their own, on the newest values. What becomes of ticks
// that the graph comes too late for is as the lane says, and counted. A restart in between changes nothing of it.
func TestM23TicksOfALane(t *testing.T) {
	t.Parallel()
	type step struct {
		after time.Duration
		push  int
		want  string
	}
	begin := []step{{0, 1, "n=10@1"}, {time.Second, 0, "h=1@2"}, {500 * time.Millisecond, 2, "n=20@3"},
		{500 * time.Millisecond, 0, "h=2@4"}, {time.Second, 0, "h=2@5"}}
	for policy, late := range map[string]struct {
		steps             []step
		overruns, dropped int64
	}{
		"drop_tick": {[]step{{2500 * time.Millisecond, 0, "h=2@6"}, {500 * time.Millisecond, 0, "h=2@7"},
			{4900 * time.Millisecond, 3, "h=2@8 n=30@9"}, {200 * time.Millisecond, 0, "h=3@10"}}, 2, 1 + 3},
		"skip_next": {[]step{{2500 * time.Millisecond, 0, "h=2@6"}, {500 * time.Millisecond, 0, ""},
			{time.Second, 0, "h=2@7"}, {3500 * time.Millisecond, 3, "h=2@8 n=30@9"}, {600 * time.Millisecond, 0, ""},
			{time.Second, 0, "h=3@10"}}, 2, 2 + 3},
		"catch_up_once": {[]step{{2500 * time.Millisecond, 0, "h=2@6 h=2@7"}, {500 * time.Millisecond, 0, "h=2@8"},
			{4900 * time.Millisecond, 3, "h=2@9 n=30@10 h=3@11"}, {200 * time.Millisecond, 0, "h=3@12"}}, 2, 0 + 2},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarts %t", policy, restart), func(t *testing.T) {
				t.Parallel()
				cells := map[string]checkpoint.Cell{}
				r := newRig(t, beating(policy, "{}"))
				for _, s := range append(append([]step{}, begin...), late.steps...) {
					r.advance(s.after)
					if s.push > 0 {
						r.push("a", s.push)
					}
					r.want(r.fire(), s.want)
					if restart {
						r.reload(cells)
						r.start()
					}
				}
				if told := r.c.Look().Paces; !restart && (len(told) != 1 || told[0].Overruns != late.overruns ||
					told[0].Dropped != late.dropped) {
					t.Errorf("told is %+v, want %d overruns and %d dropped", told, late.overruns, late.dropped)
				}
			})
		}
	}
}

// M23, M27: a tick at its instant comes before what else is to fire then; one that is late takes turns with that, so
// that neither waits for good.
func TestM23LateTicksTakeTurns(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		cells := map[string]checkpoint.Cell{}
		r := newRig(t, beating("catch_up_once", "{}"))
		r.push("a", 1, 2, 3, 4, 5)
		r.want(r.fireOnce(), "n=10@1")
		r.advance(time.Second)
		r.want(r.fireOnce(), "h=1@2")
		for n, want := range []string{"h=1@3", "n=20@4", "h=2@5", "n=30@6", "h=3@7", "n=40@8"} {
			if restart {
				r.reload(cells)
				r.start()
			}
			if r.advance(2500 * time.Millisecond); r.now.Equal(r.now.Truncate(time.Second)) {
				r.advance(time.Millisecond) // at its instant a tick would be first
			}
			if got := r.fireOnce(); got != want {
				t.Fatalf("epoch %d: got %q, want %q", n+3, got, want)
			}
		}
	}
}

// M8, M23: ticks of a lane put off no epoch that a rate limit delays, and those of the reactor's cadence are others.
func TestM23TicksLeaveTimersAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, beating("drop_tick", "{ rate_limit: 3s }"))
	r.push("a", 1)
	r.want(r.fire(), "n=10@1")
	r.push("a", 2)
	for _, want := range []string{"h=1@2", "h=1@3", "h=1@4 n=20@5", "h=2@6"} {
		r.advance(time.Second)
		r.want(r.fire(), want)
	}
	r = newRig(t, beating("drop_tick", "{ every: 2s }"))
	r.push("a", 1)
	for _, want := range []string{"n=10@2", "h=1@3", "h=1@4", "h=1@6"} {
		r.advance(time.Second)
		r.want(r.fire(), want)
	}
	if r.last().Tick.Lanes != 1 || r.last().Cause != CauseTick {
		t.Errorf("the last record is %+v", r.last())
	}
	r = newRig(t, strings.Replace(beating("drop_tick", "{ guard: a > 1 }"), "sequential", "latest", 1))
	for n, want := range []string{"", "n=20@1", "n=30@3"} {
		r.push("a", n+1)
		r.want(r.fire(), want)
		r.advance(time.Second)
		r.want(r.fire(), []string{"", "h=2@2", "h=3@4"}[n])
	}
}

// M23, M29: the journal knows when the cadence of a lane began, so a replay has its ticks, those before the first
// commit too. The records say which epochs they are, and what they came too late for.
func TestM29ReplayOfALane(t *testing.T) {
	t.Parallel()
	for name, clock := range map[string]option{"arrival": onArrival, "event": byEvents} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rig{t: t, now: epochZero.Add(100 * time.Millisecond), sent: map[string]int64{},
				c: NewCore(testConfig(t, beating("catch_up_once", "{}"), withJournal, clock))}
			r.c.Begin()
			r.start()
			for n := range 9 {
				if r.push("a", n); n%3 == 2 {
					r.advance(2300 * time.Millisecond)
				}
				r.advance(300 * time.Millisecond)
				r.fire()
			}
			c := NewCore(testConfig(t, beating("catch_up_once", "{}"), withJournal, clock))
			replayer := NewReplayer(c, checkpoint.Head{})
			for _, e := range r.c.DrainJournal() {
				if err := replayer.Entry(e); err != nil {
					t.Fatal(err)
				}
			}
			replayer.Done()
			told := r.c.Look().Paces[0]
			if got := c.Look().Paces[0]; c.Epoch() != r.c.Epoch() || got != told || told.Overruns < 2 {
				t.Errorf("epoch %d, %+v, want %d and %+v", c.Epoch(), got, r.c.Epoch(), told)
			}
			late := 0
			for n := range r.c.ring.total {
				a, b := r.c.ring.at(n), c.ring.at(n)
				got, want := c.cfg.AppendRecord(nil, b), r.c.cfg.AppendRecord(nil, a)
				if string(got) != string(want) {
					t.Errorf("record %d is\n%s, want\n%s", n, got, want)
				}
				ticks := strings.Contains(string(want), `"lanes":["beat"]`)
				if strings.Contains(string(want), `"cause":"tick"`) != ticks {
					t.Errorf("record %s", want)
				}
				if strings.Contains(string(want), `"dropped_ticks":`) {
					late++
				}
			}
			if late == 0 && name == "arrival" {
				t.Error("no record says that ticks were dropped")
			}
		})
	}
}

// M10, M23: a lane that does not keep to its rate is told, until it does, whether or not records are kept.
func TestM23LaneThatIsBehind(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{1000, 0} {
		t.Run(fmt.Sprintf("%d records", keep), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, beating("drop_tick", "{}"), func(c *Config) { c.KeepFirings = keep })
			r.push("a", 1)
			for range 10 {
				if code, _ := r.c.HealthReason(); code != "" {
					t.Fatalf("after %d ticks: %s", r.c.Look().Paces[0].Ticks, code)
				}
				r.advance(2 * time.Second)
				r.fire()
			}
			code, detail := r.c.HealthReason()
			if r.c.Health() != HealthDegraded || code != "lane_overrun" || !strings.Contains(detail, "the lane beat") {
				t.Errorf("%s, %s: %s", r.c.Health(), code, detail)
			}
			r.advance(time.Second)
			if r.fire(); r.c.Health() != HealthLive {
				t.Errorf("%s", r.c.Health())
			}
		})
	}
}

// M8, M10, M23: a tick that the guard turns down has not run, and is none that came too late either; its lane keeps to
// its rate, or does not, all the same.
func TestM23TickThatTheGuardTurnsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(beating("drop_tick", "{ guard: a > 1 }"), "sequential", "latest", 1))
	r.push("a", 1)
	for range 10 {
		r.advance(2 * time.Second)
		r.want(r.fire(), "")
	}
	if code, _ := r.c.HealthReason(); code != "lane_overrun" {
		t.Errorf("%s, %q", r.c.Health(), code)
	}
	r.advance(time.Second)
	if r.want(r.fire(), ""); r.c.Health() != HealthLive {
		t.Errorf("%s", r.c.Health())
	}
	if told := r.c.Look().Paces[0]; told.Ticks != 0 || told.Overruns != 0 {
		t.Errorf("%+v", told)
	}
}

// M13, M23: a graph with keys has no cadences of lanes, so nothing of it is due that nobody would serve.
func TestM13KeysHaveNoTicks(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(beating("drop_tick", "{}"), ", lane: beat", "", 1), keyed(nil))
	r.give("a", "k", 1)
	r.fire()
	if at, due := r.c.Due(); due || r.c.Wants(r.now.Add(time.Hour)) {
		t.Errorf("something is due at %v", at)
	}
}

// M21, M23: a tick that fails is tried at the next one, and where the graph halts on it, it is not served.
func TestM23TickThatFails(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(beating("drop_tick", "{}"), "{ expr: a, lane: beat }", "{ expr: 1 / a, lane: beat }", 1)
	r := newRig(t, doc)
	r.push("a", 0)
	r.want(r.fire(), "n=0@1")
	r.advance(time.Second)
	if r.want(r.fire(), ""); r.last().Err == "" || r.last().Tick.Lanes != 1 {
		t.Fatalf("%+v", r.last())
	}
	r.push("a", 4)
	r.want(r.fire(), "n=40@3")
	r.advance(time.Second)
	r.want(r.fire(), "h=0.25@4")

	cells := map[string]checkpoint.Cell{}
	r = newRig(t, doc+"durability: { on_failure: halt }\n")
	r.push("a", 0)
	r.fire()
	r.advance(time.Second)
	if r.fire(); r.c.Health() != HealthHalted || r.c.Look().Paces[0].Ticks != 0 {
		t.Fatalf("%s, %+v", r.c.Health(), r.c.Look().Paces)
	}
	r.reload(cells)
	if r.start(); r.c.Health() == HealthHalted {
		t.Fatal("it is halted after a restart")
	}
	if at, ok := r.c.Due(); !ok || at.After(r.now) {
		t.Errorf("the tick is not due again: %v %t", at, ok)
	}
}

// M11: a command is no tick: a node of a lane keeps its value.
func TestM11CommandsAreNoTicks(t *testing.T) {
	t.Parallel()
	r := newRig(t, beating("drop_tick", "{}"))
	r.push("a", 1)
	r.fire()
	r.advance(time.Second)
	r.want(r.fire(), "h=1@2")
	r.push("a", 2)
	if _, err := r.c.ForceFire(r.now, "", false); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), "h=1@3 n=20@3")
	if _, err := r.c.FireWith(r.now, "", []boundary.Value{boundary.Int(7)}, true); err != nil {
		t.Fatal(err)
	}
	r.want(r.released(), "n=70@4")
	r.advance(time.Second)
	r.want(r.fire(), "h=7@5")
}

// M24, M28: in how many epochs in a row a node was left out is kept over a restart.
func TestM24WaitingIsKeptOverARestart(t *testing.T) {
	t.Parallel()
	const doc = "graph: g\naccumulators: { a: { strategy: sequential } }\n" +
		"reactor: { budget: 15ns, on_overrun: degrade }\n" +
		"nodes: { slow: { expr: a, priority: high }, late: { expr: a + 1 } }\n" +
		"outputs: { o: { from: late, sink: { drop: {} } } }\n"
	now := int64(0)
	ticking := func(c *Config) {
		c.Mono, c.EpochTimeout = func() int64 { now += 10; return now }, time.Hour
	}
	cells := map[string]checkpoint.Cell{}
	r := newRig(t, doc, ticking)
	var got []string
	for n := range 6 {
		r.push("a", n)
		got = append(got, r.fire())
		r.reload(cells)
		r.start()
	}
	// Of normal priority a node is left out twice in a row at most.
	if text := strings.Join(got, ","); text != ",,o=3@3,,,o=6@6" {
		t.Errorf("put out %q", text)
	}
}
