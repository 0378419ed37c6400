package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
)

// step is one random thing.
func (w *world) step() {
	w.steps++
	w.pass(time.Duration(w.rng.IntN(4)) * time.Millisecond)
	o := w.own
	switch k := w.rng.IntN(100); {
	case k < 18:
		o.read()
	case k < 26:
		o.push(inB)
	case k < 34:
		o.push(inC)
	case k < 56:
		o.turn()
	case k < 72:
		o.storeCall(w.outcome())
	case k < 82:
		o.deliver([]int{directA, boxA, directC, boxC}[w.rng.IntN(4)], w.rng.IntN(4))
	case k < 84:
		w.crash()
	case k < 86:
		w.usurp()
	case k < 89:
		w.zombie()
	case k < 91:
		o.restartAccumulator(w.rng.IntN(simInputs))
		w.note("accumulator")
	case k < 92:
		w.rebalance()
	case k < 93:
		o.speakLate()
	case k < 95:
		o.command(k%2 == 0)
	case k < 97:
		o.fire(k%2 == 0)
	case k < 98:
		w.full = 1 + w.rng.IntN(4)
		w.note("disk full")
	case k < 99:
		w.jump()
	default:
		o.look()
	}
	if w.problem == "" {
		w.check()
	}
}

func (w *world) outcome() checkpointtest.Outcome {
	return []checkpointtest.Outcome{
		checkpointtest.Pass, checkpointtest.Pass, checkpointtest.Pass, checkpointtest.Pass, checkpointtest.Pass,
		checkpointtest.Fail, checkpointtest.UnknownApplied, checkpointtest.UnknownLost, checkpointtest.UnknownLate,
	}[w.rng.IntN(9)]
}

// turn lets the reactor do one round. When it ends, the graph is loaded anew.
func (o *owner) turn() {
	w := o.w
	if w.deaf && w.bug == deafResume && o == w.own {
		return
	}
	w.plantBeforeTurn(o)
	_, err := o.r.turn(o.r.lookUp())
	w.plantAfterTurn(o)
	if err == nil {
		o.answer()
		return
	}
	w.note("reactor ended: fenced %v", errors.Is(err, checkpoint.ErrFenced))
	if o != w.own {
		return
	}
	if !errors.Is(err, checkpoint.ErrFenced) && !errors.Is(err, checkpoint.ErrUnknownOutcome) {
		w.wrong("the reactor ended: %v", err)
	}
	w.start()
	w.late()
}

// answer tells the operator and the pushers what has become durable.
func (o *owner) answer() {
	if o == o.w.own {
		o.told()
	}
	kept := o.tickets[:0]
	for _, t := range o.tickets {
		switch {
		case o.w.bug == ackFirst || t.wait(ended()) == nil:
			o.w.acked[t.value] = true
			o.w.note("acked %d", t.value)
		default:
			kept = append(kept, t)
		}
	}
	o.tickets = kept
}

// storeCall lets one call that is on its way reach the store and come back.
func (o *owner) storeCall(outcome checkpointtest.Outcome) {
	if len(o.jobs) == 0 {
		return
	}
	k := o.w.rng.IntN(len(o.jobs)) // a commit and an append overtake each other
	job := o.jobs[k]
	o.jobs = append(o.jobs[:k], o.jobs[k+1:]...)
	o.w.fault = outcome
	o.w.plantBeforeCommit(o)
	job()
	o.w.fault = checkpointtest.Pass
	o.w.note("store %d", outcome)
}

// crash is a kill: all that is in memory is gone, and so are the calls on their way.
func (w *world) crash() {
	w.note("crash")
	w.start()
	w.late()
}

// usurp is another process that takes the graph; the owner goes on until it notices.
func (w *world) usurp() {
	w.note("usurp")
	if len(w.zombies) < 3 {
		w.zombies = append(w.zombies, w.own)
	}
	w.start()
}

// zombie lets an old owner go on as if nothing had happened.
func (w *world) zombie() {
	if len(w.zombies) == 0 {
		return
	}
	o := w.zombies[w.rng.IntN(len(w.zombies))]
	streams, pushed := w.streams, w.pushed
	switch w.rng.IntN(3) {
	case 0:
		o.turn()
	case 1:
		o.storeCall(checkpointtest.Pass)
	default:
		o.deliver([]int{boxA, boxC}[w.rng.IntN(2)], 3)
	}
	w.streams, w.pushed = streams, pushed
	w.note("zombie")
}

// late delivers what was on its way when the graph was taken anew: it must change nothing.
func (w *world) late() {
	for _, err := range w.store.Deliver(context.Background()) {
		if !errors.Is(err, checkpoint.ErrFenced) {
			w.wrong("a stale write was not fenced: %v", err)
		}
	}
}

// read hands over some events of one stream, or a mark alone, if there is room.
func (o *owner) read() {
	w := o.w
	s := w.rng.IntN(2)
	if !w.streams[s].assigned {
		return
	}
	n := min(w.rng.Int64N(4), simEvents/2-w.streams[s].next)
	if n <= 0 && w.rng.IntN(2) == 0 {
		return
	}
	if err := o.ports[inA].Put(ended(), w.sourceBatch(w.streams, s, n)); err != nil {
		w.note("full")
		return // held back: the batch is read again
	}
	w.streams[s].next += n
	w.deaf = false
	w.note("read %d to %d", s, w.streams[s].next)
}

// rebalance takes a stream away, or gives it back: it goes on behind what was admitted.
func (w *world) rebalance() {
	s := w.rng.IntN(2)
	w.streams[s].assigned = !w.streams[s].assigned
	w.note("stream %d assigned %v", s, w.streams[s].assigned)
}

func (o *owner) push(i int) {
	w := o.w
	v := w.pushed[i] + 1
	if i == inC {
		v = w.nextC
	}
	h := &accumulator.Handoff{Boundaries: []boundary.Boundary{{Value: boundary.Int(v), At: w.now, Events: 1, Size: 8}}}
	h.Mark = accumulator.Mark{Counters: accumulator.Counters{Received: w.pushed[i] + 1}}
	if i == inC && w.cfg.Guard {
		return // a guard may filter what is pushed: in those runs nothing is
	}
	if err := o.ports[i].Put(ended(), h); err != nil {
		w.note("full")
		return
	}
	w.pushed[i]++
	w.deaf = false
	if i == inC {
		w.nextC++
		if t, ok := o.ports[i].(accumulator.Ticketer); ok {
			if wait := t.Ticket(); wait != nil {
				o.tickets = append(o.tickets, pushTicket{v, wait})
			}
		}
	}
	w.note("push %d %d", i, v)
}

// speakLate lets an old incarnation of an accumulator try to hand something over.
func (o *owner) speakLate() {
	if len(o.stale) == 0 {
		return
	}
	if err := o.stale[len(o.stale)-1](); !errors.Is(err, ErrStale) && !errors.Is(err, context.Canceled) {
		o.w.wrong("the words of an old incarnation were taken: %v", err)
	}
	o.stale = o.stale[:len(o.stale)-1]
	o.w.note("late words")
}

// command pauses or resumes. The operator is told when a checkpoint has it; until then it is
// open whether it holds after a restart.
func (o *owner) command(pause bool) {
	w := o.w
	if o.asked != nil {
		return // one at a time
	}
	a := &asked{pause: pause, waiter: waiter{done: make(chan error, 1)}}
	o.asked, w.open = a, true
	o.r.commands <- command{caller: context.Background(), run: func(now time.Time) {
		if pause {
			o.core.Pause(now, "op")
		} else {
			o.core.Resume(now)
		}
		a.waiter.from = o.r.seq + 1
		if o.r.inflight != nil {
			a.waiter.from++
		}
		o.r.waiters = append(o.r.waiters, a.waiter)
		o.r.sealNow = true
		if w.bug == volatilePause {
			w.paused, w.open = pause, false
		}
	}}
	w.note("ask for paused %v", pause)
}

// told takes in the answer to a command, if there is one.
func (o *owner) told() {
	if o.asked == nil {
		return
	}
	select {
	case err := <-o.asked.waiter.done:
		if err == nil {
			o.w.paused, o.w.open = o.asked.pause, false
		}
		o.asked = nil
		o.w.note("told: paused %v, %v", o.w.paused, err == nil)
	default:
	}
}

// fire commands an epoch: a normal cut, or an aside that must leave no trace.
func (o *owner) fire(force bool) {
	w := o.w
	o.inbox.Drain(w.now, o.core)
	o.core.Tick(w.now)
	if force {
		if _, err := o.core.ForceFire(w.now, "", true); err != nil {
			w.wrong("fire: %v", err)
		}
	} else {
		before, _ := o.core.GetState("")
		if _, err := o.core.FireWith(w.now, "", []boundary.Value{boundary.Int(-1), {}, {}}, false); err != nil {
			w.wrong("fire: %v", err)
		}
		after, _ := o.core.GetState("")
		after.Epoch = before.Epoch
		if fmt.Sprint(before) != fmt.Sprint(after) {
			w.wrong("an aside left a trace: %v, then %v", before, after)
		}
	}
	o.core.DrainFreed(o.inbox.Free)
	w.note("fire %v epoch %d", force, o.core.Epoch())
	o.turn()
}

// pass lets time pass, on both clocks.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.mono += int64(d)
}

// jump moves the wall clock by hours, forward or back.
func (w *world) jump() {
	d := time.Duration(w.rng.IntN(7)-3) * time.Hour
	w.now = w.now.Add(d)
	w.note("jump %v", d)
}
