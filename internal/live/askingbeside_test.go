package live

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

// fires has somebody fire the graph, and waits until that was tried; what comes of it is told as a text.
func (a *asker) fires() <-chan string {
	a.t.Helper()
	told, ctx := make(chan string, 1), a.t.Context()
	go func() {
		res, err := a.ForceFire(ctx, "", false)
		told <- fmt.Sprint(res.Cause, " ", res.Values, " ", err)
	}()
	for a.shown.stirred = false; !a.shown.stirred; { // by what a command does
		if err := a.wait(ctx, nil); err != nil {
			a.t.Fatal(err)
		}
	}
	return told
}

// out is how many calls are on their way.
func (a *asker) out() int { return a.desk.Told()["n"].Out }

// once is a turn, and what the store is asked for.
func (a *asker) once(now time.Time) (busy bool) {
	a.t.Helper()
	busy, err := a.turn(now)
	if err != nil {
		a.t.Fatal(err)
	}
	a.work()
	return busy
}

// twice answers what it is asked, two times over, when it may.
func twice(goOn <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		<-goOn
		fmt.Fprintf(w, "%s%s", body, body)
	}
}

// M11: what comes while a command waits for an answer does not change what it has asked for: a source that gives more
// than a server answers keeps no command waiting.
func TestM11ACommandIsAnsweredWhateverComes(t *testing.T) {
	goOn := make(chan struct{})
	a := newAskerOf(t, "latest", "epoch_timeout: 1m", twice(goOn))
	defer close(goOn)
	a.byHand()
	a.Core.Pause(a.Clock.Now(), "op")
	a.turns()
	if a.desk.Holds() || !(host{a.Reactor}).Open() {
		t.Error("something is held back of a graph that waits for nothing")
	}
	told := a.fires()
	for n := range int64(5) {
		a.hand(handoff(2+n, 1, 8+n))
		a.turns()
	}
	if b := a.Core.Look().Inputs[0].Books; b.Received != 1 || !a.desk.Holds() {
		t.Errorf("what comes is admitted: %+v", b)
	}
	if (host{a.Reactor}).Open() {
		t.Error("under the event clock it would be folded")
	}
	goOn <- struct{}{}
	<-a.room
	a.turns()
	if a.Core.Epoch() != 1 {
		t.Fatalf("it has not run, and asks again: %d calls are on their way", a.out())
	}
	if got := <-told; got != "force [77] <nil>" {
		t.Errorf("it has come to %s", got)
	}
	if b := a.Core.Look().Inputs[0].Books; b.Received != 6 || b.Queued != 1 || a.desk.Holds() {
		t.Errorf("what came meanwhile: %+v", b)
	}
}

// M11: with its answer a command is tried before the next epoch, which would change what it asks for.
func TestM11ACommandIsTriedBeforeTheNextEpoch(t *testing.T) {
	goOn := make(chan struct{})
	a := newAsker(t, "1m", twice(goOn))
	defer close(goOn)
	a.care.on = false
	a.byHand()
	a.hand(handoff(3, 1, 8, 9))
	a.turns()
	if !a.desk.Waits() || a.out() != 1 {
		t.Fatalf("it waits: %v, and %d calls are on their way", a.desk.Waits(), a.out())
	}
	told := a.fires()
	a.turns()
	goOn <- struct{}{}
	<-a.room
	a.turns()
	if a.Core.Epoch() != 1 || !a.desk.Waits() || a.out() != 1 {
		t.Errorf("at epoch %d it waits: %v, and %d calls are on their way", a.Core.Epoch(), a.desk.Waits(), a.out())
	}
	select {
	case got := <-told:
		if got != "force [77] <nil>" {
			t.Errorf("it has come to %s", got)
		}
	case <-time.After(time.Minute):
		t.Error("it asks again")
	}
}

// ofKeys are events of so many keys.
func (a *asker) ofKeys(n int64) {
	h := handoff(n, 1)
	for i := range n {
		h.Boundaries = append(h.Boundaries,
			boundary.Boundary{Value: boundary.Int(i), Key: boundary.KeyOf(boundary.Int(i)), Events: 1, Size: 1})
	}
	a.hand(h)
}

// M43: what is asked ahead runs the nodes of epochs that come later. After a crash these are no more than may be tried
// before the next commit, under a note: what takes the process down in it is found as in any other try.
func TestM43WhatIsAskedAheadIsTried(t *testing.T) {
	goOn := make(chan struct{})
	a := newAskerOf(t, "sequential", "key: k, epoch_timeout: 1m", twice(goOn))
	defer close(goOn)
	a.begin()
	a.ofKeys(4)
	if a.turns(); a.out() != 1 {
		t.Errorf("before the first commit %d calls are on their way", a.out())
	}
	goOn <- struct{}{}
	<-a.room
	if a.turns(); a.out() != 2 || a.Core.Epoch() != 1 || a.care.limit != 2 {
		t.Errorf("after the first commit, at epoch %d, %d calls are on their way", a.Core.Epoch(), a.out())
	}
	a.care.limit, a.care.left, a.care.noted = 4, 4, 0 // it was taken back
	if a.turns(); a.out() != 2 || a.care.noted != 0 {
		t.Errorf("without a note %d calls are on their way", a.out())
	}
	a.care.on = false
	if a.turns(); a.out() != 3 {
		t.Errorf("when care is over %d calls are on their way", a.out())
	}
}

// M27: looking ahead ends with the time of a turn, and goes on in the next one.
func TestM27LookingAheadEndsInTime(t *testing.T) {
	var mono int64
	a := newAskerOf(t, "sequential", "key: k, epoch_timeout: 1h", hangs, func(c *reactor.Config) {
		c.Mono = func() int64 { mono += int64(fireWithin); return mono }
	})
	a.care.on = false
	a.begin()
	a.ofKeys(4)
	var out []int
	for a.once(a.lookUp()) {
		out = append(out, a.out())
	}
	if fmt.Sprint(append(out, a.out())) != "[2 3 4]" {
		t.Errorf("after each turn there were %v calls on their way, in the end %d", out, a.out())
	}
}

// M15: an epoch that waits for an answer keeps time from going on where that would change what it has asked for, and
// the reactor does not wake for it meanwhile.
func TestM15WhatWaitsForAnAnswerSleeps(t *testing.T) {
	a := newAskerOf(t, "latest", "key: k, ttl: 1s, epoch_timeout: 1m", hangs)
	a.care.on = false
	a.begin()
	a.ofKeys(2)
	a.turns()
	later := a.Clock.Now().Add(10 * time.Second)
	for range 5 {
		a.once(later)
	}
	if at, ok := a.Core.TickDue(); !ok || at.After(later) || !a.desk.Stands() {
		t.Fatalf("nothing is due: %v, %v", at, a.desk.Stands())
	}
	if d := a.sleep(later); d < time.Second {
		t.Errorf("it sleeps for %v", d)
	}
}
