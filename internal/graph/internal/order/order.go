// Package order puts the nodes of a graph into their total order, and finds what cannot be
// ordered (M14). Nodes are their numbers, by declaration.
package order

import (
	"cmp"
	"slices"
)

// Graph is nodes that rest on each other.
type Graph struct {
	// Under are by node those that it rests on directly, once for each edge.
	Under [][]int
	// Priority is by node smaller for what goes first among independent ones (M24).
	Priority []int

	rank   []int
	ranked []bool
}

// Rank gives every node its rank, the length of the longest path to it, and returns the total
// order (rank, priority, number). What is in a cycle, or behind one, has no rank and comes last.
func (g *Graph) Rank() []int {
	n := len(g.Under)
	g.rank, g.ranked = make([]int, n), make([]bool, n)
	waits := make([]int, n) // dependencies on nodes that have no rank yet
	feeds := g.feeds()
	var ready []int
	for i := range n {
		if waits[i] = len(g.Under[i]); waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		g.ranked[i] = true
		for _, d := range feeds[i] {
			g.rank[d] = max(g.rank[d], g.rank[i]+1)
			if waits[d]--; waits[d] == 0 {
				ready = append(ready, d)
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if g.ranked[a] != g.ranked[b] {
			if g.ranked[a] {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(g.rank[a], g.rank[b]), cmp.Compare(g.Priority[a], g.Priority[b]), cmp.Compare(a, b))
	})
	return order
}

// RankOf is the rank that [Graph.Rank] has found.
func (g *Graph) RankOf(i int) int { return g.rank[i] }

// Cycles is one cycle, a shortest one with its first node at both ends, for each set of nodes
// that rest on each other. Rank comes before.
func (g *Graph) Cycles() [][]int {
	var cycles [][]int
	feeds := g.feeds()
	done := make([]bool, len(g.Under))
	for i := range g.Under {
		if g.ranked[i] || done[i] {
			continue
		}
		down := walk(i, feeds)
		cycle := pathTo(down, i)
		if cycle == nil {
			continue // behind a cycle, not in one
		}
		up := walk(i, g.Under)
		for n := range g.Under {
			_, below := down[n]
			_, above := up[n]
			done[n] = done[n] || below && above
		}
		cycles = append(cycles, cycle)
	}
	return cycles
}

// Circle says whether nodes all rest on each other, under being by node those that it rests on; if not, odd is one that
// does not come of itself over the others, or not over all of them.
func Circle(under [][]int) (odd int, ok bool) {
	g := Graph{Under: under}
	down, up := walk(0, g.feeds()), walk(0, under)
	for n := range under {
		_, below := down[n]
		_, above := up[n]
		if !below || !above {
			return n, false
		}
	}
	return 0, true
}

// feeds are the edges the other way round.
func (g *Graph) feeds() [][]int {
	feeds := make([][]int, len(g.Under))
	for i, under := range g.Under {
		for _, on := range under {
			feeds[on] = append(feeds[on], i)
		}
	}
	return feeds
}

// walk finds what can be reached from start, breadth first, and from where each
// was reached first. start itself is in it only when a way leads back.
func walk(start int, next [][]int) map[int]int {
	from := make(map[int]int)
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, n := range next[queue[0]] {
			if _, seen := from[n]; !seen {
				from[n] = queue[0]
				queue = append(queue, n)
			}
		}
	}
	return from
}

// pathTo is the shortest way from start back to itself, both ends included; nil when there is none.
func pathTo(from map[int]int, start int) []int {
	if _, back := from[start]; !back {
		return nil
	}
	path := []int{start}
	for n := from[start]; n != start; n = from[n] {
		path = append(path, n)
	}
	path = append(path, start)
	slices.Reverse(path)
	return path
}
