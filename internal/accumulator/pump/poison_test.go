package pump

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// fragile is a fold that panics on one value.
type fragile struct {
	fold.Fold
	poison string
}

// Add implements [fold.Folder].
func (f fragile) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	if in.Value.String() == f.poison {
		panic("no more " + f.poison)
	}
	return f.Fold.Add(now, in, out)
}

// startFragile is start with a fold that panics on poison.
func startFragile(
	t *testing.T, a spec.Accumulator, poison string, src accumulator.Source, p *port, box *Mailbox,
	mark accumulator.Mark,
) *running {
	t.Helper()
	prog := compile(t, a)
	core := accumulator.NewCoreWith(prog, accumulator.Limits{}, fragile{accumulator.NewFold(prog), poison})
	if err := core.Restore(encoded(mark), mark.Counters, mark.Positions); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{port: p, box: box, stop: cancel, done: make(chan error, 1)}
	r.Unit = New(Config{Name: "ticks", Core: core, Source: src, From: mark.Positions, Mailbox: box, Port: p})
	go func() { r.done <- r.Run(ctx) }()
	return r
}

// M35: a panic ends the Unit alone; the poison event becomes a dead letter, and a restart
// from the last admitted mark goes on right behind it.
func TestM35PoisonFromSource(t *testing.T) {
	for _, a := range []spec.Accumulator{
		{}, {Kind: kindBatch, Config: batch.Declared{Size: 4}}, {
			Kind: kindState, Config: state.Declared{Keep: 2},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, box := newPort(0), NewMailbox(0, 0)
			r := startFragile(t, a, "4", scripted(emit(0, 10), untilStopped), p, box, accumulator.Mark{})
			err := <-r.done
			poison := new(accumulator.PanicError)
			if !errors.As(err, &poison) || poison.Event == nil || string(poison.Event.Raw) != "4" ||
				len(poison.Stack) == 0 {
				t.Fatalf("got %v, want the poison event", err)
			}
			_, m, letters := p.seen()
			if m.Positions[0].Offset != 5 {
				t.Errorf("the mark is at %v, want behind the poison event", m.Positions)
			}
			if len(letters) != 1 || letters[0].Code != "panic" || letters[0].Stage != "fold" ||
				string(letters[0].Payload) != "4" || letters[0].Position != "s@5" {
				t.Errorf("got %+v", letters)
			}
			p.balance(t, 5)
			r = startFragile(t, a, "4", scripted(emit(0, 10), untilStopped), p, box, m)
			time.Sleep(2 * time.Second)
			r.end(t)
			p.balance(t, 10)
			if _, m, letters := p.seen(); m.Positions[0].Offset != 10 || len(letters) != 1 {
				t.Errorf("after the restart: %+v, %d letters", m, len(letters))
			}
		})
	}
}

// M35: a pushed poison event is told to its sender; what came with it and after it waits
// in the mailbox for the next Unit.
func TestM35PoisonPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, box := newPort(0), NewMailbox(0, 0)
		r := startFragile(t, spec.Accumulator{}, "2", nil, p, box, accumulator.Mark{})
		answer := r.push(t.Context(), "0", "1", "2", "3")
		other := r.push(t.Context(), "4")
		poison := new(accumulator.PanicError)
		if err := <-r.done; !errors.As(err, &poison) || string(poison.Event.Raw) != "2" {
			t.Fatalf("got %v", err)
		}
		synctest.Wait()
		if len(answer) != 0 {
			t.Fatalf("answered too early: %+v", <-answer)
		}
		if n, _ := box.Depth(); n != 2 {
			t.Errorf("%d events wait, want 2", n)
		}
		_, m, _ := p.seen()
		r = start(t, spec.Accumulator{}, nil, p, box, m)
		o := <-answer
		if o.Taken != 4 || o.Accepted != 3 || len(o.Rejected) != 1 || o.Rejected[0].Index != 2 ||
			o.Rejected[0].Code != "panic" {
			t.Errorf("got %+v", o)
		}
		if o := <-other; o.Accepted != 1 {
			t.Errorf("got %+v", o)
		}
		r.end(t)
		if got, _, letters := p.seen(); fmt.Sprint(got) != "[0 1 3 4]" || len(letters) != 0 {
			t.Errorf("got %s and %d letters", got, len(letters))
		}
		p.balance(t, 5)
	})
}

// M35: what is in one group with a poison event and after it is not lost.
func TestM35PoisonAmongOtherPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, box := newPort(0), NewMailbox(0, 0)
		early := &running{box: box}
		answers := []<-chan PushOutcome{
			early.push(t.Context(), "0", "1"), early.push(t.Context(), "2", "3"), early.push(t.Context(), "4", "5"),
		}
		r := startFragile(t, spec.Accumulator{}, "2", nil, p, box, accumulator.Mark{})
		if err := <-r.done; !isPanic(err) {
			t.Fatalf("got %v", err)
		}
		_, m, _ := p.seen()
		r = start(t, spec.Accumulator{}, nil, p, box, m)
		for i, answer := range answers {
			if o := <-answer; o.Taken != 2 || o.RejectedCount != i%2 {
				t.Errorf("push %d: got %+v", i, o)
			}
		}
		r.end(t)
		if got, _, _ := p.seen(); fmt.Sprint(got) != "[0 1 3 4 5]" {
			t.Errorf("got %s", got)
		}
		p.balance(t, 6)
	})
}

// A push whose Unit ended before it was handed over is still answered at its deadline.
func TestDeadlineAfterTheUnitEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(0, 0)
		r := start(t, spec.Accumulator{Capacity: 8}, nil, newPort(2), box, accumulator.Mark{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		answer := r.push(ctx, "0", "1", "2", "3", "4")
		r.stop()
		<-r.done
		if o := <-answer; !o.Full || o.Taken != 2 {
			t.Errorf("got %+v", o)
		}
	})
}

// M35: pushes that were folded and not admitted when a Unit ends are folded again by the
// next, and answered once.
func TestM35PushesSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := spec.Accumulator{Capacity: 8}
		p, box := newPort(2), NewMailbox(0, 0)
		r := start(t, a, nil, p, box, accumulator.Mark{})
		answer := r.push(t.Context(), "0", "1", "2", "3", "4")
		r.stop()
		if err := <-r.done; err != nil {
			t.Fatal(err)
		}
		_, m, _ := p.seen()
		p.consume(-1)
		p.capacity = 0
		r = start(t, a, nil, p, box, m)
		if o := <-answer; o.Accepted != 5 || o.Full {
			t.Errorf("got %+v", o)
		}
		r.end(t)
		if got, _, _ := p.seen(); fmt.Sprint(got) != "[0 1 2 3 4]" {
			t.Errorf("got %s", got)
		}
		p.balance(t, 5)
	})
}

// A push that is recalled from a group with a poison event: the event is met again later
// and counted once.
func TestPoisonInARecalledGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, box := newPort(1), NewMailbox(0, 0)
		a := spec.Accumulator{Capacity: 64}
		r := startFragile(t, a, "9", nil, p, box, accumulator.Mark{})
		<-r.push(t.Context(), "0")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		short := make(chan PushOutcome, 1)
		go func() {
			o, _ := box.Push(ctx, []boundary.Event{*pushed("1"), *pushed("2")})
			short <- o
		}()
		long := r.push(t.Context(), "3", "9", "4")
		if o := <-short; !o.Full || o.Taken != 0 {
			t.Errorf("got %+v", o)
		}
		synctest.Wait()
		select {
		case err := <-r.done:
			t.Fatalf("the Unit ended although nothing was handed over: %v", err)
		default:
		}
		p.consume(-1)
		if err := <-r.done; !isPanic(err) {
			t.Fatalf("got %v", err)
		}
		p.consume(-1)
		_, m, _ := p.seen()
		r = startFragile(t, a, "9", nil, p, box, m)
		synctest.Wait()
		p.consume(-1)
		if o := <-long; o.Accepted != 2 || o.RejectedCount != 1 {
			t.Errorf("got %+v", o)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.end(t)
		p.balance(t, 6)
		if got, _, _ := p.seen(); fmt.Sprint(got) != "[0 3 4]" {
			t.Errorf("got %s", got)
		}
	})
}
