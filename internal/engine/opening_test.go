package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// heardWhileOpening are kinds of an engine that hears of another daemon's declarations while it reads those that are in
// the store.
type heardWhileOpening struct {
	*scripted
	e *Engine
}

func (k *heardWhileOpening) ParseStored(tenant string, document []byte, name string) (
	*compile.Unit, spec.Diagnostics) {
	k.e.own.DeclaredAgain()
	synctest.Wait() // who has heard of it has done what comes of that
	return k.scripted.ParseStored(tenant, document, name)
}

// acquired counts how often a graph is taken.
type acquired struct {
	checkpoint.Store
	n atomic.Int64
}

func (s *acquired) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	s.n.Add(1)
	return s.Store.Acquire(ctx, id)
}

// M45, M52: what another daemon declares while this one opens is looked at when the graphs of the store are there: each
// of them is taken once.
func TestM45GraphsBeginOnceWhileOthersDeclare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &acquired{Store: memstore.New()}
		a := newBed(t, store, &scripted{})
		a.apply("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { "+
			"drop: {} } } }\n", "g")
		a.until("g", reactor.HealthLive, time.Second)
		a.close()
		before := store.n.Load()
		kinds := &heardWhileOpening{scripted: &scripted{source: func(string) accumulator.Source { return nil }}}
		e := New(Config{Store: store, Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
		kinds.e = e
		b := &bed{t, e, store}
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.until("g", reactor.HealthLive, time.Second)
		time.Sleep(time.Minute)
		if n := store.n.Load() - before; n != 1 {
			t.Errorf("the graph was taken %d times", n)
		}
		b.close()
	})
}
