package live

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/sink"
)

// shell is a live reactor over a store of its own, run until the test ends.
type shell struct {
	*Reactor
	t    *testing.T
	port []accumulator.Port
	end  func() error

	rests atomic.Int64 // how often it has come to rest
}

// counted counts the rests of a piece.
func (s *shell) counted(piece func() error) func() error {
	return func() error {
		err := piece()
		if r := rest.Of(err); r != nil {
			s.rests.Add(1)
			return r.Within(s.counted(r.Resume))
		}
		return err
	}
}

const oneInput = "  a: { strategy: sequential }\n"

const oneNode = "nodes:\n  n: { expr: a }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"

// newShell starts a reactor of one sequential input, with an output where a writer is given.
func newShell(t *testing.T, change func(cfg *reactor.Config, o *bedding)) *shell {
	t.Helper()
	store := memory.New()
	cfg := testConfig(t, graphOf(oneInput, "{ when: any }", oneNode))
	head, err := store.Acquire(t.Context(), cfg.ID)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Incarnation, cfg.Fence = head.Incarnation, head.Fence
	o := bedding{Options: Options{
		Store: store, Journal: store, Head: &head,
		Interval: time.Second, Log: slog.New(slog.DiscardHandler), Writers: make([]*delivery.Writer, 1),
		Inbox: NewInbox([]reactor.Lane{{Name: "a", Sequential: true, Capacity: 1000, MaxBytes: 1 << 20}}),
	}}
	change(&cfg, &o)
	o.Core = reactor.NewCore(cfg)
	if _, err := o.Core.Restore(head, o.cells); err != nil {
		t.Fatal(err)
	}
	if cfg.Journal {
		o.Core.Begin()
	}
	s := &shell{Reactor: New(o.Options), t: t, port: []accumulator.Port{o.Inbox.Port(0)}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- rest.Through(s.counted(func() error { return s.Work(ctx) })) }()
	s.end = func() error { cancel(); return <-ended }
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.port[0].Health(accumulator.Live, "", "")
	synctest.Wait()
	return s
}

// bedding is what a reactor is made of, and the cells that its core goes on from.
type bedding struct {
	Options
	cells []checkpoint.Cell
}

func plain(*reactor.Config, *bedding) {}

// push hands over n events.
func (s *shell) push(received *int64, n int) {
	s.t.Helper()
	for range n {
		*received++
		if err := s.port[0].Put(s.t.Context(), handoff(*received, 1, *received)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// balanced fails unless the books of a view account for every event.
func balanced(t *testing.T, v *View, received int64) {
	t.Helper()
	b := v.Inputs[0].Books
	sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed + b.Queued
	if b.Received != received || sum != received {
		t.Fatalf("received %d, accounted for %d, want %d: %+v", b.Received, sum, received, b)
	}
}

// M42: the view of a reactor that has come to rest has every event in its books.
func TestM42ViewAtRestBalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t, plain)
		defer func() { _ = s.end() }()
		received := int64(0)
		for range 100 {
			s.push(&received, 1)
			synctest.Wait()
		}
		time.Sleep(viewEvery)
		synctest.Wait()
		v := s.View()
		if balanced(t, v, 100); v.Epoch != 100 || !v.Resting || v.Inputs[0].Books.Consumed != 100 {
			t.Errorf("epoch %d, resting %v, %+v", v.Epoch, v.Resting, v.Inputs[0].Books)
		}
		time.Sleep(time.Minute)
		s.push(&received, 1)
		synctest.Wait()
		if v := s.View(); v.Epoch != 101 { // after a rest it shows at once
			t.Errorf("the view shows epoch %d, want 101", v.Epoch)
		}
	})
}

// A view is taken at most once in 100 ms and a few times at rest, however often the reactor
// looks up; health and pause are shown at once.
func TestViewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t, plain)
		defer func() { _ = s.end() }()
		time.Sleep(time.Second)
		received, views, last := int64(0), 0, s.View()
		began := time.Now()
		for range 1000 {
			s.push(&received, 1)
			synctest.Wait()
			if v := s.View(); v != last {
				views, last = views+1, v
			}
		}
		if d := time.Since(began); d > 0 || views > viewsAtRest+1 {
			t.Errorf("%d views within %v", views, d)
		}
		if err := s.Pause(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if v := s.View(); !v.Paused || v.PausedBy != "ann" {
			t.Errorf("a pause is not shown: %+v", v.View)
		}
		s.port[0].Health(accumulator.Disconnected, "away", "gone")
		synctest.Wait()
		if v := s.View(); v.Health != reactor.HealthDegraded || v.Code != "away" {
			t.Errorf("health %s %s", v.Health, v.Code)
		}
	})
}

// Who is told how a graph is, and asks at once, finds it so.
func TestWhatIsToldIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *shell
		told := condition{}
		s = newShell(t, func(_ *reactor.Config, o *bedding) {
			o.Watch = func(core *reactor.Core, _ time.Time) (again time.Time) {
				if s == nil {
					return again // it has yet to be made
				}
				told.health, told.paused = core.Health(), core.Paused()
				told.code, told.detail = core.HealthReason()
				if v := s.View(); v.Health != told.health || v.Code != told.code || v.Paused != told.paused {
					t.Errorf("%+v is told, and health %s %s, paused %v are shown", told, v.Health, v.Code, v.Paused)
				}
				return again
			}
		})
		defer func() { _ = s.end() }()
		if err := s.Pause(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.port[0].Health(accumulator.Disconnected, "away", "gone")
		synctest.Wait()
		if !told.paused || told.code != "away" {
			t.Errorf("%+v is told in the end", told)
		}
	})
}

// stuck is a sink whose deliveries last until they are let go.
type stuck struct{ goOn chan struct{} }

func (s *stuck) Deliver(ctx context.Context, _ []sink.Message) error {
	select {
	case <-s.goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stuck) Close(context.Context) error { return nil }

// A view is there while an epoch does not end, and says since when; a command whose caller
// goes meanwhile does not run.
func TestViewAndCommandsOfAStuckEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t, plain)
		defer func() { _ = s.end() }()
		goOn := make(chan struct{})
		looked := make(chan error, 1)
		go func() { looked <- s.Look(t.Context(), func(*reactor.Core, time.Time) { <-goOn }) }() // stands for a node
		synctest.Wait()
		time.Sleep(time.Minute)
		if d := time.Since(s.Busy()); d != time.Minute {
			t.Errorf("busy for %v", d)
		}
		if v := s.View(); v.Health != reactor.HealthLive {
			t.Errorf("health %s", v.Health)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Pause(ctx, "ann"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the pause answered %v", err)
		}
		ran := false
		if err := s.Look(ctx, func(*reactor.Core, time.Time) { ran = true }); err == nil {
			t.Error("a look that has no time was answered")
		}
		close(goOn)
		if err := <-looked; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s.View().Paused || ran {
			t.Error("a command ran although its caller had gone")
		}
		if at := s.Busy(); !at.IsZero() {
			t.Errorf("at rest it is busy since %v", at)
		}
	})
}

// M11: a Step runs its epochs as the others do: no more than the sinks, the journal and the
// store have room for; when there is room it goes on, and what its caller no longer waits for
// does not run.
func TestM11StepKeepsToTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := &stuck{goOn: make(chan struct{})}
		var s *shell
		s = newShell(t, func(_ *reactor.Config, o *bedding) {
			lane := reactor.Lane{Name: "a", Sequential: true, Capacity: 3 * delivery.Capacity, MaxBytes: 1 << 30}
			o.Inbox = NewInbox([]reactor.Lane{lane})
			o.Writers[0] = delivery.NewWriter(delivery.Config{Output: "out", Sink: held, Room: func() { s.Room() }})
		})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		wrote := make(chan error, 1)
		go func() { wrote <- s.Writers[0].Run(ctx) }()
		defer func() { cancel(); <-wrote; _ = s.end() }()
		if err := s.Pause(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		received := int64(0)
		s.push(&received, 3*delivery.Capacity)
		stepped := make(chan error, 1)
		waits, gone := context.WithCancel(t.Context())
		go func() { stepped <- s.Step(waits, 1_000_000) }()
		synctest.Wait()
		if v, err := s.Refresh(t.Context()); err != nil || v.Epoch != delivery.Capacity || len(stepped) > 0 {
			t.Fatalf("%d epochs where %d fit, %v, answered %d", v.Epoch, delivery.Capacity, err, len(stepped))
		}
		held.goOn <- struct{}{}
		synctest.Wait()
		v, err := s.Refresh(t.Context())
		if err != nil || v.Epoch <= delivery.Capacity || v.Epoch >= 3*delivery.Capacity {
			t.Fatalf("%d epochs after there was room again, %v", v.Epoch, err)
		}
		synctest.Wait() // the reactor is at rest: no epoch is on its way
		gone()
		if err := <-stepped; !errors.Is(err, context.Canceled) {
			t.Fatalf("answered %v", err)
		}
		close(held.goOn)
		synctest.Wait()
		if after, err := s.Refresh(t.Context()); err != nil || after.Epoch != v.Epoch {
			t.Errorf("%d epochs, %v; the caller had gone at %d", after.Epoch, err, v.Epoch)
		}
		if err := s.Step(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		if after, err := s.Refresh(t.Context()); err != nil || after.Epoch != v.Epoch+5 {
			t.Errorf("%d epochs, %v; want 5 more than %d", after.Epoch, err, v.Epoch)
		}
	})
}

// Rest answers when nothing is left to fire and the sinks have everything.
func TestRestWaitsForTheSinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := &stuck{goOn: make(chan struct{})}
		var s *shell
		s = newShell(t, func(_ *reactor.Config, o *bedding) {
			o.Writers[0] = delivery.NewWriter(delivery.Config{Output: "out", Sink: held, Room: func() { s.Room() }})
		})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		wrote := make(chan error, 1)
		go func() { wrote <- s.Writers[0].Run(ctx) }()
		defer func() { cancel(); <-wrote; _ = s.end() }()
		received := int64(0)
		s.push(&received, 3)
		rested := make(chan error, 1)
		go func() { rested <- s.Rest(t.Context()) }()
		synctest.Wait()
		if len(rested) > 0 {
			t.Fatal("it rests although a sink has not got everything")
		}
		close(held.goOn)
		if err := <-rested; err != nil {
			t.Fatal(err)
		}
	})
}

// A reactor that is held does not look at the clock until something happens: it has no timer
// to look at, and nothing to fire (M33).
func TestM33HeldReactorSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		s := newShell(t, func(_ *reactor.Config, o *bedding) {
			o.Hold = true
			o.Clock = newClock(func() (wall, mono int64) { looks++; now := time.Now().UnixNano(); return now, now })
		})
		defer func() { _ = s.end() }()
		time.Sleep(time.Second)
		synctest.Wait()
		before := looks
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if n := looks - before; n > 2 {
			t.Errorf("it looked at the clock %d times", n)
		}
		put := make(chan error, 1)
		go func() { put <- s.port[0].Put(t.Context(), handoff(1, 1, 1)) }()
		synctest.Wait()
		if len(put) > 0 {
			t.Fatal("a held reactor let something in")
		}
		if err := s.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-put; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if v := s.View(); v.Epoch != 1 {
			t.Errorf("epoch %d after it was let begin", v.Epoch)
		}
	})
}
