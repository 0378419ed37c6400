package reactor

import (
	"strings"
	"testing"
	"time"
)

const two = "  a: {}\n  b: {}\n"

const pair = `nodes:
  both: { expr: "[a ?? nil, b ?? nil]" }
outputs:
  out: { from: both, sink: { drop: {} } }
`

// M8: when any fires on each arrival; what has not arrived reads as absent.
func TestM8AnyFiresOnEachArrival(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.push("a", 1)
	r.want(r.fire(), "out=[1,null]@1")
	r.push("b", 2)
	r.want(r.fire(), "out=[1,2]@2")
	r.want(r.fire(), "")
}

// M8: when all waits for every triggering input since the last cut, and says for whom.
func TestM8AllWaitsForEvery(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: all }", pair))
	r.push("a", 1)
	r.want(r.fire(), "")
	if got := strings.Join(r.c.WaitingFor(), " "); got != "b" {
		t.Fatalf("waiting for %q, want b", got)
	}
	r.push("b", 2)
	r.want(r.fire(), "out=[1,2]@1")
	r.push("b", 3)
	r.want(r.fire(), "")
	r.push("a", 4)
	r.want(r.fire(), "out=[4,3]@2")
}

// M8: only the named subset triggers; the others are read (the original ignored the list, W36).
func TestM8SubsetTriggers(t *testing.T) {
	for _, when := range []string{"{ any: [a] }", "{ all: [a] }"} {
		r := newRig(t, graphOf(two, "{ when: "+when+" }", pair))
		r.push("b", 1)
		r.want(r.fire(), "")
		r.push("a", 2)
		r.want(r.fire(), "out=[2,1]@1")
		if b := r.books("b"); b.Consumed != 1 {
			t.Fatalf("b's event is not consumed by the cut that read it: %+v", b)
		}
	}
}

// M8: a passive input is read and never triggers; what a newer value replaced is conflated.
func TestM8PassiveIsReadOnly(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: { passive: true }\n", "{ when: all }", pair))
	r.push("b", 1)
	r.push("b", 2)
	r.want(r.fire(), "")
	r.push("a", 3)
	r.want(r.fire(), "out=[3,2]@1")
	if b := r.books("b"); b.Conflated != 1 || b.Consumed != 1 {
		t.Fatalf("books of b: %+v", b)
	}
}

// M9: latest overwrites and counts what it overwrote.
func TestM9LatestConflates(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.push("a", 1, 2, 3)
	r.want(r.fire(), "out=[3,null]@1")
	if b := r.books("a"); b.Conflated != 2 || b.Consumed != 1 {
		t.Fatalf("books of a: %+v", b)
	}
}

// M9: sequential under any: one boundary per epoch, in admission order over all sequential
// inputs, the others keeping their cached value.
func TestM9SequentialAnyKeepsAdmissionOrder(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, strategy: sequential }", pair))
	r.push("a", 1)
	r.push("b", 10)
	r.push("a", 2, 3)
	r.want(r.fire(), "out=[1,null]@1 out=[1,10]@2 out=[2,10]@3 out=[3,10]@4")
}

// M9: sequential under all is a zip: one head from each, also with one input far ahead.
func TestM9SequentialAllZips(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: all, strategy: sequential }", pair))
	r.push("a", 1, 2, 3, 4, 5)
	r.want(r.fire(), "")
	r.push("b", 10, 20)
	r.want(r.fire(), "out=[1,10]@1 out=[2,20]@2")
	if d := stateOf(r.c).Queues[0]; d != 3 {
		t.Fatalf("a has %d queued, want 3", d)
	}
}

// M9: in a zip a latest input repeats once it has arrived.
func TestM9LatestRepeatsInZip(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: all }", pair))
	r.push("a", 1, 2)
	r.want(r.fire(), "")
	r.push("b", 10)
	r.want(r.fire(), "out=[1,10]@1 out=[2,10]@2")
}

// M8: a false guard consumes the cut without an epoch; the events count as filtered and the
// latest value stays in the cache for later epochs.
func TestM8GuardFalseConsumes(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, guard: '(a ?? 0) + (b ?? 0) < 10' }", pair))
	r.push("a", 100)
	r.want(r.fire(), "")
	if b := r.books("a"); b.Filtered != 1 || r.c.Epoch() != 0 {
		t.Fatalf("books of a: %+v, epoch %d", b, r.c.Epoch())
	}
	r.push("b", -99)
	r.want(r.fire(), "out=[100,-99]@1")
}

// M8: a guard that reads an input which has not arrived makes a sequential head wait, and
// the graph says for whom.
func TestM8GuardWaitsForSequentialHead(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: any, guard: a < b }", pair))
	r.push("a", 1, 2)
	r.want(r.fire(), "")
	if got := strings.Join(r.c.WaitingFor(), " "); got != "b" {
		t.Fatalf("waiting for %q, want b", got)
	}
	r.push("b", 2)
	r.want(r.fire(), "out=[1,2]@1") // 2 < 2 is false: filtered
	if b := r.books("a"); b.Consumed != 1 || b.Filtered != 1 {
		t.Fatalf("books of a: %+v", b)
	}
}

// M8: for latest inputs a guard on what has not arrived is false.
func TestM8GuardOnAbsentLatestIsFalse(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, guard: a < b }", pair))
	r.push("a", 1)
	r.want(r.fire(), "")
	if b := r.books("a"); b.Filtered != 1 {
		t.Fatalf("books of a: %+v", b)
	}
	r.push("b", 2)
	r.want(r.fire(), "out=[1,2]@1")
}

// M8, M21: a guard that cannot be evaluated fails its epoch visibly.
func TestM8GuardErrorIsAFailedEpoch(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, guard: a > 1 }", pair))
	r.push("a", "text")
	r.want(r.fire(), "")
	rec := r.last()
	if rec.Err == "" || rec.Epoch != 1 || r.books("a").DeadLettered != 1 {
		t.Fatalf("record %+v, books %+v", rec, r.books("a"))
	}
	if l := r.c.deadLetters; len(l) != 1 || l[0].Stage != "guard" || string(l[0].Payload) != `"text"` {
		t.Fatalf("letters %+v", l)
	}
}

// M8: rate_limit delays the start and guarantees a trailing fire; latest inputs conflate meanwhile.
func TestM8RateLimitTrails(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, rate_limit: 10ms }", pair))
	r.push("a", 1)
	r.want(r.fire(), "out=[1,null]@1")
	r.push("a", 2)
	r.push("a", 3)
	r.want(r.fire(), "")
	at, ok := r.c.Due()
	if !ok || !at.Equal(epochZero.Add(10*time.Millisecond)) {
		t.Fatalf("due %v %v, want 10ms after the start", at, ok)
	}
	r.now = at
	r.want(r.fire(), "out=[3,null]@2")
	if _, ok := r.c.Due(); ok {
		t.Fatal("something is due although nothing has arrived")
	}
}

// M8: with sequential inputs a rate limit delays the start and never merges.
func TestM8RateLimitNeverMergesSequential(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any, strategy: sequential, rate_limit: 10ms }", pair))
	r.push("a", 1, 2)
	r.want(r.fire(), "out=[1,null]@1")
	r.advance(9 * time.Millisecond)
	r.want(r.fire(), "")
	r.advance(time.Millisecond)
	r.want(r.fire(), "out=[2,null]@2")
}

// M7: epochs are dense, and what arrives after a cut belongs to a later epoch: its flag is kept (W6).
func TestM7ArrivalAfterTheCutIsALaterEpoch(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	for i := 1; i <= 5; i++ {
		r.push("a", i)
		r.fireOnce()
		r.push("a", -i)
		if !stateOf(r.c).Dirty[0] {
			t.Fatal("the flag of what arrived after the cut is gone")
		}
		r.fireOnce()
	}
	if r.c.Epoch() != 10 {
		t.Fatalf("epoch %d, want 10", r.c.Epoch())
	}
}

// A default is read until the first boundary arrives, and does not trigger.
func TestDefaultUntilTheFirstArrives(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: { passive: true, default: 7 }\n", "{ when: any }", pair))
	r.want(r.fire(), "")
	r.push("a", 1)
	r.want(r.fire(), "out=[1,7]@1")
	r.push("b", 8)
	r.push("a", 2)
	r.want(r.fire(), "out=[2,8]@2")
}

// M8: a head whose guard reads an input that stands behind it in line would wait for ever:
// the guard is false, and its value stays in the cache for the boundary behind.
func TestM8GuardDoesNotWaitForWhatIsBehind(t *testing.T) {
	r := newRig(t, graphOf("  a: {}\n  b: {}\n", "{ when: any, strategy: sequential, guard: b > 0 }", pair))
	r.push("a", 1)
	r.want(r.fire(), "")
	if b := r.books("a"); b.Queued != 1 {
		t.Fatalf("books %+v", b)
	}
	r.push("b", 2)
	r.want(r.fire(), "out=[1,2]@1")
	if b := r.books("a"); b.Filtered != 1 || r.books("b").Consumed != 1 {
		t.Fatalf("books %+v", b)
	}
}
