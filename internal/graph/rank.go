package graph

import (
	"cmp"
	"slices"
	"strings"
)

// rank gives every node its rank and returns the total order (rank, priority,
// declaration index), as declaration indexes (M14). What is in a cycle, or behind
// one, has no rank and comes last.
func (c *compiler) rank() []int {
	waits := make([]int, len(c.units)) // dependencies on nodes that have no rank yet
	dependents := make([][]int, len(c.units))
	var ready []int
	for i := range c.units {
		for _, on := range c.nodesUnder(i) {
			waits[i]++
			dependents[on] = append(dependents[on], i)
		}
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		c.units[i].ranked = true
		for _, d := range dependents[i] {
			c.units[d].rank = max(c.units[d].rank, c.units[i].rank+1)
			if waits[d]--; waits[d] == 0 {
				ready = append(ready, d)
			}
		}
	}
	order := make([]int, len(c.units))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &c.units[a], &c.units[b]
		if x.ranked != y.ranked {
			if x.ranked {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.rank, y.rank),
			cmp.Compare(priorityOf(x.decl.Priority), priorityOf(y.decl.Priority)), cmp.Compare(a, b))
	})
	return order
}

// priorityOf is smaller for what goes first among independent nodes (M24).
func priorityOf(name string) int {
	switch name {
	case "high":
		return 0
	case "low":
		return 2
	case "background":
		return 3
	default:
		return 1
	}
}

// nodesUnder lists the nodes that node i rests on directly, once for each edge.
func (c *compiler) nodesUnder(i int) []int {
	var under []int
	for _, d := range c.units[i].deps {
		if n := d.from - len(c.inputs); n >= 0 {
			under = append(under, n)
		}
	}
	return under
}

// reportCycles reports one cycle, a shortest one, for each set of nodes that
// rest on each other.
func (c *compiler) reportCycles() {
	feeds := make([][]int, len(c.units)) // the edges the other way round
	for i := range c.units {
		for _, on := range c.nodesUnder(i) {
			feeds[on] = append(feeds[on], i)
		}
	}
	done := make([]bool, len(c.units))
	for i := range c.units {
		if c.units[i].ranked || done[i] {
			continue
		}
		down := walk(i, func(n int) []int { return feeds[n] })
		cycle := pathTo(down, i)
		if cycle == nil {
			continue // behind a cycle, not in one
		}
		up := walk(i, c.nodesUnder)
		for n := range c.units {
			_, below := down[n]
			_, above := up[n]
			done[n] = done[n] || below && above
		}
		names := make([]string, len(cycle))
		for k, n := range cycle {
			names[k] = c.units[n].decl.Name
		}
		c.report(c.units[i].decl.Pos, CodeCycle,
			"nodes rest on each other: "+strings.Join(names, " → ")+"; remove one of these references", "")
	}
}

// walk finds what can be reached from start, breadth first, and from where each
// was reached first. start itself is in it only when a way leads back.
func walk(start int, next func(int) []int) map[int]int {
	from := make(map[int]int)
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, n := range next(queue[0]) {
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
