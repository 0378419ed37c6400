// Package sourcetest is the conformance suite of [accumulator.Source]: every kind of
// source runs it in its tests.
//
//	sourcetest.Run(t, sourcetest.Suite{
//		New:    func(t *testing.T) accumulator.Source { … },
//		Events: 100,
//	})
//
// # Concurrency
//
// Each run of a source has a goroutine of its own, which the suite joins.
package sourcetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

// Suite describes a source to test.
type Suite struct {
	// New makes a source over one and the same input. It is called for every run.
	New func(t *testing.T) accumulator.Source
	// Events is how many events the input has to offer; a source without end stops being
	// read after so many. At least 3.
	Events int
	// Endless says that Run does not return when the input has been read.
	Endless bool
}

// patience is how long a source may take for what should take no time.
const patience = time.Minute

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Helper()
	t.Run("hands over everything in order", s.testAll)
	t.Run("resumes strictly after a position", s.testResume)
	t.Run("returns nil when the context is done", s.testStop)
	t.Run("returns nil when the context is done before it starts", s.testStopped)
	t.Run("survives a receiver that is held back", s.testBlocked)
	t.Run("can be run again", s.testAgain)
}

// Item is one event as a source handed it over.
type Item struct {
	Raw string
	Bad string // the code, when the source refused it
	Pos boundary.Position
}

// Receiver is an Out that keeps what it gets. Safe for concurrent use.
type Receiver struct {
	// Most ends the run, by calling Stop, once so many events are there; 0 means never.
	Most int
	Stop context.CancelFunc
	// Block makes the receiver take nothing more, once so many events are there; 0 means never.
	Block   int
	blocked sync.Once
	// Blocked is closed when the receiver begins to block.
	Blocked chan struct{}

	mu       sync.Mutex
	items    []Item
	health   []accumulator.Health
	advanced []boundary.Position
}

// Emit implements [accumulator.Out].
func (r *Receiver) Emit(ctx context.Context, batch []boundary.Event) error {
	for _, ev := range batch {
		if err := r.add(ctx, Item{Raw: string(ev.Raw), Pos: ev.Pos}); err != nil {
			return err
		}
	}
	return nil
}

// Refuse implements [accumulator.Out].
func (r *Receiver) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent) error {
	return r.add(ctx, Item{Raw: string(ev.Raw), Bad: bad.Code, Pos: ev.Pos})
}

func (r *Receiver) add(ctx context.Context, it Item) error {
	r.mu.Lock()
	n := len(r.items)
	if r.Block == 0 || n < r.Block {
		r.items = append(r.items, it)
		n++
	}
	r.mu.Unlock()
	if r.Most > 0 && n >= r.Most {
		r.Stop()
	}
	if r.Block > 0 && n >= r.Block {
		r.blocked.Do(func() { close(r.Blocked) })
		<-ctx.Done()
	}
	return ctx.Err()
}

// Advance implements [accumulator.Out].
func (r *Receiver) Advance(ctx context.Context, pos boundary.Position) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advanced = append(r.advanced, pos)
	return ctx.Err()
}

// Health implements [accumulator.Out].
func (r *Receiver) Health(h accumulator.Health, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health = append(r.health, h)
}

// Items are the events so far.
func (r *Receiver) Items() []Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.items)
}

// Said are the healths so far.
func (r *Receiver) Said() []accumulator.Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.health)
}

// Advanced are the positions so far that came without an event.
func (r *Receiver) Advanced() []boundary.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.advanced)
}

// run runs a new source until it returns, which it must within patience.
func (s *Suite) run(ctx context.Context, t *testing.T, from []boundary.Position, r *Receiver) error {
	t.Helper()
	defer leaks.None(t, goleak.IgnoreCurrent())
	done := make(chan error, 1)
	src := s.New(t)
	go func() { done <- src.Run(ctx, from, r) }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("Run did not return")
		return nil
	}
}

// collect is what a run from a position hands over, at most n events.
func (s *Suite) collect(t *testing.T, from []boundary.Position, n int) *Receiver {
	t.Helper()
	if n == 0 && s.Endless {
		return &Receiver{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &Receiver{Stop: cancel}
	if s.Endless {
		r.Most = n
	}
	if err := s.run(ctx, t, from, r); err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}

func (s *Suite) testAll(t *testing.T) {
	r := s.collect(t, nil, s.Events)
	items := r.Items()
	if len(items) < s.Events {
		t.Fatalf("got %d events, want %d", len(items), s.Events)
	}
	if said := r.Said(); !slices.Contains(said, accumulator.Live) {
		t.Errorf("healths said: %v, want live among them", said)
	}
	last := map[string]int64{}
	for i, it := range items {
		if it.Pos.IsZero() {
			t.Fatalf("event %d has no position", i)
		}
		if it.Pos.Offset <= last[it.Pos.Stream] {
			t.Fatalf("event %d: offset %d does not grow", i, it.Pos.Offset)
		}
		last[it.Pos.Stream] = it.Pos.Offset
	}
}

func (s *Suite) testResume(t *testing.T) {
	all := s.collect(t, nil, s.Events).Items()[:s.Events]
	for _, cut := range []int{1, 2, s.Events / 2, s.Events - 1, s.Events} {
		from := []boundary.Position{all[cut-1].Pos}
		rest := s.collect(t, from, s.Events-cut).Items()
		rest = rest[:min(len(rest), s.Events-cut)]
		if diff := cmp.Diff(texts(all[cut:]), texts(rest)); diff != "" {
			t.Errorf("resumed after event %d: %s", cut, diff)
		}
	}
}

// texts are what items say, without the positions: a stream's name may tell a newer generation.
func texts(items []Item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.Bad + " " + it.Raw
	}
	return out
}

func (s *Suite) testStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &Receiver{Most: 1, Stop: cancel}
	if err := s.run(ctx, t, nil, r); err != nil {
		t.Errorf("Run after a stop: %v, want nil", err)
	}
}

func (s *Suite) testStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.run(ctx, t, nil, &Receiver{}); err != nil {
		t.Errorf("Run under a done context: %v, want nil", err)
	}
}

func (s *Suite) testBlocked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &Receiver{Block: 2, Blocked: make(chan struct{})}
	go func() {
		select {
		case <-r.Blocked:
		case <-ctx.Done():
		}
		cancel()
	}()
	if err := s.run(ctx, t, nil, r); err != nil {
		t.Errorf("Run with a blocked receiver: %v, want nil", err)
	}
	if n := len(r.Items()); n != 2 {
		t.Errorf("the receiver took %d events, want 2", n)
	}
}

func (s *Suite) testAgain(t *testing.T) {
	first, second := s.collect(t, nil, s.Events).Items(), s.collect(t, nil, s.Events).Items()
	if diff := cmp.Diff(first[:s.Events], second[:s.Events]); diff != "" {
		t.Errorf("two runs over one input differ: %s", diff)
	}
}

// At answers positions as those that a checkpoint holds: what Durable of an [accumulator.Mirror] is told.
func At(at ...boundary.Position) func() []boundary.Position {
	return func() []boundary.Position { return at }
}
