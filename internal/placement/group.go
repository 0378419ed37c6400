package placement

import (
	"cmp"
	"slices"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Link is a way from one unit to another that it feeds.
type Link struct{ From, To checkpoint.ID }

// Place is where a unit stands among those that it is linked with.
type Place struct {
	// Group is the least of them all: what they are ranked by, so that one daemon has them all.
	Group checkpoint.ID
	// Depth is how many units are before it on the longest way to it.
	Depth int
}

// Places say which units one daemon is to have together. The zero value keeps the shards of each graph together, and
// nothing else.
type Places struct {
	// Linked are the graphs that feed each other, by their first units. All shards of one are with it.
	Linked map[checkpoint.ID]Place
	// Spread has the shards of a graph that is not linked placed each by itself.
	Spread bool
	// Shards are how many shards the graphs have that have several, by their first units.
	Shards map[checkpoint.ID]int
}

// Among are the places among the members of a roster: shards are spread where each of these takes requests of the
// others (M53). What runs at one that does not, nobody else could answer for.
func (p Places) Among(members []checkpoint.Member) Places {
	p.Spread = p.Spread && !slices.ContainsFunc(members, func(m checkpoint.Member) bool {
		return m.Peer == "" && !m.Expired
	})
	return p
}

// Of is where a unit stands.
func (p *Places) Of(id checkpoint.ID) Place {
	whole := id.Whole()
	if place, linked := p.Linked[whole]; linked {
		return place
	}
	if p.Spread {
		return Place{Group: id}
	}
	return Place{Group: whole}
}

// spreads says that the shards of a graph are placed each by itself.
func (p *Places) spreads(graph checkpoint.ID) bool {
	_, linked := p.Linked[graph]
	return p.Spread && !linked
}

// Groups puts the units that feed each other together. What has no link is not in it: it is a
// group of its own. The links form no cycle.
func Groups(links []Link) map[checkpoint.ID]Place {
	if len(links) == 0 {
		return nil
	}
	parent := map[checkpoint.ID]checkpoint.ID{}
	var root func(id checkpoint.ID) checkpoint.ID
	root = func(id checkpoint.ID) checkpoint.ID {
		up, ok := parent[id]
		if !ok || up == id {
			parent[id] = id
			return id
		}
		top := root(up)
		parent[id] = top
		return top
	}
	into := map[checkpoint.ID][]checkpoint.ID{}
	for _, l := range links {
		a, b := root(l.From), root(l.To)
		if Compare(b, a) < 0 {
			a, b = b, a
		}
		parent[b] = a
		into[l.To] = append(into[l.To], l.From)
	}
	depths := map[checkpoint.ID]int{}
	var depth func(id checkpoint.ID) int
	depth = func(id checkpoint.ID) int {
		if d, known := depths[id]; known {
			return d
		}
		depths[id] = 0 // a cycle, which there is not, would end here
		d := 0
		for _, from := range into[id] {
			d = max(d, depth(from)+1)
		}
		depths[id] = d
		return d
	}
	places := make(map[checkpoint.ID]Place, len(parent))
	for id := range parent {
		places[id] = Place{Group: root(id), Depth: depth(id)}
	}
	return places
}

// Compare orders units by tenant, graph and shard.
func Compare(a, b checkpoint.ID) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Graph, b.Graph), cmp.Compare(a.Shard, b.Shard))
}
