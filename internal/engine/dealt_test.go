package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// cellsOf is how much that a store has of a graph's shards.
func cellsOf(t *testing.T, store checkpoint.Store, shards int) (n int) {
	t.Helper()
	for s := range shards {
		id := checkpoint.ID{Tenant: "default", Graph: "g", Shard: s}
		if err := store.Load(t.Context(), id, func(checkpoint.Cell) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// refusesToStart opens an engine on a store that has the graph dealt otherwise, and holds that it is left alone.
func refusesToStart(t *testing.T, store checkpoint.Store, open func(*testing.T, checkpoint.Store) *bed, word string) {
	t.Helper()
	b := open(t, store)
	defer b.close()
	time.Sleep(time.Second)
	synctest.Wait()
	s := b.summary("g")
	if s.Health != "failed" || s.HealthReason.Code != "dealt_otherwise" ||
		!strings.Contains(s.HealthReason.Detail, word) {
		t.Fatalf("%s %+v", s.Health, s.HealthReason)
	}
}

// M54: a graph never starts over a state that was dealt for another number of shards, in either direction, and goes on
// with all of it under the number that the store has.
func TestM54NeverStartsOverAnotherDeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asOne := func(t *testing.T, store checkpoint.Store) *bed { return newBed(t, store, &scripted{}) }
		store := memstore.New()
		b := asOne(t, store)
		b.apply(shardedGraph, "g")
		b.push("g", "limit", `7`)
		b.push("g", "a", `{"id":"k1","x":1}`, `{"id":"k2","x":2}`, `{"id":"k3","x":3}`)
		b.close()
		before := cellsOf(t, store, 1)
		refusesToStart(t, store, newSharded, "to 1, and the graph would run as 4")
		if n := cellsOf(t, store, 1); n != before {
			t.Errorf("%d cells, there were %d", n, before)
		}
		b = asOne(t, store)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := b.node(`"k2"`); got != `["k2",2,7]` {
			t.Errorf("run as one again: %s", got)
		}
		b.close()

		store = memstore.New()
		b = newSharded(t, store)
		b.apply(shardedGraph, "g")
		b.push("g", "a", `{"id":"k1","x":1}`, `{"id":"k2","x":2}`, `{"id":"k3","x":3}`)
		b.close()
		before = cellsOf(t, store, 4)
		refusesToStart(t, store, asOne, "to 4, and the graph would run as 1")
		if n := cellsOf(t, store, 4); n != before {
			t.Errorf("%d cells, there were %d", n, before)
		}
		b = newSharded(t, store)
		defer b.close()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := b.node(`"k2"`); got != `["k2",2,100]` {
			t.Errorf("run as shards again: %s", got)
		}
		if _, err := b.e.Reset(t.Context(), shardedRef, "g", "test"); err != nil {
			t.Fatal(err)
		}
		if s := b.summary("g"); s.Health != "live" || s.Keys.ShardsRunning != 4 {
			t.Errorf("after a reset: %s %+v", s.Health, s.HealthReason)
		}
	})
}

// M54: a shard that has never committed does not begin beside a state that was dealt for another number.
func TestM54ANewShardAsksWhatTheOthersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newSharded(t, store)
		b.apply(strings.Replace(shardedGraph, "shards: 4", "shards: 2", 1), "g")
		b.push("g", "a", `{"id":"k1","x":1}`, `{"id":"k2","x":2}`, `{"id":"k3","x":3}`)
		b.close()
		d := checkpoint.Declaration{Tenant: "default", Graph: "g", Text: shardedGraph, Origin: "api"}
		if _, err := store.PutDeclaration(t.Context(), d, 0); err != nil {
			t.Fatal(err)
		}
		refusesToStart(t, store, newSharded, "to 2, and the graph would run as 4")
		heads, err := store.ShardHeads(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range heads {
			if h.Shard >= 2 && h.Meta != nil {
				t.Errorf("shard %d has committed: %s", h.Shard, h.Meta)
			}
		}
	})
}
