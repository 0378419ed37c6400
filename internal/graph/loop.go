package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/graph/internal/order"
	"github.com/graphd/graphd/internal/spec"
)

// Codes of the mistakes that declared loops can have.
const (
	// CodePartialLoop is a loop that leaves out nodes of its circle.
	CodePartialLoop = "partial_loop"
	// CodeDecorativeLoop is a loop with a node that does not come of itself.
	CodeDecorativeLoop = "decorative_loop"
	// CodeLoopWithoutStart is a node that needs, in the first iteration, what comes after it.
	CodeLoopWithoutStart = "loop_without_start"
)

// ring is a loop on its way into the plan.
type ring struct {
	decl  *spec.Loop
	units []int // by declaration, in the order in which they run
	until source
	deps  []dependency // what until reads beside the loop's own nodes
}

// findLoops fills in which nodes run in which loop.
func (c *compiler) findLoops() {
	for k := range c.g.Loops {
		r := &ring{decl: &c.g.Loops[k]}
		c.rings = append(c.rings, r)
		for _, n := range r.decl.Nodes {
			at, known := c.index[n.Name]
			switch i := at - len(c.inputs); {
			case !known || at >= c.varsIndex():
				c.tell(n.Pos, spec.CodeUnknownName, "there is no node %s to run in the loop %s; declare it or "+
					"correct the name", n.Name, r.decl.Name)
			case i < 0:
				c.tell(n.Pos, codeNotANode, "%s is an accumulator, and a loop is made of nodes; take it out: "+
					"nodes of the loop may read it", n.Name)
			case c.units[i].ring != nil:
				c.tell(n.Pos, spec.CodeConflict, "%s runs in the loop %s already; make one loop of both, or take "+
					"it out", n.Name, c.units[i].ring.decl.Name)
			default:
				c.units[i].ring, c.units[i].turn = r, len(r.units)
				r.units = append(r.units, i)
			}
		}
	}
}

// findUntils fills in what the conditions of loops rest on.
func (c *compiler) findUntils(loose *names) {
	for _, r := range c.rings {
		r.until.Term = spec.Term{Expr: r.decl.Until, Condition: true}
		if r.until.broken = r.decl.Until.IsZero(); r.until.broken {
			continue
		}
		loose.ofLoop()
		program, err := loose.compile(r.decl.Until.Text, expression.Compile)
		if err != nil {
			r.until.broken = true
			c.reportExpression(r.decl.Until, err)
			continue
		}
		for _, read := range program.Reads() {
			switch {
			case read.Name >= c.varsIndex():
			case read.Name < len(c.inputs) && c.inputs[read.Name].JoinedBy != "":
				c.refuseSide(r.decl.Until.Pos, read.Name)
			case c.ringOf(read.Name) != r:
				r.deps = append(r.deps, dependency{from: read.Name, kind: edgeOf(read)})
			case read.Fresh:
				c.refuseFreshOfLoop(r.decl.Until, r, read.Name)
			}
		}
	}
	loose.ofNode(nil)
}

// ringOf is the loop of the node with an index, nil for one that is in none.
func (c *compiler) ringOf(name int) *ring {
	if n := name - len(c.inputs); n >= 0 && n < len(c.units) {
		return c.units[n].ring
	}
	return nil
}

func (c *compiler) refuseFreshOfLoop(e spec.Expr, r *ring, name int) {
	c.tell(e.Pos, spec.CodeConflict, "%s is in the loop %s, where nothing is fresh before the loop has ended; "+
		"compare its value instead", c.units[name-len(c.inputs)].decl.Name, r.decl.Name)
}

// regions are the units that run together, each loop as one, in the order of their first ones; and of each unit the
// number of its region.
func (c *compiler) regions() (regions [][]int, of []int) {
	of = make([]int, len(c.units))
	single := make([]int, len(c.units))
	known := make(map[*ring]int)
	for i := range c.units {
		r := c.units[i].ring
		k, seen := known[r]
		switch {
		case r == nil:
			single[i] = i
			k = len(regions)
			regions = append(regions, single[i:i+1])
		case !seen:
			k = len(regions)
			known[r] = k
			regions = append(regions, r.units)
		}
		of[i] = k
	}
	return regions, of
}

// rank gives every node its rank and returns the total order (M14), in which the nodes of a loop stand side by side;
// cycles are reported.
func (c *compiler) rank() []int {
	regions, of := c.regions()
	g := order.Graph{Under: make([][]int, len(regions)), Priority: make([]int, len(regions))}
	for k, units := range regions {
		g.Priority[k] = priorityOf("background")
		for _, i := range units {
			u := &c.units[i]
			g.Priority[k] = min(g.Priority[k], priorityOf(u.decl.Priority))
			for _, d := range u.deps {
				if n := d.from - len(c.inputs); n >= 0 && (u.ring == nil || of[n] != k) {
					g.Under[k] = append(g.Under[k], of[n])
				}
			}
		}
		if r := c.units[units[0]].ring; r != nil {
			for _, d := range r.deps {
				if n := d.from - len(c.inputs); n >= 0 {
					g.Under[k] = append(g.Under[k], of[n])
				}
			}
		}
	}
	total := make([]int, 0, len(c.units))
	for _, k := range g.Rank() {
		for _, i := range regions[k] {
			c.units[i].rank = g.RankOf(k)
			total = append(total, i)
		}
	}
	for _, cycle := range g.Cycles() {
		c.reportCycle(cycle, regions)
	}
	return total
}

// reportCycle reports regions that rest on each other.
func (c *compiler) reportCycle(cycle []int, regions [][]int) {
	var partial *ring
	names := make([]string, len(cycle))
	for k, n := range cycle {
		u := &c.units[regions[n][0]]
		if names[k] = u.decl.Name; u.ring != nil {
			names[k] = "loop " + u.ring.decl.Name
			partial = u.ring
		}
	}
	circle := strings.Join(names, " → ")
	if partial != nil {
		c.tell(partial.decl.Pos, CodePartialLoop, "the loop %s leaves out nodes that rest on it and that it rests "+
			"on: %s; list all nodes of the circle in it, in the order in which they are to run", partial.decl.Name,
			circle)
		return
	}
	c.tell(c.units[regions[cycle[0]][0]].decl.Pos, CodeCycle, "nodes rest on each other: %s; read one of them as of "+
		"the last epoch (delay), make a loop of them (loops), or remove one of these references", circle)
}

// checkLoops checks that loops are circles, and that they can begin.
func (c *compiler) checkLoops() {
	for i := range c.units {
		u := &c.units[i]
		c.refuseTimed(u.decl.Pos, "node "+u.decl.Name, u.decl.OnOverrun == onOverrunDegrade)
	}
	c.refuseTimed(c.g.Reactor.Pos, "epochs", c.g.Reactor.OnOverrun == onOverrunDegrade)
	for _, r := range c.rings {
		if len(r.units) > 0 {
			c.checkCircle(r)
			c.refuseTimed(r.decl.Pos, "loop "+r.decl.Name, r.decl.Budget > 0)
			for _, i := range r.units {
				c.checkInLoop(r, &c.units[i])
			}
		}
	}
}

func (c *compiler) checkCircle(r *ring) {
	under := make([][]int, len(r.units))
	for k, i := range r.units {
		if slices.ContainsFunc(c.units[i].sources, func(s source) bool { return s.broken }) {
			return // what cannot be read may close the circle
		}
		for _, d := range c.units[i].deps {
			if c.ringOf(d.from) == r {
				under[k] = append(under[k], c.units[d.from-len(c.inputs)].turn)
			}
		}
	}
	if odd, ok := order.Circle(under); !ok {
		name := c.units[r.units[odd]].decl.Name
		c.tell(r.decl.Pos, CodeDecorativeLoop, "not all nodes of the loop %s come of each other: nothing leads "+
			"from %s back to it over them; take it out, or leave the loop out where nothing rests on itself",
			r.decl.Name, name)
	}
}

// checkInLoop checks what a node of a loop cannot be, and that it needs nothing in the first iteration that only comes
// later in it.
func (c *compiler) checkInLoop(r *ring, u *unit) {
	if _, calls := u.decl.Config.(spec.CallingNode); calls {
		c.tell(u.decl.Pos, spec.CodeConflict, "%s calls out, and would do so in every iteration of the loop %s; take "+
			"it out: nodes of the loop may read it, and it may read them", u.decl.Name, r.decl.Name)
	}
	if u.decl.OnError == "last_good" || u.decl.OnError == "dead_letter" {
		c.tell(u.decl.Pos, spec.CodeConflict, "on_error: %s means an epoch, and %s runs in every iteration of the "+
			"loop %s; take fail_epoch, or skip: the value is absent in that iteration", u.decl.OnError, u.decl.Name,
			r.decl.Name)
	}
	for _, d := range u.deps {
		if c.ringOf(d.from) != r {
			continue
		}
		from := &c.units[d.from-len(c.inputs)]
		late := from.turn >= u.turn
		switch {
		case late && d.kind == afterEdge:
			c.tell(u.decl.Pos, CodeLoopWithoutStart, "%s comes after %s, which has no value when the loop %s "+
				"begins, so it never would; list %s before it", u.decl.Name, from.decl.Name, r.decl.Name,
				from.decl.Name)
		case late && d.kind == plainEdge && !slices.Contains(u.lenient, d.from):
			c.tell(u.decl.Pos, CodeLoopWithoutStart, "%s reads %s, which has no value when the loop %s begins; "+
				"say what it begins with, as in %s ?? 0, or list %s before it", u.decl.Name, from.decl.Name,
				r.decl.Name, from.decl.Name, from.decl.Name)
		}
	}
	if u.decl.OnOverrun == onOverrunDegrade {
		c.tell(u.decl.Pos, spec.CodeConflict, "on_overrun: degrade means an epoch, and %s runs in every iteration of "+
			"the loop %s; give the loop a budget", u.decl.Name, r.decl.Name)
	}
	for i := range u.sources {
		if p := u.sources[i].program; p != nil && p.Memories() > 0 {
			c.tell(u.sources[i].Expr.Pos, spec.CodeConflict, "%s remembers values of epochs, and %s runs in every "+
				"iteration of the loop %s; let a node beside the loop remember, and read that", p.Remembers(),
				u.decl.Name, r.decl.Name)
		}
	}
}

// restsOn fills in which inputs a unit rests on, directly or not, and whether events matter to it; the nodes of a loop
// rest on what any of them rests on. What it rests on comes before it in the plan.
func (c *compiler) restsOn(u *unit) {
	units, deps := []*unit{u}, []dependency(nil)
	if r := u.ring; r != nil {
		if first := &c.units[r.units[0]]; u != first {
			u.inputs, u.onEvent = first.inputs, first.onEvent
			return
		}
		units, deps = units[:0], r.deps
		for _, i := range r.units {
			units = append(units, &c.units[i])
		}
	}
	u.inputs = bitset.New(len(c.inputs))
	for _, each := range units {
		for _, d := range append(deps, each.deps...) {
			switch n := d.from - len(c.inputs); {
			case n < 0:
				u.onEvent = u.onEvent || c.inputs[d.from].Event
				u.inputs.Set(d.from)
			case u.ring == nil || c.units[n].ring != u.ring:
				u.onEvent = u.onEvent || c.units[n].onEvent
				u.inputs.Add(c.units[n].inputs)
			}
		}
	}
}

// checkUntil compiles the condition of a loop, once the types of its nodes are known.
func (c *compiler) checkUntil(u *unit, scope *names) {
	if r := u.ring; r != nil && u.turn == len(r.units)-1 {
		scope.ofLoop()
		c.checkSource(&r.until, scope)
	}
}

// addLoops makes the loops of the plan; their nodes are there.
func (c *compiler) addLoops(p *Plan, position []int, links [][]int32) {
	slices.SortFunc(c.rings, func(a, b *ring) int { return cmp.Compare(position[a.units[0]], position[b.units[0]]) })
	for k, r := range c.rings {
		first := position[r.units[0]]
		p.loops = append(p.loops, loop{name: r.decl.Name, first: first, n: len(r.units), most: r.decl.MaxIterations,
			until: r.until.program, onNot: r.decl.OnNoConvergence,
			budget: int64(r.decl.Budget)})
		l := &p.loops[k]
		for _, i := range r.units {
			u := &c.units[i]
			p.steps[position[i]].loop = int32(k + 1)
			p.nodes[position[i]].Loop = r.decl.Name
			for s := range u.sources {
				l.read(p, u.sources[s].program)
			}
			for _, d := range u.deps {
				if n := d.from - len(c.inputs); n >= 0 {
					l.readAt(p, len(p.inputs)+position[n])
				} else {
					l.readAt(p, d.from)
				}
			}
		}
		if l.until != nil {
			l.read(p, l.until)
			l.need(p)
			p.addReads(l.until, itself)
			if l.until.AsksEpoch() {
				p.runAlways(first, len(p.nodes))
			}
			c.connectUntil(p, r, first, position, links)
		}
		slices.Sort(l.reads)
		l.reads = slices.Compact(l.reads)
	}
}

// connectUntil notes the edges of the condition of a loop.
func (c *compiler) connectUntil(p *Plan, r *ring, first int, position []int, links [][]int32) {
	for _, d := range r.deps {
		e := edge{From: c.nameAt(d.from), To: c.units[r.units[len(r.units)-1]].decl.Name, Kind: untilEdge}
		if n := d.from - len(c.inputs); n >= 0 {
			links[position[n]] = append(links[position[n]], int32(first))
		} else {
			p.consumers[d.from].Set(first)
		}
		if !slices.Contains(p.edges, e) {
			p.edges = append(p.edges, e)
		}
	}
}

// nameAt is the name of an input or node, by declaration.
func (c *compiler) nameAt(i int) string {
	if n := i - len(c.inputs); n >= 0 {
		return c.units[n].decl.Name
	}
	return c.inputs[i].Name
}

// standsAt is where in the plan what makes a unit due is noted: at the first node of its loop.
func (c *compiler) standsAt(u *unit, at int, position []int) int {
	if u.ring != nil {
		return position[u.ring.units[0]]
	}
	return at
}

// read notes what a program of the loop reads.
func (l *loop) read(p *Plan, program *expression.Program) {
	l.counting = l.counting || program.Iterates()
	for _, r := range program.Reads() {
		l.readAt(p, r.Name)
	}
}

func (l *loop) readAt(p *Plan, at int) {
	if n := at - len(p.inputs); n < l.first || n >= l.first+l.n {
		l.reads = append(l.reads, at)
	}
}

// print is what a loop adds to the fingerprints of its nodes.
func (c *compiler) print(text []byte, r *ring) []byte {
	text = fmt.Appendf(text, " loop %d %q %q", r.decl.MaxIterations, r.decl.Until.Text, r.decl.OnNoConvergence)
	for _, i := range r.units {
		text = fmt.Appendf(text, " %q", c.units[i].decl.Name)
	}
	if r.until.program != nil && slices.ContainsFunc(r.until.program.Reads(), func(read expression.Read) bool {
		return read.Name == c.varsIndex()
	}) {
		text = c.vars.AppendJSON(text)
	}
	return text
}
