package engine

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink/stdout"
)

const shardedGraph = `graph: g
accumulators:
  a: { strategy: sequential }
  limit: { global: true, default: 100 }
reactor: { key: id, shards: 4 }
nodes: { n: { expr: '[key, a.x, limit]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

// newSharded is an engine in which each shard of a graph that is dealt runs by itself.
func newSharded(t *testing.T, store checkpoint.Store) *bed {
	t.Helper()
	return newShardedOf(t, store, &scripted{source: func(string) accumulator.Source { return nil }})
}

func newShardedOf(t *testing.T, store checkpoint.Store, kinds *scripted) *bed {
	t.Helper()
	kinds.Stdout = stdout.NewOutput(os.Stderr)
	e := New(Config{Store: store, Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &bed{t, e, store}
}

var shardedRef = api.Ref{Tenant: "default", Name: "g"}

// node is what a key has in the node n, or the code of the refusal.
func (b *bed) node(key string) string {
	b.t.Helper()
	st, err := b.e.State(b.t.Context(), shardedRef, key)
	if err != nil {
		return err.(*api.Error).Code
	}
	return string(st.Nodes["n"])
}

// M48: of a graph whose shards run each by itself the counts are sums, a key is found wherever it is, a global value
// reaches all, and commands do too; all of it is there after a restart.
func TestM48ShardsAreOneGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newSharded(t, store)
		b.apply(shardedGraph, "g")
		sub, err := b.e.Watch(t.Context(), shardedRef, api.Wanted{Topics: []string{"outputs"}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		b.push("g", "limit", `7`)
		var events []string
		for n := range 40 {
			events = append(events, fmt.Sprintf(`{"id":"k%d","x":%d}`, n, n))
		}
		events[9] = `{`
		res := b.push("g", "a", events...)
		if res.Accepted != 39 || len(res.Rejected) != 1 || res.Rejected[0].Index != 9 {
			t.Fatalf("%+v", res)
		}
		s := b.summary("g")
		if s.Health != "live" || s.Keys.Count != 39 || s.Keys.Shards != 4 || s.Keys.ShardsRunning != 4 || s.Epoch < 39 {
			t.Fatalf("%+v, keys %+v", s, s.Keys)
		}
		if a := s.Accumulators[0].Counters; a.Received != 40 || a.Rejected != 1 || a.Consumed != 39 {
			t.Errorf("a: %+v", a)
		}
		if limit := s.Accumulators[1].Counters; limit.Received != 1 {
			t.Errorf("what all keys share is counted once: %+v", limit)
		}
		for n := range 40 {
			if got, want := b.node(fmt.Sprintf(`"k%d"`, n)), fmt.Sprintf(`["k%d",%d,7]`, n, n); n != 9 && got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		frames := 0
		for f := sub.TryNext(); f != nil; f = sub.TryNext() {
			frames++
		}
		if frames != 39 {
			t.Errorf("%d frames", frames)
		}
		b.commands(t)
		b.apply(shardedGraph, "g")
		b.close()
		b = newSharded(t, store)
		defer b.close()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := b.node(`"k5"`); got != `["k5",5,7]` {
			t.Errorf("after a restart: %s", got)
		}
		if s := b.summary("g"); s.Keys.Count != 42 || s.Counters.Received != 44 {
			t.Errorf("after a restart: %+v, keys %+v", s.Counters, s.Keys)
		}
		if sum, err := b.e.Reset(t.Context(), shardedRef, "g", "test"); err != nil || sum.Keys.Count != 0 ||
			sum.Counters.Received != 0 {
			t.Errorf("a reset: %+v, %v", sum.Keys, err)
		}
	})
}

// commands tries what is done to the whole graph, and to one key of it. It leaves three keys more.
func (b *bed) commands(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	if sum, err := b.e.Pause(ctx, shardedRef, "test"); err != nil || !sum.Paused {
		t.Fatalf("%+v, %v", sum, err)
	}
	b.push("g", "a", `{"id":7,"x":1}`, `{"id":"8","x":2}`)
	if got := b.node(`7`); got != "" {
		t.Errorf("while it is paused: %s", got)
	}
	if sum, err := b.e.Resume(ctx, shardedRef, "test"); err != nil || sum.Paused {
		t.Fatalf("%+v, %v", sum, err)
	}
	if sum, err := b.e.Drain(ctx, shardedRef); err != nil || sum.Durability.CheckpointEpoch != sum.Epoch {
		t.Fatalf("%+v, %v", sum, err)
	}
	for key, want := range map[string]string{`7`: `[7,1,7]`, `8`: `["8",2,7]`} { // 8 is looked for as a text too
		if got := b.node(key); got != want {
			t.Errorf("key %s: %s, want %s", key, got, want)
		}
	}
	res, err := b.e.Fire(ctx, shardedRef, api.FireRequest{Mode: "with", Key: json.RawMessage(`"z"`),
		Cache: map[string]json.RawMessage{"a": json.RawMessage(`{"x":1}`)}})
	if err != nil || !res.OK || b.node(`"z"`) != `["z",1,7]` {
		t.Errorf("%+v, %v: %s", res, err, b.node(`"z"`))
	}
	before := b.summary("g").Incarnation
	if sum, err := b.e.Restart(ctx, shardedRef, "", "test"); err != nil || sum.Incarnation <= before ||
		sum.Keys.ShardsRunning != sum.Keys.Shards {
		t.Errorf("%+v, %v", sum, err)
	}
	b.push("g", "limit", `7`)
}
