package placement

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"pgregory.net/rapid"
)

// dealtTo is how many shards of graph g each member is to have first.
func dealtTo(shards int, among []checkpoint.Member) (at []string, has map[string]int) {
	g := checkpoint.ID{Tenant: "default", Graph: "g"}
	o := OrderOf(Places{Spread: true, Shards: map[checkpoint.ID]int{g: shards}}, among)
	has = map[string]int{}
	for n := range shards {
		g.Shard = n
		at = append(at, o.First(g))
		has[at[n]]++
	}
	return at, has
}

func reachable(n int) []checkpoint.Member {
	all := members(n)
	for i := range all {
		all[i].Peer = "10.0.0.1:8081"
	}
	return all
}

// M52: of a graph's shards each member has what its weight says, within a fifth or one shard.
func TestM52ShardsAreDealtEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, shards := rapid.IntRange(1, 16).Draw(t, "members"), rapid.IntRange(2, 256).Draw(t, "shards")
		among, weights := reachable(n), 0
		for i := range among {
			among[i].ID += rapid.StringMatching("[a-z]{4}").Draw(t, "id")
			among[i].Capacity = rapid.IntRange(1, 4).Draw(t, "capacity")
			weights += among[i].Capacity
		}
		_, has := dealtTo(shards, among)
		for _, m := range among {
			even := float64(shards*m.Capacity) / float64(weights)
			got := float64(has[m.ID])
			if got < math.Floor(even) && got < even*4/5 || got > math.Ceil(even) && got > even*6/5 {
				t.Fatalf("a member of weight %d has %.0f of %d shards, %.1f would be even", m.Capacity, got, shards,
					even)
			}
		}
	})
}

// M52: where a member comes or goes, its share moves and on average no more than a tenth of all beside it.
func TestM52DealtShardsMoveLittle(t *testing.T) {
	const shards, times, tenth = 64, 40, 64 / 10.0
	for n := 1; n < 16; n++ {
		share, moved := shards/float64(n+1), 0
		for seed := range times {
			among := reachable(n + 1)
			for i := range among {
				among[i].ID += fmt.Sprint(seed)
			}
			before, _ := dealtTo(shards, among[:n])
			after, _ := dealtTo(shards, among)
			moves := 0
			for i := range before {
				if before[i] != after[i] {
					moves++
				}
			}
			if float64(moves) > 2*share+tenth {
				t.Errorf("from %d members to one more %d of %d shards move, %.1f are its share", n, moves, shards,
					share)
			}
			moved += moves
		}
		if mean := float64(moved) / times; mean > share+tenth {
			t.Errorf("from %d members to one more %.1f of %d shards move, %.1f are its share", n, mean, shards, share)
		}
	}
}

// M52: the deal is the same for ever, the rank begins with it, and a graph that is not dealt has none.
func TestM52DealIsGolden(t *testing.T) {
	among := []checkpoint.Member{member("a", 1), member("b", 2), member("c", 1), member("d", 0)}
	for i := range among {
		among[i].Peer = "10.0.0.1:8081"
	}
	g, other := checkpoint.ID{Tenant: "default", Graph: "g"}, checkpoint.ID{Tenant: "default", Graph: "other"}
	places := Places{Spread: true, Shards: map[checkpoint.ID]int{g: 20}}
	o := OrderOf(places, among)
	var b strings.Builder
	for n := range 20 {
		g.Shard, other.Shard = n, n
		fmt.Fprintln(&b, n, strings.Join(o.Rank(g), " "))
		rest := slices.Clone(o.Rank(g))
		if rest[0] != o.First(g) {
			t.Errorf("%s: %v, and %s is first", g, rest, o.First(g))
		}
		if want := rankOf(other, among); !slices.Equal(o.Rank(other), want) || o.First(other) != want[0] {
			t.Errorf("%s: %v, want %v", other, o.Rank(other), want)
		}
	}
	const golden = "testdata/deal.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != b.String() {
		t.Errorf("the deal has changed (%v):\n%s", err, b.String())
	}
}

// M52, M53: shards that are not to be spread, or of a graph that is fed, are where their group is; and beyond what is
// declared, or where nobody is, nothing is dealt.
func TestM52WhatIsNotDealt(t *testing.T) {
	among := reachable(3)
	g := checkpoint.ID{Tenant: "default", Graph: "g"}
	shards := map[checkpoint.ID]int{g: 8}
	together := rankOf(g, among)[0]
	linked := Groups([]Link{{g, checkpoint.ID{Tenant: "default", Graph: "h"}}})
	for n := range 8 {
		id := checkpoint.ID{Tenant: g.Tenant, Graph: g.Graph, Shard: n}
		for _, p := range []Places{{Shards: shards}, {Spread: true, Shards: shards, Linked: linked}} {
			if got := OrderOf(p, among).First(id); got != together {
				t.Errorf("%+v: %s is at %s, want %s", p, id, got, together)
			}
		}
		if got := OrderOf(Places{Spread: true, Shards: shards}, nil).First(id); got != "" {
			t.Errorf("%s is at %s, and nobody is there", id, got)
		}
	}
	beyond := checkpoint.ID{Tenant: g.Tenant, Graph: g.Graph, Shard: 8}
	if got := OrderOf(Places{Spread: true, Shards: shards}, among).First(beyond); got != rankOf(beyond, among)[0] {
		t.Errorf("%s is at %s", beyond, got)
	}
}

// M52: what is remembered of a deal is forgotten with those that it was among, and with the number of shards.
func TestM52DealFollowsChanges(t *testing.T) {
	g := checkpoint.ID{Tenant: "default", Graph: "g"}
	o := new(Order)
	look := func(shards, n int) {
		t.Helper()
		o.see(reachable(n))
		places := Places{Spread: true}
		if shards > 0 {
			places.Shards = map[checkpoint.ID]int{g: shards}
		}
		o.place(places)
		want := OrderOf(places, reachable(n))
		for i := range max(shards, 1) {
			id := checkpoint.ID{Tenant: g.Tenant, Graph: g.Graph, Shard: i}
			if got := o.First(id); got != want.First(id) {
				t.Errorf("%d shards among %d members: %s is at %s, want %s", shards, n, id, got, want.First(id))
			}
		}
	}
	look(16, 3)
	look(16, 4)
	look(12, 4)
	look(0, 4)
	look(16, 4)
	if len(o.deals) != 1 {
		t.Errorf("%d deals are remembered", len(o.deals))
	}
}
