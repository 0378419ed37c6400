package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// allFirings reads the history by pages.
func (b *bed) allFirings(q api.Query) (all []api.Firing) {
	b.t.Helper()
	for range 1000 {
		p, err := b.e.Firings(b.t.Context(), ofG, q)
		if err != nil || len(p.Items) > q.Limit {
			b.t.Fatalf("%+v: %d firings, %v", q, len(p.Items), err)
		}
		all = append(all, p.Items...)
		if q.Before = p.Next; p.Next == "" {
			return all
		}
	}
	b.t.Fatal("the pages come to no end")
	return nil
}

func epochsOf(firings []api.Firing) (names []string) {
	for i := range firings {
		f := &firings[i]
		names = append(names, fmt.Sprintf("%d/%d.%d", f.Shard, f.Incarnation, f.Epoch))
	}
	return names
}

// M48: the epochs of all shards are one list, newest first, each of its shard and in the order of that. Pages of every
// size have the same, from memory and from the store, and what fires meanwhile is in none of them.
func TestM48FiringsOfShardsAreOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newSharded(t, store)
		b.apply(threeShards, "g")
		b.push("g", "by", "1")
		fire := func(from, to int) {
			for n := from; n < to; n++ {
				b.push("g", "a", fmt.Sprintf(`{"id":"k%d","x":1}`, n%20))
				time.Sleep(time.Duration(n%3) * time.Millisecond)
			}
		}
		fire(0, 60)
		if _, err := b.e.Restart(t.Context(), ofG, "", "test"); err != nil {
			t.Fatal(err)
		}
		fire(60, 90)
		all := b.allFirings(api.Query{Limit: 1000})
		names, last := epochsOf(all), map[int]api.Firing{}
		if len(slices.Compact(slices.Sorted(slices.Values(names)))) != 90 || len(all) != 90 {
			t.Fatalf("%d firings: %v", len(all), names)
		}
		for i, f := range all {
			later, seen := last[f.Shard]
			if f.Shard != boundary.Key(f.Key).Shard(3) || i > 0 && f.At.After(all[i-1].At) || seen &&
				(f.Incarnation > later.Incarnation || f.Incarnation == later.Incarnation && f.Epoch >= later.Epoch) {
				t.Errorf("%s of %s at %s is behind %s", names[i], f.Key, f.At, names[max(0, i-1)])
			}
			last[f.Shard] = f
		}
		if len(last) != 3 {
			t.Errorf("the shards %v have fired", last)
		}
		for _, limit := range []int{1, 7, 29, 90} {
			if got := epochsOf(b.allFirings(api.Query{Limit: limit})); !slices.Equal(got, names) {
				t.Errorf("pages of %d: %v, want %v", limit, got, names)
			}
		}
		page, err := b.e.Firings(t.Context(), ofG, api.Query{Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		fire(90, 100)
		rest := epochsOf(b.allFirings(api.Query{Limit: 10, Before: page.Next}))
		if got := append(epochsOf(page.Items), rest...); !slices.Equal(got, names) {
			t.Errorf("while it fires: %v, want %v", got, names)
		}
		if of := b.allFirings(api.Query{Limit: 2, Key: `"k7"`}); len(of) != 5 || string(of[0].Key) != `"k7"` {
			t.Errorf("of one key: %+v", of)
		}
		b.firingsByShard(t, b.allFirings(api.Query{Limit: 1000}))
		b.oneFiring(t, &all[0])
		b.oneFiring(t, &all[1])
		for _, bad := range []string{"s", "sAA", "2.1.7", "x", page.Next + "AA", page.Next[:5]} {
			if _, err := b.e.Firings(t.Context(), ofG, api.Query{Before: bad}); problem(err) != "bad_cursor" {
				t.Errorf("the cursor %q: %v", bad, err)
			}
		}
		b.close()
	})
}

// M54: what a shard has fired that the graph has no more, since its keys were dealt to fewer, is in the list as before,
// by itself and one by one.
func TestM54FiringsOfShardsThatWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(threeShards, "g")
		b.push("g", "by", "1")
		for n := range 40 {
			b.push("g", "a", fmt.Sprintf(`{"id":"k%d","x":1}`, n))
			time.Sleep(time.Millisecond)
		}
		before := epochsOf(b.allFirings(api.Query{Limit: 1000}))
		for _, shards := range []int{1, 2} {
			b.apply(strings.Replace(threeShards, "shards: 3", fmt.Sprint("shards: ", shards), 1), "g")
			for _, limit := range []int{3, 1000} {
				if got := epochsOf(b.allFirings(api.Query{Limit: limit})); !slices.Equal(got, before) {
					t.Errorf("%d shards, pages of %d: %v, want %v", shards, limit, got, before)
				}
			}
			b.firingsByShard(t, b.allFirings(api.Query{Limit: 1000}))
			gone := b.allFirings(api.Query{Limit: 1000, Shard: new(2)})
			b.oneFiring(t, &gone[0])
		}
	})
}

// firingsByShard looks at the list of each shard by itself, in small pages: together they are the list of all.
func (b *bed) firingsByShard(t *testing.T, all []api.Firing) {
	t.Helper()
	for n := range 3 {
		own := slices.DeleteFunc(slices.Clone(all), func(f api.Firing) bool { return f.Shard != n })
		got := b.allFirings(api.Query{Limit: 4, Shard: &n})
		if len(got) == 0 || !slices.Equal(epochsOf(got), epochsOf(own)) {
			t.Errorf("shard %d has fired %v, want %v", n, epochsOf(got), epochsOf(own))
		}
	}
	if _, err := b.e.Firings(t.Context(), ofG, api.Query{Shard: new(3)}); problem(err) != "shard_not_found" {
		t.Errorf("the list of a shard that there is not: %v", err)
	}
}

// oneFiring looks one epoch up in its own shard, and where there is none.
func (b *bed) oneFiring(t *testing.T, f *api.Firing) {
	t.Helper()
	d, err := b.e.Firing(t.Context(), ofG, f.Shard, f.Epoch)
	if err != nil || d.Shard != f.Shard || string(d.Key) != string(f.Key) || !d.Cut["a"].Taken {
		t.Errorf("epoch %d of shard %d: %+v, %v", f.Epoch, f.Shard, d, err)
	}
	if _, err := b.e.Firing(t.Context(), ofG, 3, f.Epoch); problem(err) != "shard_not_found" {
		t.Errorf("a shard that there is not: %v", err)
	}
}
