package virtual

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/webcall"
	"github.com/graphd/graphd/internal/outbound"
)

// Answerer answers what a node calls for, until a time at most; zero is no bound. inTime is false when that has passed.
type Answerer func(node int, r *kind.Request, until time.Time) (a kind.Answer, inTime bool)

// answer answers what a node calls for. All that one epoch calls for has the time of an epoch together, as it has in a
// daemon.
func (g *Graph) answer(node int, r *kind.Request) (a kind.Answer, inTime bool) {
	if g.Calls == nil {
		return kind.Answer{Code: webcall.CodeNoCalls, Text: "nothing is called here: run with --calls to call what " +
			"the node names, or say in a test what it answers, as a step answers: { " +
			g.unit.Plan.Nodes()[node].Name + ": { body: … } }"}, true
	}
	if limit := g.core.Config().EpochTimeout; limit > 0 && g.calling != g.core.Epoch() {
		g.calling, g.until = g.core.Epoch(), time.Now().Add(limit)
	}
	return g.Calls(node, r, g.until)
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
func (c *Clients) Answer(node int, r *kind.Request, until time.Time) (a kind.Answer, inTime bool) {
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if !until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, until)
	}
	defer cancel()
	a, err := c.nodes[node].Call(ctx, r)
	switch {
	case err == nil:
		return a, true
	case ctx.Err() != nil && c.ctx.Err() == nil:
		return a, false
	}
	return kind.Answer{Code: webcall.CodeFailed, Text: err.Error()}, true
}

// Close lets connections go.
func (c *Clients) Close() {
	for _, n := range c.nodes {
		n.Close()
	}
}
