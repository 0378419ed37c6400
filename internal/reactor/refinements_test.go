package reactor

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

const single = `nodes:
  n: { expr: a, event: true }
outputs:
  out: { from: n, sink: { drop: {} } }
`

// M8: debounce fires once when nothing has arrived for its time: every arrival begins it anew,
// and the trailing fire comes without another arrival.
func TestM8Debounce(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n", "{ when: any, debounce: 10s }", single))
	r.push("a", 1)
	r.want(r.fire(), "")
	r.advance(6 * time.Second)
	r.push("a", 2)
	r.advance(6 * time.Second)
	r.want(r.fire(), "")
	at, ok := r.c.Due()
	if !ok || !at.Equal(epochZero.Add(16*time.Second)) {
		t.Fatalf("due at %v, %v", at, ok)
	}
	r.advance(4 * time.Second)
	r.want(r.fire(), "out=2@1")
	if _, ok := r.c.Due(); ok {
		t.Fatal("something is due although nothing waits")
	}
}

// M8, M9: with a sequential input debounce delays the start and merges nothing.
func TestM8DebounceSequential(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any, debounce: 10s }", single))
	r.push("a", 1, 2)
	r.advance(9 * time.Second)
	r.push("a", 3)
	r.advance(9 * time.Second)
	r.want(r.fire(), "")
	r.advance(time.Second)
	r.want(r.fire(), "out=1@1 out=2@2 out=3@3")
}

// M8: only what triggers begins the wait of debounce anew.
func TestM8DebounceIgnoresPassive(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: { passive: true }\n", "{ when: any, debounce: 10s }", pair))
	r.push("a", 1)
	r.advance(9 * time.Second)
	r.push("b", 2)
	r.advance(time.Second)
	r.want(r.fire(), "out=[1,2]@1")
}

// M8: max_wait bounds the wait of debounce, and says so.
func TestM8MaxWaitOfDebounce(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n", "{ when: any, debounce: 10s, max_wait: 25s }", single))
	for i := range 4 {
		r.push("a", i)
		r.want(r.fire(), "")
		r.advance(8 * time.Second)
	}
	r.now = epochZero.Add(25 * time.Second)
	r.want(r.fire(), "out=3@1")
	if got := r.last().Cause.String(); got != "max_wait" {
		t.Fatalf("cause %s", got)
	}
}

// M8: max_wait fires `when all` with what is there, and says so; what had not come then
// waits for the next.
func TestM8MaxWaitOfAll(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: all, max_wait: 5s }", pair))
	r.push("a", 1)
	r.advance(4 * time.Second)
	r.push("a", 2)
	r.want(r.fire(), "")
	if at, ok := r.c.Due(); !ok || !at.Equal(epochZero.Add(5*time.Second)) {
		t.Fatalf("due at %v, %v", at, ok)
	}
	r.advance(time.Second)
	r.want(r.fire(), "out=[2,null]@1")
	if got := r.last().Cause.String(); got != "max_wait" {
		t.Fatalf("cause %s", got)
	}
	r.push("b", 3)
	r.want(r.fire(), "")
	r.push("a", 4)
	r.want(r.fire(), "out=[4,3]@2")
	if got := r.last().Cause.String(); got != "criteria" {
		t.Fatalf("cause %s", got)
	}
}

// M8: of a zip that did not come together max_wait takes one head each; what has waited as long
// goes as well, in an epoch of its own, and what came later waits for its own time.
func TestM8MaxWaitOfZip(t *testing.T) {
	inputs := "  a: { strategy: sequential }\n  b: { strategy: sequential }\n"
	r := newRig(t, graphOf(inputs, "{ when: all, max_wait: 5s }", pair))
	r.push("a", 1, 2)
	r.advance(2 * time.Second)
	r.push("a", 3, 4)
	r.advance(3 * time.Second)
	r.want(r.fire(), "out=[1,null]@1 out=[2,null]@2")
	if at, ok := r.c.Due(); !ok || !at.Equal(epochZero.Add(7*time.Second)) {
		t.Fatalf("due at %v, %v", at, ok)
	}
	r.push("b", 7)
	r.want(r.fire(), "out=[3,7]@3")
	r.advance(2 * time.Second)
	r.want(r.fire(), "out=[4,7]@4")
}

// M8: every fires at the instants of its grid alone; with nothing new the cause is tick and
// nothing is emitted; a tick does not take what waits for the rest of `when all`.
func TestM8Every(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: all, every: 10s }", pair)) // epochZero is at 5 s of a minute
	r.push("a", 1)
	r.push("b", 2)
	r.want(r.fire(), "")
	if at, ok := r.c.Due(); !ok || !at.Equal(epochZero.Add(5*time.Second)) {
		t.Fatalf("due at %v, %v", at, ok)
	}
	r.advance(5 * time.Second)
	r.want(r.fire(), "out=[1,2]@1")
	r.push("a", 3)
	r.advance(9 * time.Second)
	r.want(r.fire(), "")
	r.advance(time.Second)
	r.want(r.fire(), "")
	if last := r.last(); last.Cause != CauseTick || last.Epoch != 2 || last.Cut[0].Taken {
		t.Fatalf("a tick with half of what is waited for: %+v", last)
	}
	r.push("b", 4)
	r.advance(35 * time.Second) // the ticks in between are one
	r.want(r.fire(), "out=[3,4]@3")
	if n := r.c.Epoch(); n != 3 {
		t.Fatalf("%d epochs", n)
	}
}

// M8, M9: at a cadence a sequential input has one epoch at each instant.
func TestM8EverySequential(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any, every: 1s }", single))
	r.push("a", 1, 2)
	r.want(r.fire(), "") // the first instant comes after the start
	r.advance(time.Second)
	r.want(r.fire(), "out=1@1")
	r.want(r.fire(), "")
	r.advance(time.Second)
	r.want(r.fire(), "out=2@2")
}

// M9: a burst is the list of what came since the last cut; it is one epoch, its events are all
// consumed, and what fails goes to dead letters one by one.
func TestM9Burst(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: burst }\n  b: {}\n", "{ when: any }", pair))
	r.push("a", 1, 2)
	r.push("a", 3)
	r.want(r.fire(), "out=[[1,2,3],null]@1")
	r.push("b", 4)
	r.want(r.fire(), "out=[[1,2,3],4]@2")
	if b := r.books("a"); b.Consumed != 3 {
		t.Fatalf("%+v", b)
	}
	r = newRig(t, graphOf("  a: { strategy: burst }\n", "{ when: any }", strings.Replace(single, "expr: a",
		"expr: 1 / sum(a)", 1)))
	r.push("a", 1, -1)
	r.want(r.fire(), "")
	if b := r.books("a"); b.DeadLettered != 2 || len(r.c.deadLetters) != 2 ||
		string(r.c.deadLetters[1].Payload) != "-1" {
		t.Fatalf("%+v, letters %+v", b, r.c.deadLetters)
	}
}

// M9: under `when all` a burst is there when one boundary is.
func TestM9BurstAll(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: burst }\n  b: { strategy: sequential }\n", "{ when: all }", pair))
	r.push("b", 1, 2)
	r.want(r.fire(), "")
	r.push("a", 7, 8)
	r.want(r.fire(), "out=[[7,8],1]@1 out=[[7,8],2]@2")
}

const market = "  bid: { sync_group: m }\n  ask: { sync_group: m }\n  trade: { strategy: sequential, sync_group: m }\n"

const rows = `nodes:
  row: { expr: "[bid ?? nil, ask ?? nil, trade ?? nil]" }
outputs:
  out: { from: row, sink: { drop: {} } }
`

// pushMarket hands over the published example: quotes conflate, trades do not.
func pushMarket(r *rig) {
	r.push("bid", 100.00)
	r.push("ask", 100.02)
	r.push("bid", 100.01)
	r.push("ask", 100.03)
	r.push("trade", 100.02)
	r.push("bid", 99.97)
	r.push("bid", 99.98)
	r.push("bid", 99.99)
	r.push("trade", 100.03)
	r.push("ask", 100.00)
}

// M9: in a sync_group quotes never run ahead of the trade that came before them; without one
// they do. The rows are those of Point72 csp's documentation of push groups.
func TestM9SyncGroup(t *testing.T) {
	r := newRig(t, graphOf(market, "{ when: any }", rows))
	pushMarket(r)
	r.want(r.fire(), "out=[100.01,100.03,100.02]@1 out=[99.99,100.03,100.03]@2 out=[99.99,100,100.03]@3")
	if b := r.books("bid"); b.Consumed != 2 || b.Conflated != 3 {
		t.Fatalf("%+v", b)
	}
	r = newRig(t, graphOf(strings.ReplaceAll(strings.ReplaceAll(market, "sync_group: m", ""), ", }", " }"),
		"{ when: any }", rows))
	pushMarket(r)
	r.want(r.fire(), "out=[99.99,100,100.02]@1 out=[99.99,100,100.03]@2")
}

// M9: a burst in a sync_group is cut off at the barrier too.
func TestM9SyncGroupBurst(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: burst, sync_group: m }\n  b: { strategy: sequential, sync_group: m }\n",
		"{ when: any }", pair))
	r.push("a", 1, 2)
	r.push("b", 7)
	r.push("a", 3)
	r.want(r.fire(), "out=[[1,2],7]@1 out=[[3],7]@2")
}

// M28: what the refinements keep (timers, groups, bursts) survives a restart at any point.
func TestM28RefinementsSurviveARestart(t *testing.T) {
	cells := map[string]checkpoint.Cell{}
	r := newRig(t, graphOf(market, "{ when: any, debounce: 10s, max_wait: 15s }", rows))
	pushMarket(r)
	r.advance(4 * time.Second)
	r.reload(cells)
	r.start()
	r.want(r.fire(), "")
	r.push("ask", 101.0)
	r.reload(cells)
	r.start()
	r.now = epochZero.Add(13 * time.Second)
	r.want(r.fire(), "")
	r.now = epochZero.Add(14 * time.Second)
	r.want(r.fire(), "out=[100.01,100.03,100.02]@1 out=[99.99,100.03,100.03]@2 out=[99.99,101,100.03]@3")
	r.reload(cells)
	r.start()
	r.want(r.fire(), "")
	if b := r.books("ask"); b.Queued != 0 {
		t.Fatalf("%+v", b)
	}
}

// M8, M11: a pause keeps the timers' due times; what they let through waits for the resume.
func TestM8TimersUnderPause(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n", "{ when: any, debounce: 10s }", single))
	r.push("a", 1)
	r.c.Pause(r.now, "test")
	r.advance(20 * time.Second)
	r.want(r.fire(), "")
	if _, ok := r.c.Due(); ok {
		t.Fatal("a paused graph waits for a timer")
	}
	r.c.Resume(r.now)
	r.want(r.fire(), "out=1@1")
	r.push("a", 2)
	if r.c.Settled() || !r.c.Resting() || !r.c.Look().DueAt.Equal(r.now.Add(10*time.Second)) {
		t.Fatal("nothing is left to fire now, and a debounce has yet to fire")
	}
	r.now = r.now.Add(10 * time.Second)
	r.c.Tick(r.now)
	if r.c.Resting() || !r.c.Look().DueAt.IsZero() {
		t.Fatal("a debounce that is due has yet to fire")
	}
}

// M8: a guard that is false at a tick makes no epoch.
func TestM8GuardAtATick(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n", "{ when: any, every: 1s, guard: 'a > 1' }", single))
	r.push("a", 1)
	r.want(r.fire(), "")
	r.advance(time.Second)
	r.want(r.fire(), "")
	r.push("a", 2)
	r.want(r.fire(), "") // after the tick of this instant
	r.advance(time.Second)
	r.want(r.fire(), "out=2@1")
}

// M33: an input that is latest by now goes on with the newest of what its queue held, in
// whatever order the store hands the cells over; the others were conflated.
func TestM33QueueOfAnInputThatIsLatestNow(t *testing.T) {
	for _, opts := range [][]option{nil, {keyed(func(*Keys) {})}} {
		for range 20 { // maps have another order each time
			cells := map[string]checkpoint.Cell{}
			r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any }", single), opts...)
			r.c.Pause(r.now, "test")
			for i := range 6 {
				if opts == nil {
					r.push("a", i)
				} else {
					r.give("a", "p", i)
				}
			}
			r.reload(cells, func(c *Config) { c.Inputs[0].Sequential = false })
			r.start()
			r.c.Resume(r.now)
			r.want(r.fire(), "out=5@1")
			if b := r.books("a"); b.Conflated != 5 || b.Consumed != 1 {
				t.Fatalf("%+v", b)
			}
		}
	}
}
