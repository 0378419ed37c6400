package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// onceRead is a source of many events that counts how often it was opened, and what it has given.
type onceRead struct{ opens, given *atomic.Int64 }

const onceReadEvents = 700

func (c onceRead) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	c.opens.Add(1)
	out.Health(accumulator.Live, "")
	n := int64(0)
	for _, p := range from {
		n = p.Offset
	}
	for ; n < onceReadEvents; n++ {
		c.given.Add(1)
		err := out.Emit(ctx, []boundary.Event{{
			Raw: fmt.Appendf(nil, `{"id":%d,"x":%d,"at":"1970-01-01T00:00:%02dZ"}`, n%100, n, n/100),
			Pos: boundary.Position{Stream: "s", Offset: n + 1},
		}})
		if err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// Behind says the order of the positions.
func (onceRead) Behind(a, b boundary.Position) (behind, known bool) { return a.Offset < b.Offset, true }

// M49: the source of a graph of seven shards is opened once and gives each event once, under both clocks, after a
// restart too; and each event is in the books once.
func TestM49TheSourceOfSevenShardsIsReadOnce(t *testing.T) {
	for _, clock := range []string{"arrival", "event"} {
		synctest.Test(t, func(t *testing.T) {
			src := onceRead{new(atomic.Int64), new(atomic.Int64)}
			b := newSharded(t, memstore.New())
			defer b.close()
			b.e.cfg.Kinds.(*scripted).source = func(name string) accumulator.Source {
				if name == "a" {
					return src
				}
				return nil
			}
			b.apply(`graph: g
clock: `+clock+`
accumulators:
  a: { source: { file: { path: in.ndjson } }, time: event.at, strategy: sequential }
reactor: { key: id, shards: 7 }
nodes: { n: { expr: '[key, a.x]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`, "g")
			for opens := int64(1); opens <= 2; opens++ {
				time.Sleep(time.Minute)
				synctest.Wait()
				s := b.summary("g")
				c := s.Accumulators[0].Counters
				if s.Keys.ShardsRunning != 7 || c.Received != onceReadEvents || c.Consumed != onceReadEvents {
					t.Fatalf("%s: %+v, %d shards: %+v", clock, s.Health, s.Keys.ShardsRunning, c)
				}
				if src.opens.Load() != opens || src.given.Load() != onceReadEvents {
					t.Errorf("%s: opened %d times, want %d; gave %d events, want %d", clock, src.opens.Load(), opens,
						src.given.Load(), onceReadEvents)
				}
				if _, err := b.e.Restart(t.Context(), shardedRef, "a", "test"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
