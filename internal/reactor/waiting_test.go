package reactor

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

const joinByKey = `nodes:
  n: { expr: '[key, a ?? nil, b ?? nil]' }
outputs:
  out: { from: n, sink: { drop: {} } }
`

const twoSequential = "  a: { strategy: sequential }\n  b: { strategy: sequential }\n"

// credit is the room that was given back since the last call.
func (r *rig) credit() string {
	text := ""
	r.c.DrainFreed(func(i int, freed Credit) { text += fmt.Sprintf("%s%d ", r.c.cfg.Inputs[i].Name, freed.Boundaries) })
	return text
}

// M4, M13: what waits for its counterpart, or for a timer, gives its room back at once, what may
// fire when it is taken; each once.
func TestM13WhatWaitsTakesNoRoom(t *testing.T) {
	// The room that is given back after a for x, a for y, b for x, and the epochs.
	for reactor, want := range map[string]string{
		"{ when: all }":                   "[a1  a1   b1 ]",
		"{ when: all, max_wait: 15m }":    "[a1  a1   b1 ]",
		"{ when: all, rate_limit: 1h }":   "[a1  a1   b1 ]",
		"{ when: all, guard: a % 2 > 9 }": "[a1  a1   b1 ]",
		"{ when: any, debounce: 1h }":     "[a1  a1  b1  ]",
		"{ when: any }":                   "[   a2 b1 ]",
		"{ when: any, guard: b > 0 }":     "[   a2 b1 ]",
	} {
		r := newRig(t, graphOf(twoSequential, reactor, joinByKey), keyed(nil))
		var got []string
		for _, to := range []string{"ax", "ay", "bx"} {
			r.give(to[:1], to[1:], 1)
			got = append(got, r.credit())
			checkKeys(t, r.c)
		}
		r.fire()
		checkKeys(t, r.c)
		if got = append(got, r.credit()); fmt.Sprint(got) != want {
			t.Errorf("%s: got %q, want %q", reactor, fmt.Sprint(got), want)
		}
		r.balanced()
	}
}

// M13: more than max_waiting in a key, and the oldest goes; it makes no difference whether what is
// complete has run already.
func TestM13MaxWaitingIsTheSameAtEveryPace(t *testing.T) {
	script := "aaaaaabaabbaaabaaaaabbbbb"
	var want string
	for pace := 1; pace <= len(script); pace++ {
		r := newRig(t, graphOf(twoSequential, "{ when: all }", joinByKey), keyed(func(k *Keys) { k.MaxWaiting = 3 }))
		got := ""
		for i, input := range script {
			r.give(string(input), "x", i)
			if (i+1)%pace == 0 {
				got += r.fire() + " "
			}
		}
		got = fmt.Sprint(got+r.fire()+" ", r.books("a"), r.books("b"), r.c.keys.overflowed)
		for _, l := range r.c.deadLetters {
			got += fmt.Sprintf("\n%s %s %s", l.Accumulator, l.Code, l.Payload)
		}
		if want == "" {
			want = normal(got)
		}
		if got = normal(got); got != want {
			t.Fatalf("fired after every %d:\n%s\nwant\n%s", pace, got, want)
		}
		r.balanced()
		checkKeys(t, r.c)
	}
}

// normal is a trace without the blanks of calls that fired nothing.
func normal(s string) string {
	out, blank := []byte{}, false
	for i := range len(s) {
		if s[i] == ' ' {
			blank = len(out) > 0
			continue
		}
		if blank {
			out = append(out, ' ')
		}
		out, blank = append(out, s[i]), false
	}
	return string(out)
}

// M13: over all keys what has waited longest goes at max_waiting_bytes, as on_evict says, and with
// a code of its own.
func TestM13MaxWaitingBytesLetsTheOldestGo(t *testing.T) {
	for _, drop := range []bool{false, true} {
		r := newRig(t, graphOf(twoSequential, "{ when: all }", joinByKey), keyed(func(k *Keys) {
			k.MaxWaitingBytes, k.Drop = 3*(waitingOverhead+50), drop
		}))
		for i, key := range []string{"x", "y", "x", "z", "w"} {
			r.give("a", key, i)
		}
		want := `[a keys_full 0 a keys_full 1]`
		if drop {
			want = "[]"
		}
		letters := []any{}
		for _, l := range r.c.deadLetters {
			letters = append(letters, l.Accumulator+" "+l.Code+" "+string(l.Payload))
		}
		if b := r.books("a"); fmt.Sprint(letters) != want || b.Queued != 3 || b.Filtered+b.DeadLettered != 2 {
			t.Fatalf("drop %v: letters %v, books %+v", drop, letters, b)
		}
		cells := map[string]checkpoint.Cell{}
		r.reload(cells)
		r.start()
		if v := r.c.Look(); v.Overflowed != 2 || v.Inputs[0].Own.Boundaries != 3 || r.credit() != "" {
			t.Fatalf("after a restart %+v", v)
		}
		for _, key := range []string{"x", "z", "w"} {
			r.give("a", key, 7)
			r.want(r.fire(), "")
		}
		if b := r.books("a"); b.Queued != 3 || b.Filtered+b.DeadLettered != 5 {
			t.Fatalf("after a restart: books %+v", b)
		}
		r.balanced()
		checkKeys(t, r.c)
	}
}

// M13: keys that are evicted while they wait leave nothing behind, however many there are.
func TestM13EvictedKeysLeaveTheLine(t *testing.T) {
	r := newRig(t, graphOf(twoSequential, "{ when: all }", joinByKey),
		keyed(func(k *Keys) { k.Max, k.Drop = 10, true }))
	for i := range 20_000 {
		r.give("a", strconv.Itoa(i), i)
	}
	if n := len(r.c.keys.line); n > 2*1024+20 {
		t.Fatalf("%d places for 10 keys", n)
	}
	r.balanced()
	checkKeys(t, r.c)
}

// M13, M42: a hundred thousand keys that each wait for the other half hold up nothing, balance,
// tell what they hold, and take the memory that was promised.
func TestM13HundredThousandKeysWait(t *testing.T) {
	const n = 100_000
	r := newRig(t, graphOf(twoSequential, "{ when: all, max_wait: 15m }", joinByKey),
		keyed(func(k *Keys) { k.Max = 2 * n }))
	before := heapAfterGC()
	for i := range n {
		h := &accumulator.Handoff{Boundaries: []boundary.Boundary{{
			Value: boundary.Int(int64(i)), Key: boundary.KeyOf(boundary.Int(int64(i))), Events: 1, Size: 8,
		}}, Mark: accumulator.Mark{Counters: accumulator.Counters{Received: int64(i + 1)}}}
		r.c.Admit(r.now, 0, h, 0)
	}
	r.sent["a"] = n
	perKey := (heapAfterGC() - before) / n
	runtime.KeepAlive(r)
	in := r.c.Look().Inputs[0]
	room := r.credit()
	t.Logf("%d bytes for each key with a boundary that waits; %s given back", perKey, room)
	if room != fmt.Sprintf("a%d ", n) || in.Depth != n || in.Own.Boundaries != n || perKey > 500+waitingOverhead {
		t.Fatalf("%s given back, %+v, %d bytes for each", room, in, perKey)
	}
	if got := r.c.Look().WaitingBytes; got != n*(waitingOverhead+8) {
		t.Fatalf("%d bytes are told", got)
	}
	r.balanced()
	checkKeys(t, r.c)
	r.advance(15 * time.Minute)
	fired := 0
	for r.c.Fire(r.now) {
		fired++
		r.c.ResetReleased()
	}
	if fired != n || r.books("a").Consumed != n {
		t.Fatalf("%d epochs, books %+v", fired, r.books("a"))
	}
	r.balanced()
}

// M13, M29: a key whose guard waits gives up what is more than max_waiting when the guard is asked. A replay
// asks it then too, though nothing has fired, and is told so.
func TestM29ReplayOfAGuardThatWaits(t *testing.T) {
	t.Parallel()
	doc := graphOf(twoSequential, "{ when: any, guard: a > 0 }", joinByKey)
	few := keyed(func(k *Keys) { k.MaxWaiting = 2 })
	r := newRig(t, doc, few, withJournal)
	r.c.Begin()
	for n := range 3 {
		r.give("b", "x", n)
	}
	r.want(r.fire(), "")
	r.give("a", "x", 1)
	r.want(r.fire(), `out=["x",1,2]@1`)
	replayed := NewCore(testConfig(t, doc, few, withJournal))
	replayer := NewReplayer(replayed, checkpoint.Head{})
	for _, e := range r.c.DrainJournal() {
		if err := replayer.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	replayer.Done()
	live, again := r.c.Books(r.input("b")), replayed.Books(r.input("b"))
	if live != again || live.DeadLettered != 1 || replayed.Epoch() != r.c.Epoch() {
		t.Errorf("the replay came to epoch %d and %+v, live were epoch %d and %+v", replayed.Epoch(), again,
			r.c.Epoch(), live)
	}
}

// M12, M28, M29: a guard that waits is asked again when something comes, and not because the graph was restored:
// it may read more than what it waits for, and say another thing by then.
func TestM28AGuardThatWaitsIsRestored(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		cells := map[string]checkpoint.Cell{}
		r := newRig(t, graphOf(twoSequential, "{ when: any, guard: epoch() > 1 || a > 0 }", joinByKey), keyed(nil))
		restart := func() {
			if restarts {
				r.reload(cells)
				r.start()
			}
		}
		fire := func() string {
			restart() // sealed before the guard is asked, and after
			out := r.fire()
			restart()
			return out + r.fire()
		}
		r.give("b", "x", 1)
		r.want(fire(), "")
		r.give("a", "y", 1)
		r.want(fire(), `out=["y",1,null]@1`) // and not the other, although epoch() is 2 by now
		r.want(fire(), "")
		r.give("b", "x", 2)
		r.want(fire(), `out=["x",null,1]@2 out=["x",null,2]@3`)
	}
}

// The same without keys; under another declaration the guard may be another, and is asked.
func TestM28AGuardThatWaitsIsRestoredWithoutKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, graphOf(twoSequential, "{ when: any, guard: a > 0 }", `nodes: { n: { expr: '[a, b ?? 0]' } }
outputs: { out: { from: n, sink: { drop: {} } } }
`))
	cells := map[string]checkpoint.Cell{}
	r.push("b", 1)
	r.want(r.fire(), "")
	r.reload(cells)
	if !r.c.cell.waits {
		t.Error("the guard waits no more")
	}
	r.reload(cells, func(c *Config) { c.PlanHash = "another" })
	if r.c.cell.waits {
		t.Error("another guard is not asked")
	}
}
