package virtual

import "time"

// What only may be beside an input.
const (
	nothing = -1 - iota
	several
)

// touch notes that input i is given something, and says when.
func (g *Graph) touch(i int) time.Time {
	if g.only == nothing {
		g.only = i
	} else if g.only != i {
		g.only = several
	}
	return g.drive.Touch(i)
}

// through has the one boundary that input i has go straight through the core, where the graph is at rest. It is false,
// and has done nothing, where that is another's way.
func (g *Graph) through(i int) bool {
	if g.Tap != nil || g.err != nil || !g.drive.Rested() || g.drive.Open() {
		return false
	}
	now := g.Now()
	if now.IsZero() {
		return false
	}
	acc := g.accs[i]
	b, mark := acc.One()
	if b == nil {
		return false
	}
	done, stays := g.core.Through(now, i, b, mark)
	if !done {
		return false
	}
	if acc.OneGone(!stays); stays {
		g.lent[i]++
	}
	g.drive.Passed(i)
	g.hand()
	g.look()
	if g.core.DeadLettersPending() > 0 {
		g.letters = append(g.letters, g.core.DrainDeadLetters()...)
	}
	return true
}
