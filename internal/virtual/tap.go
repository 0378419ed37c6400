package virtual

import "github.com/graphd/graphd/internal/accumulator"

// Tap is how a graph is driven that is one of several which make one together: it is told what the graph does on
// its way, and so can say in which order all of them would have done it as one.
type Tap interface {
	// Admit is given the handoff of an input in the place of the core.
	Admit(i int, h *accumulator.Handoff)
	// Fired is told after each epoch, with what it releases still in the core.
	Fired()
}

// Accumulator is input i's accumulator, which something is about to be folded into at the present instant.
func (g *Graph) Accumulator(i int) *accumulator.Core {
	g.drive.Touch(i)
	return g.accs[i]
}

// Stir has the graph come to rest when the instant ends, whatever comes of it: a table is handed over then.
func (g *Graph) Stir() { g.drive.Stir() }

// Take gives the core a handoff of input i that was made elsewhere, at the present instant and without firing.
func (g *Graph) Take(i int, h *accumulator.Handoff) {
	g.core.Admit(g.Now(), i, h, 0)
	g.drive.Stir()
}
