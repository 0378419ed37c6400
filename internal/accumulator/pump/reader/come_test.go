package reader_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
)

// M52: a run of the source holds on to nothing of those who have left.
func TestM52WhoHasLeftIsForgotten(t *testing.T) {
	r := newRig(t, 100, onTape)
	first := r.enterAs(0, at(0, 1))
	var left []weak.Pointer[shard]
	for n := range 20 {
		s := &shard{at: map[string]boundary.Position{}, room: -1}
		left = append(left, weak.Make(s))
		source, err := r.reader.Source(n + 3)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := source.Run(ctx, []boundary.Position{at(0, 50), at(1, 50)}, s); err != nil {
			t.Fatal(err)
		}
	}
	last := r.enterAs(2, at(0, 50), at(1, 50)) // with whom those who are gone are
	defer func() { _, _ = first.leave(), last.leave() }()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		runtime.GC()
		held := 0
		for _, w := range left {
			if w.Value() != nil {
				held++
			}
		}
		if held == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d are held", held, len(left))
		}
	}
}

// roomy gives each event in a batch with room for many.
type roomy struct{ tape }

func (s *roomy) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	s.rig.opened(from)
	for next := range int64(9000) {
		ev := event(next)
		ev.At = time.Now()
		if err := out.Emit(ctx, append(accumulator.NewBatch(out, 256), ev)); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	<-ctx.Done()
	return nil
}

// M52: what is kept takes no more than it may, and is let go once it is old though nothing more comes.
func TestM52WhatIsKeptIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		r := newRig(t, 0, func(r *rig) accumulator.Source { return &roomy{tape{rig: r}} })
		before := heap()
		first := r.enter()
		time.Sleep(9500 * time.Millisecond)
		synctest.Wait()
		first.mu.Lock()
		first.given = nil
		first.mu.Unlock()
		if held := heap() - before; held > 32<<20 {
			t.Errorf("%d MiB are held", held>>20)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		comes := r.enterAs(1, at(0, 4495), at(1, 4495))
		settle()
		if got := r.begun(); got != 2 {
			t.Errorf("the source has begun %d times, want again for what is not kept any more", got)
		}
		r.leave(first, comes)
	})
}

// slowly is a shard that takes its time for each load.
type slowly struct{ *shard }

func (s slowly) Give(ctx context.Context, d *pump.Load, first int, relaxed func() bool) error {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.shard.Give(ctx, d, first, relaxed)
}

// M52: of many that come together the last waits for those before it, and the source does not begin again for that.
func TestM52ManyComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := newRig(t, 0, func(r *rig) accumulator.Source {
			return &ticker{tape{rig: r}, 10 * time.Millisecond, 0, begin}
		})
		all := []*shard{r.enterAs(0)}
		time.Sleep(5 * time.Second)
		for n := range shards - 1 {
			source, err := r.reader.Source(n + 1)
			if err != nil {
				t.Fatal(err)
			}
			s := &shard{at: map[string]boundary.Position{}, room: -1, done: make(chan error, 1)}
			ctx, stop := context.WithCancel(t.Context())
			s.stop = stop
			go func() { s.done <- source.Run(ctx, []boundary.Position{at(0, 150), at(1, 150)}, slowly{s}) }()
			all = append(all, s)
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := r.begun(); got != 1 {
			t.Errorf("the source has begun %d times", got)
		}
		for n, s := range all[1:] {
			if got := r.follows("who has come", s, 150, 150); got < 450 {
				t.Errorf("shard %d was given %d events", n+1, got)
			}
		}
		r.leave(all...)
	})
}

// turned is a tape that goes over to another generation of its stream, and has caught up there.
type turned struct{ tape }

func (s *turned) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	if len(from) == 0 {
		for n := range int64(10) {
			ev := event(n)
			ev.At, ev.Pos = time.Now(), boundary.Position{Stream: "f#a", Offset: n + 1}
			if err := out.Emit(ctx, []boundary.Event{ev}); err != nil {
				return err
			}
		}
		if err := out.Advance(ctx, boundary.Position{Stream: "f#b"}); err != nil {
			return err
		}
		accumulator.CaughtUp(out, "", true)
	}
	<-ctx.Done() // where it reads for one, it is behind and does not say so: that it is to begin with
	return nil
}

// M26, M52: who has to read for itself is not taken for one that has caught up, as the others have.
func TestM52WhoReadsAloneHasNotCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0, func(r *rig) accumulator.Source { return &turned{tape{rig: r}} })
		first := r.enterAs(0)
		settle()
		second := r.enterAs(1, boundary.Position{Stream: "f#a", Offset: 10})
		settle()
		if told := second.told(); strings.Contains(strings.Join(told, " "), "true") {
			t.Errorf("told %q", told)
		}
		r.leave(first, second)
	})
}

// M52: the source does not read on for one that was far behind and has left: it begins where the others are.
func TestM52NobodyReadsForWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0, func(r *rig) accumulator.Source { return &slow{tape{rig: r}, time.Millisecond, false} })
		behind := r.enterAs(0)
		time.Sleep(2 * time.Second)
		ahead := r.enterAs(1, at(0, 1_000_000), at(1, 1_000_000))
		if err := behind.leave(); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := r.follows("who is ahead", ahead, 1_000_000, 1_000_000); got < 1500 {
			t.Errorf("was given %d events", got)
		}
		if err := ahead.leave(); err != nil {
			t.Error(err)
		}
	})
}

// M39, M52: for a shard whose input is restarted the source begins again, though what it was not given is kept.
func TestM52ARestartHasTheSourceBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, onTape)
		first := r.enterAs(0)
		second := r.enterAs(1)
		settle()
		if err := second.leave(); err != nil {
			t.Error(err)
		}
		again := r.enterAs(1, at(0, 50), at(1, 50))
		settle()
		if got := r.begun(); got != 2 {
			t.Errorf("the source has begun %d times", got)
		}
		r.each("the first", first, 100)
		r.leave(first, again)
	})
}

// broken is a shard that panics with what it is given.
type broken struct{ *shard }

func (broken) Give(context.Context, *pump.Load, int, func() bool) error { panic("broken") }

// M43, M52: one that panics with what was kept for it takes nobody along.
func TestM52WhoPanicsTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := newRig(t, 0, func(r *rig) accumulator.Source {
			return &ticker{tape{rig: r}, 10 * time.Millisecond, 0, begin}
		})
		first := r.enterAs(0)
		time.Sleep(time.Second)
		source, err := r.reader.Source(1)
		if err != nil {
			t.Fatal(err)
		}
		caught := make(chan any, 1)
		go func() {
			defer func() { caught <- recover() }()
			s := &shard{at: map[string]boundary.Position{}, room: -1}
			_ = source.Run(t.Context(), []boundary.Position{at(0, 1), at(1, 1)}, broken{s})
		}()
		if got := <-caught; got != "broken" {
			t.Errorf("caught %v", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := r.follows("the first", first, 0, 0); got < 190 {
			t.Errorf("the first was given %d events", got)
		}
		if err := first.leave(); err != nil {
			t.Error(err)
		}
	})
}
