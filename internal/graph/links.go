package graph

// Links are the plan's edges by name, from what is read to the node that reads it.
func (p *Plan) Links(each func(from, to string)) {
	for _, e := range p.edges {
		each(e.From, e.To)
	}
}

// RunsForeign reports whether some node runs somebody else's code.
func (p *Plan) RunsForeign() bool { return p.foreign }

// GuardReads are the names of the inputs and nodes that the guard reads; nil without a guard.
func (p *Plan) GuardReads() []string {
	if p.guard == nil {
		return nil
	}
	names := make([]string, len(p.guard.names))
	for i, name := range p.guard.names {
		names[i] = p.nameOf(name)
	}
	return names
}
