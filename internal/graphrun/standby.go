package graphrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/reactor"
)

// yieldTimeout bounds the giving up of a graph; one that is not goes on here or, when the daemon
// ends, is free with the lease.
const yieldTimeout = 2 * time.Second

// once is one run of the graph under its supervisor: nil when it was stopped, an error
// when it is to be rebuilt.
func (g *Graph) once(ctx context.Context, _ int) error {
	var r *life.Run
	var err error
	away := &away{}
	for {
		var t *lease.Term
		r, t, err = g.take(ctx, away)
		if err != nil || r == nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		began := time.Now()
		var handedBack bool
		handedBack, err = g.live(ctx, r)
		g.survived(r.Head.Fence, err)
		if ctx.Err() != nil {
			break
		}
		if handedBack && err == nil {
			g.yield()
			continue
		}
		if storeAway(err) {
			away.lived(time.Since(began))
			g.awaitStore(ctx, away, err)
			continue
		}
		if t.Holds() {
			break
		}
		g.host.Log.Warn("the graph stands down, for this daemon is not known to own it any more", "graph", g.ref.Name,
			"tenant", g.ref.Tenant, "epoch", r.Reactor.Core.Epoch())
	}
	if err == nil && ctx.Err() != nil && g.host.Closing() {
		g.yield()
	}
	g.mu.Lock()
	g.failure = nil
	if ctx.Err() != nil {
		g.failure = err
		err = nil
	}
	g.mu.Unlock()
	return err
}

// take waits until this daemon may run the graph and makes a run of it, under the term that
// ends it. Both are nil when ctx is done.
func (g *Graph) take(ctx context.Context, away *away) (*life.Run, *lease.Term, error) {
	for {
		t := g.stand(ctx)
		if t == nil {
			return nil, nil, nil
		}
		if !g.isShown(away) {
			g.setHealth(reactor.HealthStarting, "", "")
		}
		r, err := g.load(ctx, t)
		var owned *checkpoint.OwnedError
		switch {
		case errors.As(err, &owned):
			g.host.Lease.Learn(g.ID(), owned)
		case errors.Is(err, checkpoint.ErrLeaseLost):
			g.host.Lease.Lost(err)
		case storeAway(err):
			g.awaitStore(ctx, away, err)
		default:
			return r, t, err
		}
	}
}

// stand waits, as standby, until this daemon may run the graph; nil when ctx is done.
func (g *Graph) stand(ctx context.Context) *lease.Term {
	return g.host.Lease.Stand(ctx, g.ID(), func(s lease.Standing) {
		g.setOwner(s)
		g.setHealth(reactor.HealthStandby, s.Code, s.Detail)
	})
}

// StandsBy says that the graph is another daemon's, or about to be.
func (g *Graph) StandsBy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run == nil && g.health == reactor.HealthStandby
}

func (g *Graph) setOwner(s lease.Standing) {
	g.mu.Lock()
	g.owner, g.ownerAt = s.Owner, s.Address
	g.mu.Unlock()
}

// standbyError refuses what only the graph's owner can do. g.mu is held.
func (g *Graph) standbyError(status int) error {
	e := &api.Error{
		Status: status, Code: "graph_standby", Detail: fmt.Sprintf("graph %s stands by here: %s", g.ref.Name,
			told.Cause(g.reason, "")),
	}
	if g.owner != "" {
		e.Extra = map[string]any{"owner": g.owner}
		if g.ownerAt != "" {
			e.Extra["owner_address"] = g.ownerAt
		}
	}
	return e
}

// GiveUp gives a graph up that has been removed, if it is this daemon's: applied again, it is not waited for here.
func (g *Graph) GiveUp() {
	if g.host.Lease.Owns(g.ID()) {
		g.yield()
	}
}

// yield gives a graph that has stopped to whoever is to run it.
func (g *Graph) yield() {
	ctx, cancel := g.briefly(yieldTimeout)
	defer cancel()
	if err := g.host.Lease.Yield(ctx, g.ID()); err != nil {
		g.host.Log.Warn("the graph was not given up; it stays this daemon's until that ends or has lost its lease",
			"graph", g.ref.Name, "tenant", g.ref.Tenant, "err", err)
	}
}
