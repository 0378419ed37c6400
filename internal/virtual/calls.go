package virtual

import (
	"context"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/webcall"
	"github.com/graphd/graphd/internal/outbound"
)

// answer answers what a node calls for.
func (g *Graph) answer(node int, r *kind.Request) kind.Answer {
	if g.Calls == nil {
		return kind.Answer{Code: webcall.CodeNoCalls, Text: "nothing is called here: run with --calls to call what " +
			"the node names, or say in a test what it answers, as a step answers: { " +
			g.unit.Plan.Nodes()[node].Name + ": { body: … } }"}
	}
	return g.Calls(node, r)
}

// Clients makes calls for graphs of one plan. Safe for concurrent use.
type Clients struct {
	ctx   context.Context // of the run: it lives no longer
	nodes map[int]kind.Client
}

// NewClients makes the clients of a plan's nodes, which dial through guard.
func NewClients(ctx context.Context, p *graph.Plan, guard *outbound.Guard) *Clients {
	c := &Clients{ctx: ctx, nodes: map[int]kind.Client{}}
	for _, n := range p.Callers() {
		c.nodes[n.Node] = n.Open(guard)
	}
	return c
}

// Answer calls, for [Graph.Calls].
func (c *Clients) Answer(node int, r *kind.Request) kind.Answer {
	a, err := c.nodes[node].Call(c.ctx, r)
	if err != nil {
		return kind.Answer{Code: webcall.CodeFailed, Text: err.Error()}
	}
	return a
}

// Close lets connections go.
func (c *Clients) Close() {
	for _, n := range c.nodes {
		n.Close()
	}
}
