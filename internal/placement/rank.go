package placement

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/checkpoint"
)

// MaxCapacity is the greatest weight of a member. Weights are whole numbers, and each counts as
// so many seats: the order is the same on every machine, which it would not be by logarithms.
const MaxCapacity = 100

// ValidateCapacity refuses what is no weight.
func ValidateCapacity(capacity int) error {
	if capacity < 0 || capacity > MaxCapacity {
		return fmt.Errorf("capacity %d: give 0, which stands by, to %d", capacity, MaxCapacity)
	}
	return nil
}

// candidate is a member that may be given units.
type candidate struct {
	id    string
	hash  uint64
	seats int
}

// candidates are the members that may be given anything now. Of the members with a capacity none that drains is among
// them; where there is none of these it is those without capacity, which stand by; and where there is none but who
// drains, those. Who leaves, or has not renewed its lease in time, is never.
func candidates(members []checkpoint.Member) []candidate {
	var tiers [3][]candidate
	for i := range members {
		m := &members[i]
		if m.Leaving || m.Expired {
			continue
		}
		tier := 0
		switch {
		case m.Drained:
			tier = 2
		case m.Capacity <= 0:
			tier = 1
		}
		seats := min(max(m.Capacity, 1), MaxCapacity)
		tiers[tier] = append(tiers[tier], candidate{m.ID, hash(m.ID), seats})
	}
	for _, tier := range tiers {
		if len(tier) > 0 {
			return tier
		}
	}
	return nil
}

// rank is the members that may be given a unit, by their ids, the one that is to have it first.
func rank(unit uint64, among []candidate) []string {
	type scored struct {
		id    string
		score uint64
	}
	all := make([]scored, len(among))
	for i := range among {
		all[i] = scored{among[i].id, among[i].score(unit)}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	return ids
}

// first is the first of the rank alone, "" when there is none.
func first(unit uint64, among []candidate) (id string) {
	var best uint64
	for i := range among {
		if s := among[i].score(unit); id == "" || s > best || s == best && among[i].id < id {
			id, best = among[i].id, s
		}
	}
	return id
}

// score is the best of the member's seats.
func (c *candidate) score(unit uint64) (best uint64) {
	both := mix(unit ^ mix(c.hash))
	for seat := range c.seats {
		best = max(best, mix(both+uint64(seat)*0x9e3779b97f4a7c15))
	}
	return best
}

func unitHash(unit checkpoint.ID) uint64 {
	return hash(unit.Tenant, unit.Graph, strconv.Itoa(unit.Shard))
}

// hash is of words that no other list of words runs together to.
func hash(words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0}) // in no name
	}
	return mix(h.Sum64())
}

// mix spreads each bit over all: the finisher of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
