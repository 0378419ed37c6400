package pump

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/spec"
)

// M1: a Unit that only a push can wake rests, is woken by one, and ends as ever.
func TestM1AUnitRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, p := NewMailbox(0, 0), newPort(8)
		u := New(Config{Name: "ticks", Core: newCore(t, spec.Accumulator{}), Mailbox: box, Port: p})
		ctx, cancel := context.WithCancel(t.Context())
		rests := 0
		var counted func(piece func() error) func() error
		counted = func(piece func() error) func() error {
			return func() error {
				err := piece()
				if r := rest.Of(err); r != nil {
					rests++
					return r.Within(counted(r.Resume))
				}
				return err
			}
		}
		done := make(chan error, 1)
		go func() { done <- rest.Through(counted(func() error { return u.Work(ctx) })) }()
		r := &running{Unit: u, port: p, box: box, stop: cancel, done: done}
		for n := 1; n <= 3; n++ {
			time.Sleep(10 * restAfter)
			synctest.Wait()
			if rests != n {
				t.Fatalf("it has rested %d times, want %d", rests, n)
			}
			out := r.push(t.Context(), "1", "2")
			if got := (<-out).Accepted; got != 2 {
				t.Errorf("accepted %d, want 2", got)
			}
		}
		r.end(t)
	})
}

// A Unit with a source does not rest while that runs: it may have something at any time.
func TestAUnitWithASourceDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, p := NewMailbox(0, 0), newPort(8)
		u := New(Config{Name: "ticks", Core: newCore(t, spec.Accumulator{}), Mailbox: box, Port: p,
			Source: scripted(func(context.Context, []boundary.Position, accumulator.Out) error {
				time.Sleep(time.Hour)
				return nil
			}, emit(0, 3))})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		if err := u.Work(ctx); rest.Of(err) != nil {
			t.Error("it rests")
		}
		box.Close()
	})
}
