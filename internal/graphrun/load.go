package graphrun

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

// load takes the graph from the store and builds a run from its last checkpoint.
func (g *Graph) load(ctx context.Context, t *lease.Term) (*life.Run, error) {
	head, lost, err := g.acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire the graph: %w", err)
	}
	g.outlived = append(g.outlived, lost...)
	if err := g.absolve(ctx, &head); err != nil {
		g.survived(head.Fence, nil)
		return nil, err
	}
	g.WriteRecovery()
	g.show(func() { g.last.Incarnation = head.Incarnation })
	if head.UncleanStarts > 1 {
		g.recordRecovery(checkpoint.RecoveryEvent{At: time.Now(), Graph: g.ref.Name, Component: "graph",
			Kind: "unclean_start", Attempt: head.UncleanStarts - 1,
			Reason: fmt.Sprintf(
				"the process before did not stop cleanly; the graph goes on from its checkpoint of epoch %d",
				head.Epoch),
			Outcome: "restarted", Incarnation: head.Incarnation})
	}
	if err := quarantined(&head); err != nil {
		return nil, err
	}
	r, err := life.New(ctx, g.shared(), head, t)
	if err != nil {
		g.survived(head.Fence, err) // what cannot be opened or read has crashed nothing
		return nil, err
	}
	routes := r.Routes()
	g.routing.Store(&routes)
	return r, nil
}

// shared is what a run shares with the graph's other runs.
func (g *Graph) shared() *life.Graph {
	return &life.Graph{
		Host: &g.host.Host, Ref: g.ref, ID: g.ID(), Unit: g.unit, Mailboxes: g.mailboxes, Hub: g.hub,
		Restarts: g.restarts, Record: g.recordRecovery, Held: g.isHeld, StopTime: g.stopTime,
		Published: g.changed.Ring,
	}
}

// live is the life of a run, shown from its beginning to its end. It ends too when the graph is to
// be handed back (M52).
func (g *Graph) live(ctx context.Context, r *life.Run) (handedBack bool, err error) {
	ctx, back := context.WithCancel(ctx)
	defer back()
	end := g.host.Lease.Run(g.ID(), back)
	g.begin(r)
	defer g.retire(r)
	err = r.Live(ctx, g.node)
	return end(), err
}

func (g *Graph) begin(r *life.Run) { g.show(func() { g.run = r }) }

// retire takes the run away, and keeps its last summary for those who ask.
func (g *Graph) retire(old *life.Run) {
	var sum api.GraphSummary
	// The core of one that was abandoned is still somebody's; one that has panicked may not bear looking at.
	known := !old.Abandoned() &&
		supervisor.Protect(func() error { sum = g.describe(old); return nil }) == nil
	stopped, why := reactor.HealthStopped, api.ReasonOf("stopped", "the graph was stopped")
	g.show(func() {
		if known {
			g.last = sum
		}
		g.run, g.health, g.reason = nil, stopped, why
	})
	g.hub.HealthChanged(string(stopped), why)
}

// path is how output i's values leave, as far as is known: from the run, or from the declaration.
func (g *Graph) path(i int) reactor.Path {
	if routes := g.routing.Load(); routes != nil {
		return (*routes)[i].Path
	}
	return life.PathOf(&g.unit.Spec.Outputs[i])
}

// PathOf is how an output's values leave, as far as is known; ok is false when there is none
// of that name.
func (g *Graph) PathOf(output string) (p reactor.Path, ok bool) {
	for i := range g.unit.Spec.Outputs {
		if g.unit.Spec.Outputs[i].Name == output {
			return g.path(i), true
		}
	}
	return 0, false
}
