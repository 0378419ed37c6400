package engine

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/sink"
)

// M26, M4: an input that has something which is held back for longer than any silence has been silent for none of it,
// whatever holds it back: no watermark goes on without it, and nothing of it is late when it comes in.
func TestM26WhatIsHeldBackIsNotLate(t *testing.T) {
	ref := api.Ref{Tenant: "default", Name: "g"}
	pauses := func(ctx context.Context, _ *quota.Book, e *Engine) (release func()) {
		if _, err := e.Pause(ctx, ref, ""); err != nil {
			t.Error(err)
		}
		return func() {
			if _, err := e.Resume(ctx, ref, ""); err != nil {
				t.Error(err)
			}
		}
	}
	holds := map[string]func(ctx context.Context, book *quota.Book, e *Engine) (release func()){
		"quota of events": func(ctx context.Context, book *quota.Book, _ *Engine) func() {
			for range 400 {
				go func() { _ = book.Rate(ref.Tenant).Wait(ctx, 1) }()
			}
			return func() {}
		},
		"limit of events": func(ctx context.Context, book *quota.Book, _ *Engine) func() {
			pace := book.Pace("", "")
			pace.Meter = book.Meter(ref.Tenant, ref.Name)
			for range 400 {
				go func() { _ = pace.Admit(ctx, 1, 0) }()
			}
			return func() {}
		},
		"quota of bytes": func(_ context.Context, book *quota.Book, _ *Engine) func() {
			book.Stored(ref.Tenant, 1<<40)
			return func() { book.Stored(ref.Tenant, 0) }
		},
		"limit of memory": func(_ context.Context, book *quota.Book, _ *Engine) func() {
			m := book.Meter(ref.Tenant, ref.Name)
			m.Holds(7, quota.Memory{State: 1 << 30})
			return func() { m.Holds(7, quota.Memory{}) }
		},
		"what waits for a sink": func(_ context.Context, book *quota.Book, _ *Engine) func() {
			m := book.Meter(ref.Tenant, ref.Name)
			m.Holds(7, quota.Memory{Outputs: 1 << 30})
			return func() { m.Holds(7, quota.Memory{}) }
		},
		"processor": func(_ context.Context, book *quota.Book, _ *Engine) func() {
			book.Meter(ref.Tenant, ref.Name).Worked(0, 45*time.Second)
			return func() {}
		},
		"full": pauses,
	}
	limits := map[string]string{"limit of events": "events_per_second: 10", "limit of memory": "memory: 512MiB",
		"what waits for a sink": "memory: 512MiB", "processor": "cpu: 1"}
	for _, clock := range []string{"event", "arrival"} {
		for name, hold := range holds {
			t.Run(clock+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, b, out := newTape(true), newTape(true), &heard{}
					a.load()
					b.load()
					sources := map[string]accumulator.Source{"a": a, "b": b}
					book := quota.NewBook(map[string]quota.Limits{
						ref.Tenant: {EventsPerSecond: 10, StoredBytes: 1 << 30}})
					bed := newBedOf(t, &scripted{
						source: func(name string) accumulator.Source { return sources[name] },
						sink:   func(string) sink.Sink { return out },
					}, Config{Store: memstore.New(), Log: slog.New(slog.DiscardHandler), Quotas: book})
					defer bed.close()
					bed.apply("graph: g\nclock: "+clock+`
accumulators:
  a:
    time: event.at
    time_unit: s
    capacity: 1
    strategy: sequential
    window: { tumbling: 1s, idle: 5s, aggregate: { n: count() } }
  b: { time: event.at, time_unit: s, window: { tumbling: 1s, aggregate: { n: count() } } }
nodes: { n: { expr: 'a?.n' } }
outputs: { o: { from: n, sink: { drop: {} } } }
limits: { `+limits[name]+" }\n", "g")
					for _, s := range []*tape{a, b} {
						s.health(accumulator.Live)
						s.caughtUp("", true)
					}
					a.events("p0", 100)
					a.events("p1", 100, 101, 102, 103, 104)
					b.events("p0", 101)
					time.Sleep(2 * time.Second)
					release := hold(t.Context(), book, bed.e)
					synctest.Wait()
					for at := 101; at < 130; at++ {
						a.events("p0", at)
						a.events("p1", at+4)
					}
					time.Sleep(38 * time.Second)
					release()
					time.Sleep(time.Minute)
					a.events("p0", 200)
					a.events("p1", 200)
					time.Sleep(time.Second)
					synctest.Wait()
					s := bed.summary("g")
					for _, acc := range s.Accumulators {
						if acc.Late != 0 {
							t.Errorf("%d events of %s are late: %+v", acc.Late, acc.Name, acc.Counters)
						}
					}
					if n := s.Accumulators[0].Counters.Received; n != 66 {
						t.Errorf("%d events have come", n)
					}
				})
			})
		}
	}
}
