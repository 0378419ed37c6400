package order

import "slices"

// visit is a node on the way, and how many of those that it rests on have been looked at.
type visit struct{ node, next int }

// Parts are the sets of nodes that all rest on each other, under being by node those that it rests on. A node that
// rests on none that rests on it is one by itself. Each part comes behind those that it rests on. It takes as many
// steps as there are nodes and edges.
func Parts(under [][]int) (parts [][]int) {
	// met is when a node was met, from 1, and back the first of those on the stack that it leads back to.
	met, back, open := make([]int, len(under)), make([]int, len(under)), make([]bool, len(under))
	var stack []int // nodes that have been met and are in no part yet
	now := 0
	for start := range under {
		if met[start] > 0 {
			continue
		}
		for way := []visit{{start, 0}}; len(way) > 0; {
			v := &way[len(way)-1]
			i := v.node
			if met[i] == 0 {
				now++
				met[i], back[i], open[i], stack = now, now, true, append(stack, i)
			}
			if v.next < len(under[i]) {
				on := under[i][v.next]
				v.next++
				if met[on] == 0 {
					way = append(way, visit{on, 0})
				} else if open[on] {
					back[i] = min(back[i], met[on])
				}
				continue
			}
			if way = way[:len(way)-1]; len(way) > 0 {
				above := way[len(way)-1].node
				back[above] = min(back[above], back[i])
			}
			if back[i] < met[i] {
				continue
			}
			first := len(stack) - 1
			for stack[first] != i {
				first--
			}
			for _, n := range stack[first:] {
				open[n] = false
			}
			parts = append(parts, slices.Clone(stack[first:]))
			stack = stack[:first]
		}
	}
	return parts
}
