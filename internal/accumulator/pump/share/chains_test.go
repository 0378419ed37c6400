package share

import (
	"math/rand/v2"
	"testing"
)

// M49: a shard comes past each of its own events once and past none of the others', wherever it begins, and chains that
// are made anew have nothing of those before.
func TestM49ChainsAreTheEventsOfEachShard(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var c Chains
	for range 300 {
		of := 1 + r.IntN(7)
		shards := make([]int32, r.IntN(40))
		for i := range shards {
			shards[i] = int32(r.IntN(of))
		}
		c.Make(shards, of)
		for shard := range of {
			for from := range len(shards) + 1 {
				want := from
				for want < len(shards) && int(shards[want]) != shard {
					want++
				}
				if got := c.Next(shards, shard, from); got != want {
					t.Fatalf("shard %d of %v from %d: got %d, want %d", shard, shards, from, got, want)
				}
			}
		}
		if !c.Made() {
			t.Fatalf("none were made of %v", shards)
		}
	}
	if c.Clear(); c.Made() {
		t.Error("they are there although they were cleared")
	}
}
