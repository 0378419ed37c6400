package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

const keyedGraph = `graph: g
accumulators:
  a: { strategy: sequential }
  b: { key: event.id, default: { y: 0 }, strategy: latest }
  limit: { global: true, default: 100 }
reactor: { key: id, ttl: 1m, when: all }
nodes: { n: { expr: '[key, a.x + b.y, limit]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
durability: { interval: 1s }
`

// M13, M28, M33: keys survive a restart and an update, wait where they waited, and expire
// live as the clock goes on.
func TestM13KeysLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		g := api.Ref{Tenant: "default", Name: "g"}
		node := func(b *bed, key string) string {
			t.Helper()
			st, err := b.e.State(t.Context(), g, key)
			if err != nil {
				return err.(*api.Error).Code
			}
			return string(st.Nodes["n"])
		}
		want := func(b *bed, key, want string) {
			t.Helper()
			if got := node(b, key); got != want {
				t.Fatalf("node of %s: got %s, want %s", key, got, want)
			}
		}
		b := newBed(t, store, &scripted{})
		b.apply(keyedGraph, "g")
		b.push("g", "a", `{"id":"x","x":1}`, `{"id":"y","x":2}`)
		b.push("g", "limit", `7`)
		want(b, `"x"`, `["x",1,100]`)
		b.push("g", "b", `{"id":"y","y":5}`)
		b.push("g", "a", `{"id":"y","x":3}`)
		want(b, `"y"`, `["y",8,7]`)
		b.close()

		b = newBed(t, store, &scripted{})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want(b, `"y"`, `["y",8,7]`)
		b.apply(strings.Replace(keyedGraph, "a.x + b.y", "a.x - b.y", 1), "g")
		b.push("g", "a", `{"id":"y","x":9}`)
		want(b, `"y"`, `["y",4,7]`) // b's value was kept
		if res, err := b.e.Fire(t.Context(), g, api.FireRequest{
			Mode: "with", Key: json.RawMessage(`"z"`), Cache: map[string]json.RawMessage{
				"a": json.RawMessage(`{"x":1}`),
			},
		}); err != nil || !res.OK {
			t.Fatalf("%+v, %v", res, err)
		}
		if s := b.summary("g"); s.Keys == nil || s.Keys.Count != 3 || s.Keys.Evicted != 0 {
			t.Fatalf("keys %+v", s.Keys)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		want(b, `"y"`, "key_not_found")
		if s := b.summary("g"); s.Keys.Count != 0 || s.Keys.Evicted != 3 {
			t.Fatalf("keys %+v", s.Keys)
		}
		b.close()
		b = newBed(t, store, &scripted{}) // and are gone from the store
		defer b.close()
		synctest.Wait()
		if s := b.summary("g"); s.Keys.Count != 0 || s.Keys.Evicted != 3 {
			t.Fatalf("keys %+v", s.Keys)
		}
	})
}
