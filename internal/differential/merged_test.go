package differential

import (
	"cmp"
	"slices"
)

// inputLine is a line of an input.
type inputLine struct {
	timedLine
	input int
}

// merged are the lines of all inputs in the order of their times.
func (p *clockPlan) merged() (all []inputLine) {
	for i := range p.lines {
		for _, l := range p.lines[i] {
			all = append(all, inputLine{l, i})
		}
	}
	slices.SortFunc(all, func(a, b inputLine) int { return cmp.Compare(a.at, b.at) })
	return all
}
