package graph

import (
	"slices"

	"github.com/graphd/graphd/internal/expression"
)

// checkTypes compiles every expression against the types of what it reads, in
// plan order, so that a node's type is known before anyone reads it. What is
// not known (in a cycle, or wrong itself) is any, so that one mistake is not
// reported twice.
func (c *compiler) checkTypes(order []int) {
	scope := c.typedNames(order)
	c.addLate(scope)
	for at, i := range order {
		u := &c.units[i]
		c.restsOn(u)
		scope.ofNode(u)
		scope.late = c.lateNames(u)
		for k := range u.sources {
			c.checkSource(&u.sources[k], scope)
		}
		c.checkResult(u)
		scope.all[len(c.inputs)+at].Type = u.typ
		c.checkUntil(u, scope)
	}
}

func (c *compiler) checkSource(s *source, scope *names) {
	if s.broken {
		return
	}
	compile := expression.Compile
	if s.Condition {
		compile = expression.CompileBool
	}
	program, err := scope.compile(s.Expr.Text, compile)
	if err != nil {
		c.reportExpression(s.Expr, err)
		return
	}
	s.program = program
}

// checkResult asks for the type of a node's value, unless its declaration or all its terms are wrong.
func (c *compiler) checkResult(u *unit) {
	right := func(p *expression.Program) bool { return p != nil }
	programs := u.programs()
	if u.kind != nil && !c.g.Unsure[u.decl.Name] && (len(programs) == 0 || slices.ContainsFunc(programs, right)) {
		u.typ = u.kind.Result(u.decl.Config, programs)
	}
}

// programs are those of the terms; nil for one that is wrong.
func (u *unit) programs() []*expression.Program {
	programs := make([]*expression.Program, len(u.sources))
	for k := range u.sources {
		programs[k] = u.sources[k].program
	}
	return programs
}

// guardSource is the guard on its way into the plan: names are the indexes, by
// declaration, of what it reads.
type guardSource struct {
	names   []int
	program *expression.Program
}

// findGuardNames finds what the guard reads; nil when there is no guard, or none that parses.
func (c *compiler) findGuardNames(loose *names) *guardSource {
	e := c.g.Reactor.Guard
	if e.IsZero() {
		return nil
	}
	program, err := loose.compile(e.Text, expression.Compile)
	if err != nil {
		c.reportExpression(e, err)
		return nil
	}
	g := &guardSource{}
	seen := make(map[int]bool)
	for _, r := range program.Reads() {
		if r.Name < len(c.inputs) && !seen[r.Name] {
			c.refuseSide(e.Pos, r.Name)
		}
		if !seen[r.Name] {
			seen[r.Name] = true
			g.names = append(g.names, r.Name)
		}
	}
	return g
}

// checkGuard compiles the guard over a scope of just the names it reads: it is
// asked before every epoch, and then only those values have to be looked up.
func (c *compiler) checkGuard(g *guardSource, order []int) {
	if g == nil {
		return
	}
	all := c.typedNames(order).all
	position := positions(order)
	scope := expression.Scope{Clock: true, Epoch: true, For: c.caller}
	scope.Arrives = func(name int) bool { return g.names[name] < len(c.inputs) }
	for k, i := range g.names {
		if n := i - len(c.inputs); n >= 0 && n < len(c.units) {
			g.names[k] = len(c.inputs) + position[n]
		}
		scope.Names = append(scope.Names, all[g.names[k]])
	}
	program, err := expression.CompileBool(c.g.Reactor.Guard.Text, scope)
	if err != nil {
		c.reportExpression(c.g.Reactor.Guard, err)
		return
	}
	g.program = program
}

// positions inverts an order: by declaration index, the place in the plan.
func positions(order []int) []int {
	position := make([]int, len(order))
	for at, i := range order {
		position[i] = at
	}
	return position
}

// eventOf resolves a node's event flag: as declared, else whether events matter
// to anything it rests on (M16).
func (u *unit) eventOf() bool {
	if u.decl.Event != nil {
		return *u.decl.Event
	}
	return u.onEvent
}
