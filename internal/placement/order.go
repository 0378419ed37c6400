package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/checkpoint"
)

// slack is how far from its even share of a graph's shards a member may be, one part in so many.
const slack = 5

// Order says who is to have which unit. It is the rank of a unit's group; but the shards of a graph that are spread are
// dealt, so that each member has about as many as its weight says. Its zero value knows of no member. It is not safe
// for concurrent use.
type Order struct {
	places Places
	among  []candidate
	deals  map[checkpoint.ID][]string // who is to have which shard of a graph, of those that were asked for
}

// OrderOf is the order among members.
func OrderOf(places Places, members []checkpoint.Member) *Order {
	o := new(Order)
	o.see(members)
	o.place(places.Among(members))
	return o
}

// see takes in who is there.
func (o *Order) see(members []checkpoint.Member) {
	if among := candidates(members); !slices.Equal(among, o.among) {
		o.among, o.deals = among, nil
	}
}

// place takes in how units are placed.
func (o *Order) place(places Places) {
	o.places = places
	maps.DeleteFunc(o.deals, func(graph checkpoint.ID, to []string) bool { return places.Shards[graph] != len(to) })
}

// First is who is to have a unit, "" where there is nobody.
func (o *Order) First(id checkpoint.ID) string {
	if to := o.dealt(id); to != nil {
		return to[id.Shard]
	}
	return first(unitHash(o.places.Of(id).Group), o.among)
}

// Rank is the members that may be given a unit, by their ids, the one that is to have it first.
func (o *Order) Rank(id checkpoint.ID) []string {
	ids := rank(unitHash(o.places.Of(id).Group), o.among)
	if to := o.dealt(id); to != nil {
		i := slices.Index(ids, to[id.Shard])
		ids = slices.Insert(slices.Delete(ids, i, i+1), 0, to[id.Shard])
	}
	return ids
}

// dealt is who is to have which shard of the unit's graph, nil where it is not dealt.
func (o *Order) dealt(id checkpoint.ID) []string {
	graph := id.Whole()
	shards := o.places.Shards[graph]
	if id.Shard >= shards || len(o.among) == 0 || !o.places.spreads(graph) {
		return nil
	}
	to := o.deals[graph]
	if to == nil {
		if o.deals == nil {
			o.deals = map[checkpoint.ID][]string{}
		}
		to = deal(graph, shards, o.among)
		o.deals[graph] = to
	}
	return to
}

// deal is who of among is to have each shard of a graph, by number. Of all pairs of a shard and a member those that fit
// each other best come first, as in the rank of a shard alone; but a member is passed over that has its share and what
// the slack gives it, and one that has its share while the others lack as many as there are shards left. So each has
// its share within the slack, or one shard, and where a member comes or goes few of the others' move.
func deal(graph checkpoint.ID, shards int, among []candidate) []string {
	type pair struct {
		score         uint64
		shard, member int
	}
	pairs := make([]pair, 0, shards*len(among))
	for n := range shards {
		unit := unitHash(checkpoint.ID{Tenant: graph.Tenant, Graph: graph.Graph, Shard: n})
		for m := range among {
			pairs = append(pairs, pair{among[m].score(unit), n, m})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.shard, b.shard),
			cmp.Compare(among[a.member].id, among[b.member].id))
	})
	least, most, lack := shares(shards, among)
	to, has, left := make([]string, shards), make([]int, len(among)), shards
	for _, p := range pairs {
		m := p.member
		lacks := has[m] < least[m]
		if to[p.shard] != "" || has[m] == most[m] || !lacks && left == lack {
			continue
		}
		to[p.shard] = among[m].id
		has[m]++
		left--
		if lacks {
			lack--
		}
	}
	return to
}

// shares are the least and the most shards that each of among is to have, and how many the least are in all: never more
// than there are shards, as the most are never fewer.
func shares(shards int, among []candidate) (least, most []int, all int) {
	seats := 0
	for i := range among {
		seats += among[i].seats
	}
	for i := range among {
		even := shards * among[i].seats // of so many seats
		low := min(even/seats, up(even*(slack-1), seats*slack))
		least, most = append(least, low), append(most, max(up(even, seats), even*(slack+1)/(seats*slack)))
		all += low
	}
	return least, most, all
}

// up divides and rounds up.
func up(a, b int) int { return (a + b - 1) / b }
