package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// awayStore cannot be reached when it is told so; its lease is kept all the same.
type awayStore struct {
	checkpoint.Store
	why   atomic.Pointer[error]
	tries atomic.Int64 // to acquire a graph
}

func (s *awayStore) set(why error) {
	if why == nil {
		s.why.Store(nil)
		return
	}
	s.why.Store(&why)
}

func (s *awayStore) reach() error {
	if why := s.why.Load(); why != nil {
		return *why
	}
	return nil
}

func (s *awayStore) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	s.tries.Add(1)
	if err := s.reach(); err != nil {
		return checkpoint.Head{}, err
	}
	return s.Store.Acquire(ctx, id)
}

func (s *awayStore) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if err := s.reach(); err != nil {
		return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, err)
	}
	return s.Store.Commit(ctx, c)
}

// newAwayBed is a bed over a store that can be away, with a graph.
func newAwayBed(t *testing.T) (*awayStore, *bed) {
	t.Helper()
	store := &awayStore{Store: memstore.New()}
	b := newBed(t, store, &scripted{})
	b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n"+
		"outputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
	return store, b
}

// M35, M36: a store that is away is no failure of the graph. The graph waits for it, says so, and
// goes on by itself, however often that was.
func TestM35StoreAwayIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := newAwayBed(t)
		defer b.close()
		for n := range 10 {
			why, code := checkpoint.ErrUnreachable, "store_unreachable"
			if n%2 == 1 {
				why, code = checkpoint.ErrSlow, "store_slow"
			}
			store.set(why)
			b.push("g", "a", fmt.Sprint(n))
			time.Sleep(3 * time.Second) // its checkpoint fails, and nobody knows how
			s := b.summary("g")
			if s.Health != "starting" || s.HealthReason == nil || s.HealthReason.Code != code ||
				!strings.Contains(s.HealthReason.Detail, why.Error()) {
				t.Fatalf("outage %d: %q %+v, want %s", n, s.Health, s.HealthReason, code)
			}
			store.set(nil)
			time.Sleep(storeBack)
			if s := b.summary("g"); s.Health != "live" {
				t.Fatalf("after outage %d: %q %+v", n, s.Health, s.HealthReason)
			}
		}
		store.set(checkpoint.ErrUnreachable)
		b.push("g", "a", "10")
		before := store.tries.Load()
		time.Sleep(time.Minute)
		if tries := store.tries.Load() - before; tries < 10 || tries > 120 {
			t.Errorf("the store was tried %d times in a minute", tries)
		}
		store.set(nil)
		time.Sleep(storeBack)
		b.push("g", "a", "11")
		if s := b.summary("g"); s.Health != "live" {
			t.Errorf("%q %+v", s.Health, s.HealthReason)
		}
		for _, ev := range b.recovery("g") {
			if ev.Kind == "restart" || ev.Kind == "gave_up" {
				t.Errorf("an outage counts as a failure: %+v", ev)
			}
		}
	})
}

// storeBack is within what time a graph goes on when its store is back.
const storeBack = 6 * time.Second

// M37: a graph that goes on from its checkpoint since its store was away says which pushes are not in it, and nothing
// of what its source gives again. A graph with a journal has nothing to say.
func TestM37WhatWasPushedAndIsGone(t *testing.T) {
	const sequential = "strategy: sequential"
	for mode, want := range map[string]string{
		"checkpoint": "without what was pushed or received after it: up to 3 events of a",
		"journal":    "",
	} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &awayStore{Store: memstore.New()}
				b := newBed(t, store, &scripted{})
				defer b.close()
				b.apply("graph: g\ndurability: { mode: "+mode+" }\naccumulators:\n  a: { "+sequential+" }\n"+
					"  made: { "+sequential+", source: { generator: { every: 100ms, seed: 1, expr: i } } }\n"+
					"nodes: { n: { expr: '[a, made]' } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
				b.push("g", "a", "1", "2")
				time.Sleep(2500 * time.Millisecond) // a checkpoint has these, and the next is not due
				store.set(checkpoint.ErrUnreachable)
				b.push("g", "a", "3", "4", "5")
				time.Sleep(3 * time.Second)
				store.set(nil)
				time.Sleep(storeBack)
				var said []api.RecoveryEvent
				for _, ev := range b.recovery("g") {
					if ev.Kind == "store_away" {
						said = append(said, ev)
					}
				}
				if len(said) != 1 || want != "" && !strings.HasSuffix(said[0].Reason, want) ||
					want == "" && strings.Contains(said[0].Reason, "without") {
					t.Errorf("recovery events %+v, want one that ends with %q", said, want)
				}
				m := b.e.Metrics(t.Context())[0]
				if n := m.Restarts[""]["store_away"]; n != 1 {
					t.Errorf("given up %d times, want once: %v", n, m.Restarts)
				}
				if n := m.Lost["a"]; n != 3 && want != "" || n != 0 && want == "" || m.Lost["made"] != 0 {
					t.Errorf("lost %v", m.Lost)
				}
			})
		})
	}
}

// M37: so does one that an operator restarts while its store is away.
func TestM37WhatWasPushedAndIsGoneWithARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := newAwayBed(t)
		defer b.close()
		b.push("g", "a", "1", "2")
		time.Sleep(2500 * time.Millisecond) // a checkpoint has these, and the next is not due
		store.set(checkpoint.ErrUnreachable)
		b.push("g", "a", "3", "4", "5")
		if _, err := b.e.Restart(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "", "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		store.set(nil)
		time.Sleep(storeBack)
		m := b.e.Metrics(t.Context())[0]
		said := fmt.Sprint(b.recovery("g"))
		if !strings.Contains(said, "3 events of a") || m.Lost["a"] != 3 || b.summary("g").Health != "live" {
			t.Errorf("lost %v, and said %s", m.Lost, said)
		}
	})
}
