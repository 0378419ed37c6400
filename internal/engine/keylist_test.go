package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// pagesOf are all keys that are listed, a page at a time, as they are written.
func pagesOf(t *testing.T, e *Engine, q api.KeyQuery) (keys []string, last api.KeyPage) {
	t.Helper()
	for {
		p, err := e.Keys(t.Context(), shardedRef, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range p.Items {
			keys = append(keys, string(k.Key))
		}
		if p.Next == "" {
			return keys, p
		}
		if len(p.Items) != q.Limit {
			t.Fatalf("a page of %d is followed by another", len(p.Items))
		}
		q.Before = p.Next
	}
}

// M13, M48: the keys of a graph are listed in pages, each of them once, in every order, whichever shard has them; those
// that were searched for, and how many there are.
func TestM13KeysAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(shardedGraph, "g")
		var all []string
		for i := range 40 {
			b.push("g", "a", fmt.Sprintf(`{"id":"K%02d<&>","x":%d}`, i, i))
			all = append(all, fmt.Sprintf(`"K%02d<&>"`, i))
			time.Sleep(time.Millisecond)
		}
		keys, last := pagesOf(t, b.e, api.KeyQuery{Sort: "key", Limit: 7})
		if !slices.Equal(keys, all) || last.Keys != 40 || last.Fitting != 40 || len(last.Unknown) != 0 {
			t.Errorf("by key: %v %+v", keys, last)
		}
		slices.Reverse(all)
		if keys, _ = pagesOf(t, b.e, api.KeyQuery{Limit: 9}); !slices.Equal(keys, all) {
			t.Errorf("the newest first: %v", keys)
		}
		keys, last = pagesOf(t, b.e, api.KeyQuery{Sort: "key", Search: "k1", Limit: 3})
		if len(keys) != 10 || keys[0] != `"K10<&>"` || last.Fitting != 10 || last.Keys != 40 {
			t.Errorf("what was searched for: %v %+v", keys, last)
		}
		for _, bad := range []api.KeyQuery{{Sort: "age"}, {Before: "x"}, {Sort: "key", Before: "e30"}} {
			if _, err := b.e.Keys(t.Context(), shardedRef, bad); err == nil {
				t.Errorf("%+v is answered", bad)
			}
		}
	})
}

const waitingKeys = `graph: g
accumulators:
  a: { strategy: sequential }
  b: { strategy: sequential }
reactor: { key: id, when: all }
nodes: { n: { expr: a.x + b.x } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// M13: of more keys than are looked at in one go none is missed, those that have most waiting are the first, and a
// graph without keys has none to list.
func TestM13ManyKeysAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(waitingKeys, "g")
		const n = 10_000
		events := make([]json.RawMessage, n+2)
		for i := range n {
			events[i] = json.RawMessage(fmt.Sprintf(`{"id":%d,"x":1}`, i))
		}
		events[n], events[n+1] = json.RawMessage(`{"id":77,"x":1}`), json.RawMessage(`{"id":78,"x":1}`)
		for part := range slices.Chunk(events, 1000) {
			if _, err := b.e.Push(t.Context(), shardedRef, "a", part); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		b.push("g", "b", `{"id":78,"x":1}`)
		b.push("g", "b", `{"id":78,"x":1}`)
		keys, last := pagesOf(t, b.e, api.KeyQuery{Sort: "waiting", Limit: 1000})
		distinct := slices.Compact(slices.Sorted(slices.Values(keys)))
		if len(keys) != n || len(distinct) != n || last.Keys != n || keys[0] != "77" || keys[n-1] != "78" {
			t.Errorf("%d keys, %d of them once, %s first, %s last, %d in all", len(keys), len(distinct), keys[0],
				keys[len(keys)-1], last.Keys)
		}
		p, err := b.e.Keys(t.Context(), shardedRef, api.KeyQuery{Sort: "waiting", Limit: 2})
		if err != nil || p.Items[0].Waiting != 2 || p.Items[1].Waiting != 1 {
			t.Errorf("%+v, %v", p.Items, err)
		}
		b.apply(strings.NewReplacer("key: id, ", "", "graph: g", "graph: h").Replace(waitingKeys), "h")
		_, err = b.e.Keys(t.Context(), api.Ref{Tenant: "default", Name: "h"}, api.KeyQuery{})
		if refused, _ := err.(*api.Error); refused == nil || refused.Code != "not_keyed" {
			t.Errorf("of a graph without keys: %v", err)
		}
	})
}

// M13, M52: the keys of shards at other daemons are listed too, from whichever daemon that is asked.
func TestM52KeysAreListedEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 8
		m := newMany(t, true, true, "a", "b")
		defer m.close()
		m.beds["a"].apply(fmt.Sprintf(spreadGraph, shards), "g")
		m.whole(shards, "", 10*time.Second)
		time.Sleep(2 * time.Minute)
		m.whole(shards, "", time.Second)
		var first []string
		for _, name := range m.names {
			keys, last := pagesOf(t, m.beds[name].e, api.KeyQuery{Sort: "key", Limit: 10})
			sum := m.beds[name].summary("g")
			if len(last.Unknown) > 0 || len(keys) == 0 || len(keys) != sum.Keys.Count || !slices.IsSorted(keys) ||
				first != nil && !slices.Equal(first, keys) {
				t.Errorf("%s lists %d of %d keys: %+v", name, len(keys), sum.Keys.Count, last)
			}
			first = keys
		}
	})
}
