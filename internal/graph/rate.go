package graph

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/spec"
)

// A fixed_rate says when its nodes run (M23): at the ticks of its cadence, each of them, on what there is then. In an
// epoch between two ticks they keep what they had, and one that is due is owed the run, as what an epoch had no time
// for is: so it is not forgotten where the lane is gone by the time that it ticks (0347).

// Rate is a lane of a plan that has a cadence.
type Rate struct {
	Name    string
	Period  time.Duration
	Overrun string // what becomes of ticks that it comes too late for
}

// Rates are the lanes that have a cadence, in declaration order. The slice is the plan's: read only.
func (p *Plan) Rates() []Rate { return p.rates }

// checkPaced checks what a node of a lane with a cadence cannot be.
func (c *compiler) checkPaced(u *unit) {
	at, name := u.decl.Lane.Pos, u.decl.Name
	if u.ring != nil {
		c.tell(at, spec.CodeConflict, "%s runs in the loop %s, whose nodes run in one epoch; take out the lane", name,
			u.ring.decl.Name)
	}
	for k := range u.sources {
		program := u.sources[k].program
		if program != nil && slices.ContainsFunc(program.Reads(), func(r expression.Read) bool { return r.Fresh }) {
			c.tell(at, spec.CodeConflict, "fresh(x) asks what has come in this epoch, and nothing comes in a tick of "+
				"%s; let a node without a lane ask, and read that", u.decl.Lane.Name)
			return
		}
	}
}

// addRate gives the plan a lane with a cadence, and answers its number, counted from 1.
func (p *Plan) addRate(l *spec.Lane) uint8 {
	p.rates = append(p.rates, Rate{Name: l.Name, Period: l.Period, Overrun: l.OverrunPolicy})
	return uint8(len(p.rates))
}

// addPaced notes which nodes run at the ticks of each lane.
func (p *Plan) addPaced() {
	p.paced = make([]bitset.Set, len(p.rates))
	for k := range p.paced {
		p.paced[k] = bitset.New(len(p.nodes))
		for i := range p.steps {
			if int(p.steps[i].rate) == k+1 {
				p.paced[k].Set(i)
			}
		}
	}
}

// tickLanes makes the nodes due whose lanes tick in this epoch.
func (r *Result) tickLanes(ticks uint64) {
	r.ticks = ticks
	for k := range r.plan.paced {
		if ticks>>k&1 != 0 {
			r.due.Add(r.plan.paced[k])
		}
	}
}

// waits reports whether node i, which is due, is of a lane that does not tick in this epoch. It is then owed the run.
func (r *Result) waits(i int) bool {
	k := r.plan.steps[i].rate
	if k == 0 || r.ticks>>(k-1)&1 != 0 {
		return false
	}
	r.left.Set(i)
	return true
}

// numberLaps notes at which tick in a row, of its own lane or of one that it rests on, a node sees what there was
// before the first: one that rests on a node of another lane sees at its own tick what that has come to at one before.
func (p *Plan) numberLaps() {
	for i := range p.steps { // consumers are behind what they rest on
		s := &p.steps[i]
		if s.rate != 0 {
			s.lap = max(s.lap, 1)
		}
		for _, to := range p.links[s.firstLink:s.lastLink] {
			c, lap := &p.steps[to], s.lap
			if c.rate != 0 && c.rate != s.rate {
				lap++
			}
			c.lap = max(c.lap, lap)
		}
	}
}

// Owes are the lanes with a cadence, by bit, that a node waits for: it was due in an epoch before. From lap 2 on those
// count alone that see only then what there was before the first.
func (p *Plan) Owes(st *State, lap int) (lanes uint64) {
	for k, paced := range p.paced {
		for _, set := range []*bitset.Set{st.owed(), st.fresh()} {
			for i := range paced.All() {
				if set != nil && set.Has(i) && int(p.steps[i].lap) >= lap {
					lanes |= 1 << k
				}
			}
		}
	}
	return lanes
}

// ratesJSON describes the lanes that have a cadence.
func (p *Plan) ratesJSON() (list []rateJSON) {
	for k, rate := range p.rates {
		doc := rateJSON{Name: rate.Name, Nodes: []string{}, Period: rate.Period.String(), OverrunPolicy: rate.Overrun}
		for i := range p.paced[k].All() {
			doc.Nodes = append(doc.Nodes, p.nodes[i].Name)
		}
		list = append(list, doc)
	}
	return list
}
