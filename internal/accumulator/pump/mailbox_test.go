package pump

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/pushkey"
	"github.com/graphd/graphd/internal/spec"
)

func eventsOf(texts ...string) []boundary.Event {
	evs := make([]boundary.Event, len(texts))
	for i, s := range texts {
		evs[i] = *pushed(s)
	}
	return evs
}

// The queue is bounded in events and bytes; who does not fit waits, in order.
func TestMailboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(4, 100)
		if e, b := box.Bounds(); e != 4 || b != 100 {
			t.Errorf("got bounds %d, %d", e, b)
		}
		submit := func(ctx context.Context, texts ...string) <-chan *Push {
			out := make(chan *Push, 1)
			go func() {
				p, err := box.Submit(ctx, eventsOf(texts...))
				if err != nil {
					t.Error(err)
				}
				out <- p
			}()
			synctest.Wait()
			return out
		}
		a, b := submit(t.Context(), "1", "2"), submit(t.Context(), "3", "4")
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c, d, e := submit(late, "5"), submit(t.Context(), "6", strings.Repeat("x", 200)), submit(t.Context(), "7")
		if len(a)+len(b) != 2 || len(c)+len(d)+len(e) != 0 {
			t.Fatal("want the first two admitted and the others waiting")
		}
		if n, bytes := box.Depth(); n != 4 || bytes != 4 {
			t.Errorf("got a depth of %d, %d", n, bytes)
		}
		if o, err := (<-c).Wait(late); !o.Full || o.Taken != 0 || err != nil {
			t.Errorf("who waited too long: %+v, %v", o, err)
		}
		r := start(t, spec.Accumulator{}, nil, newPort(0), box, accumulator.Mark{})
		for name, p := range map[string]*Push{"a": <-a, "b": <-b, "d": <-d, "e": <-e} {
			if o, err := p.Wait(t.Context()); err != nil || o.Full || o.Taken == 0 {
				t.Errorf("%s: %+v, %v", name, o, err)
			}
		}
		if n, bytes := box.Depth(); n != 0 || bytes != 0 {
			t.Errorf("got a depth of %d, %d at the end", n, bytes)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		got, _, _ := r.port.seen()
		if s := fmt.Sprint(got); !strings.HasPrefix(s, "[1 2 3 4 6 ") && !strings.Contains(s, "7") {
			t.Errorf("got %s", s)
		}
		r.port.balance(t, 8)
		r.end(t)
	})
}

// Who waits is not overtaken by who fits; when it gives up, the next may.
func TestMailboxWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(4, 0)
		admitted := make(chan string, 3)
		submit := func(ctx context.Context, name string, texts ...string) {
			go func() {
				p, err := box.Submit(ctx, eventsOf(texts...))
				if err != nil {
					t.Error(err)
					return
				}
				admitted <- name
				done, cancel := context.WithCancel(ctx)
				cancel()
				p.Wait(done)
			}()
			synctest.Wait()
		}
		box.mu.Lock()
		box.admit(box.newPush(eventsOf("1", "2", "3")))
		box.mu.Unlock()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		submit(late, "large", "4", "5")
		submit(t.Context(), "small", "6")
		if len(admitted) != 0 {
			t.Fatalf("%s did not wait", <-admitted)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(admitted) != 2 {
			t.Errorf("%d of 2 have an answer after the large one gave up", len(admitted))
		}
		box.Close()
	})
}

func TestMailboxClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(1, 0)
		answers := make(chan error, 2)
		for range 2 { // one is queued, one waits for room
			go func() {
				o, err := box.Push(t.Context(), eventsOf("1"))
				if o.Taken != 0 || o.Full {
					t.Errorf("got %+v", o)
				}
				answers <- err
			}()
			synctest.Wait()
		}
		box.Close()
		for range 2 {
			if err := <-answers; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
		if _, err := box.Push(t.Context(), eventsOf("1")); !errors.Is(err, ErrClosed) {
			t.Errorf("a push after Close: %v", err)
		}
		box.Close()
	})
}

// Without a Unit (between two restarts) a push waits, and is refused whole at its deadline.
func TestPushWithoutAUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := NewMailbox(0, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o, err := box.Push(ctx, eventsOf("1", "2"))
		if !o.Full || o.Taken != 0 || err != nil {
			t.Errorf("got %+v, %v", o, err)
		}
		r := start(t, spec.Accumulator{}, nil, newPort(0), box, accumulator.Mark{})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.port.balance(t, 2) // counted by the Unit that came later
		r.end(t)
	})
}

// The list of refusals in an answer is bounded, the count is not.
func TestRejectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spec.Accumulator{}, nil, newPort(0), NewMailbox(0, 0), accumulator.Mark{})
		texts := make([]string, 3*pushkey.MaxRejections)
		for i := range texts {
			texts[i] = "{"
		}
		o := <-r.push(t.Context(), texts...)
		if len(o.Rejected) != pushkey.MaxRejections || o.RejectedCount != len(texts) || o.Taken != len(texts) {
			t.Errorf("got %d listed, %d counted, %d taken", len(o.Rejected), o.RejectedCount, o.Taken)
		}
		r.end(t)
	})
}
