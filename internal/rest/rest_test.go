package rest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/rest"
)

var errDone = errors.New("done")

// counter is a piece that adds up what it is told and rests in between.
type counter struct {
	bell rest.Bell
	told chan int
	sum  int // its goroutine's alone
	till int
}

func (c *counter) work(ctx context.Context) error {
	for c.sum < c.till && ctx.Err() == nil {
		select {
		case n := <-c.told:
			c.sum += n
		default:
			return &rest.Rest{
				Ctx: ctx,
				Arm: func(ring func()) {
					c.bell.Hang(ring)
					if len(c.told) > 0 {
						ring()
					}
				},
				Resume: func() error { c.bell.Take(); return c.work(ctx) },
			}
		}
	}
	return errDone
}

// M1, M6: what is told to a piece at rest is never missed, and the piece is on one goroutine at a time (the race
// detector sees its sum).
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	const tellers, each = 8, 2_000
	c := &counter{told: make(chan int, 1), till: tellers * each}
	var wg sync.WaitGroup
	for range tellers {
		wg.Go(func() {
			for range each {
				c.told <- 1
				c.bell.Ring()
			}
		})
	}
	if err := rest.Through(func() error { return c.work(t.Context()) }); !errors.Is(err, errDone) {
		t.Errorf("got %v, want the piece's own end", err)
	}
	wg.Wait()
	if c.sum != c.till {
		t.Errorf("got %d, want %d", c.sum, c.till)
	}
}

// A rest ends with its context, with its time, or when it is rung for; once, and nothing of it is left.
func TestEndsOfARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var wakes atomic.Int32
		var ring func()
		begin := func(r *rest.Rest) {
			wakes.Store(0)
			r.Arm = func(f func()) { ring = f }
			r.Begin(func() { wakes.Add(1) })
			synctest.Wait()
			if wakes.Load() != 0 {
				t.Fatal("it is over as soon as it has begun")
			}
		}
		over := func(what string) {
			synctest.Wait()
			ring()
			time.Sleep(time.Hour)
			synctest.Wait()
			if wakes.Load() != 1 {
				t.Errorf("%s: woken %d times, want once", what, wakes.Load())
			}
		}
		begin(&rest.Rest{Ctx: ctx, For: time.Minute})
		time.Sleep(time.Minute)
		over("its time")
		begin(&rest.Rest{Ctx: ctx, For: time.Minute})
		ring()
		over("rung")
		begin(&rest.Rest{Ctx: ctx})
		cancel()
		over("its context")
		(&rest.Rest{Ctx: ctx, Arm: func(func()) {}}).Begin(func() { wakes.Add(1) })
		synctest.Wait()
		if wakes.Load() != 2 {
			t.Error("the rest of a context that is done goes on")
		}
	})
}

// A piece that has work already when it is armed goes on at once, and what is set for its rest is not left behind.
func TestArmedTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var wakes atomic.Int32
		r := &rest.Rest{Ctx: t.Context(), For: time.Minute, Arm: func(ring func()) { ring() }}
		r.Begin(func() { wakes.Add(1) })
		if wakes.Load() != 1 {
			t.Errorf("woken %d times, want once", wakes.Load())
		}
		time.Sleep(time.Hour)
		if wakes.Load() != 1 {
			t.Error("its time has woken it again")
		}
	})
}

// What follows on a piece comes after its end, and not after a rest of it: also when it panics.
func TestThen(t *testing.T) {
	t.Parallel()
	ended := 0
	err := rest.Then(func() error { return &rest.Rest{Resume: func() error { return errDone }} }, func() { ended++ })
	r := rest.Of(err)
	if r == nil || ended != 0 {
		t.Fatalf("got %v and %d ends, want a rest", err, ended)
	}
	if err := r.Resume(); !errors.Is(err, errDone) || ended != 1 {
		t.Errorf("got %v and %d ends, want one", err, ended)
	}
	func() {
		defer func() { _ = recover() }()
		_ = rest.Then(func() error { panic("boom") }, func() { ended++ })
	}()
	if ended != 2 {
		t.Errorf("got %d ends, want one after the panic", ended)
	}
	if rest.Of(errors.Join(r)) != nil {
		t.Error("a rest among others is one")
	}
}

// M34: a rest above another context ends with either of them, whoever ends it and when, and with what armed the rest
// below.
func TestAbove(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(outer, inner context.CancelFunc, bell, below *rest.Bell){
		"the outer context": func(outer, _ context.CancelFunc, _, _ *rest.Bell) { outer() },
		"the inner context": func(_, inner context.CancelFunc, bell, _ *rest.Bell) { inner(); bell.Ring() },
		"the piece's bell":  func(_, _ context.CancelFunc, _, below *rest.Bell) { below.Ring() },
	} {
		for _, early := range []bool{false, true} {
			if early && name == "the piece's bell" {
				continue // the piece looks for itself
			}
			synctest.Test(t, func(t *testing.T) {
				outer, endOuter := context.WithCancel(t.Context())
				inner, endInner := context.WithCancel(outer)
				defer endOuter()
				defer endInner()
				var bell, below rest.Bell
				r := (&rest.Rest{Ctx: inner, Arm: below.Hang}).Above(outer, &bell, nil)
				if early {
					end(endOuter, endInner, &bell, &below)
				}
				var woken atomic.Bool
				r.Begin(func() { woken.Store(true) })
				synctest.Wait()
				if !early {
					if woken.Load() {
						t.Errorf("%s: it is woken, and nothing has happened", name)
					}
					end(endOuter, endInner, &bell, &below)
					synctest.Wait()
				}
				if !woken.Load() {
					t.Errorf("%s, early %v: it is not woken", name, early)
				}
			})
		}
	}
}
