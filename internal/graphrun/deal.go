package graphrun

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

const (
	// alignTries is how often an update to another number of shards stops the graph to find its shards at one cut.
	alignTries = 3
	// loadTime is how long it waits for shards that are being loaded: it cannot go on without them, as others can.
	loadTime = 30 * time.Second
)

// dealt is how the keys are dealt in the store, or will be by the next commit of a graph that runs; it is zero of one
// that has no state, or none that can be read: that the shards tell themselves.
func (g *Graph) dealt(ctx context.Context) (lives.Deal, error) {
	d, err := lives.DealtIn(ctx, g.host.Store, g.ID())
	if _, stopped := g.running(); stopped == nil {
		d = d.Or(g.dealtAs())
	}
	return d, err
}

// dealtAs is how the graph deals its keys.
func (g *Graph) dealtAs() lives.Deal { return lives.DealOf(g.unit, len(g.shards)) }

// Moving is what an update to another number of shards moves from one shard to another, in a line, as of the last
// checkpoints; none where the number stays. Where the keys cannot be dealt so it is the refusal of the update.
func (g *Graph) Moving(ctx context.Context, next *compile.Unit) ([]string, error) {
	from, err := g.dealt(ctx)
	to := lives.DealOf(next, shardsOf(next))
	if err != nil || !from.Differs(to) {
		return nil, err
	}
	if why := from.CannotChange(to); why != "" {
		return nil, told.CannotDeal(why)
	}
	line, err := lives.Moving(ctx, g.host.Store, g.ID(), from, to)
	return []string{line}, err
}

// dealAnew puts next in the place of old, with the keys dealt anew (M54): the old shards are stopped at one cut, and
// the store changes from the one deal to the other in one step, with the declaration. What else of that is another is
// tried beforehand, as by any update.
func dealAnew(ctx, life context.Context, old, next *Graph, dealt lives.Deal, put func(by Put) error,
	installed func()) error {
	if old.unit == nil || dealt.Differs(old.dealtAs()) {
		return told.CannotDeal(fmt.Sprintf("the store has them dealt %s, and it does not run as that", dealt))
	}
	if why := dealt.CannotChange(next.dealtAs()); why != "" {
		return told.CannotDeal(why)
	}
	old.begun(ctx, loadTime)
	troubled, err := old.settleForUpdate(ctx)
	if err != nil || troubled == nil {
		if err == nil {
			err = told.CannotDeal("all of its shards have to run here, see its health")
		}
		return err
	}
	defer old.Changing()()
	open := old.shut()
	c := &lives.Change{Of: len(next.shards), Old: old.unit, Next: next.unit,
		Alone: compile.OnlyShards(old.unit, next.unit)}
	if !c.Alone {
		err = old.rehearse(ctx, life, next, troubled)
	}
	if err == nil {
		err = old.align(ctx, life, func() error { return lives.Redeal(ctx, old.with(next), c, put) })
	}
	if err != nil {
		old.startAgain(ctx, life)
		open(nil)
		return err
	}
	next.inherit(old)
	next.Connect()
	next.Start(life)
	installed()
	open(next)
	old.closeOthers(next)
	return nil
}

// rehearse sees whether next's declaration comes up, held back and as so many shards as there are; the graph is started
// again as it was where it does, and is stopped where it does not.
func (g *Graph) rehearse(ctx, life context.Context, next *Graph, troubled map[string]bool) error {
	as := newAs(g.host, next.Declaration(), next.unit, len(g.shards))
	if err := g.Stop(); err != nil {
		return fmt.Errorf("the graph did not stop cleanly: %w", err)
	}
	as.inherit(g)
	as.hold()
	as.Connect()
	as.Start(life)
	err := as.prove(ctx, troubled)
	if stopped := as.Stop(); err == nil && stopped != nil {
		err = fmt.Errorf("what was tried did not stop cleanly: %w", stopped)
	}
	g.Connect()
	g.revert(as)
	if err == nil {
		g.startAgain(ctx, life)
	}
	return err
}

// AsDealt makes of a graph whose keys the store has dealt to another number of shards than it runs as one that runs as
// that; installed is called when it is in the graph's place. The answer is the graph itself where there is no need to.
func (g *Graph) AsDealt(ctx, life context.Context, installed func(as *Graph)) (*Graph, error) {
	d, err := g.dealt(ctx)
	if err != nil || d.Of == 0 || d.Of == len(g.shards) || g.unit == nil {
		return g, err
	}
	as := newAs(g.host, g.Declaration(), g.unit, d.Of)
	defer g.Changing()()
	open := g.shut()
	if err := g.Stop(); err != nil {
		g.host.Log.Warn("the graph did not stop cleanly before it was made to run as its keys are dealt", "graph",
			g.ref.Name, "tenant", g.ref.Tenant, "err", err)
	}
	as.inherit(g)
	as.Connect()
	as.Start(life)
	installed(as)
	open(as)
	g.closeOthers(as)
	return as, nil
}

// AsDeclared reports whether the graph runs as so many shards as its declaration has run here.
func (g *Graph) AsDeclared() bool { return g.unit == nil || len(g.shards) == shardsOf(g.unit) }

// Dealing says of the graph's keys whether they are dealt as it runs, or not yet; and whether to as many shards, while
// events have others by now: then it does not run, and nothing can be dealt anew.
func (g *Graph) Dealing(ctx context.Context) (fits, rekeyed bool) {
	d, err := g.dealt(ctx)
	as := g.dealtAs()
	return err == nil && !d.Differs(as), err == nil && d.Rekeyed(as)
}

// Kept notes why the keys of a graph are not dealt as declared; it shows that as its health.
func (g *Graph) Kept(why string) { g.show(func() { g.kept = why }) }

// startAgain starts a graph that was stopped, and waits until it has come up.
func (g *Graph) startAgain(ctx, life context.Context) {
	g.Start(life)
	g.Up(ctx)
}

// Up waits until the graph has come up, for a while.
func (g *Graph) Up(ctx context.Context) {
	g.await(ctx, settleTime, func(s *api.GraphSummary) bool { // until a run has begun it is what it was: stopped
		return told.Loaded(s) && s.Health != string(reactor.HealthStopped)
	})
}

// with are the shards of both graphs, by their numbers; those that both have as the old one's.
func (g *Graph) with(next *Graph) []*lives.Shard {
	return slices.Concat(g.shards, next.shards[min(len(g.shards), len(next.shards)):])
}

// align stops the graph with its shards at one cut, and has do deal their keys: its sources are held where the shard is
// that has read most, what has come in is taken in by all that are to hear of it, and what could fire and be delivered
// is through. Where they do not come to one cut they go on, and it is tried again.
func (g *Graph) align(ctx, life context.Context, do func() error) (err error) {
	for try := range alignTries {
		if try > 0 {
			g.startAgain(ctx, life)
		}
		quiet, cancel := context.WithTimeout(ctx, proveTime)
		release := lives.HoldReaders(g.readers)
		lives.Rest(quiet, g.shards)
		cancel()
		stopped := g.Stop()
		release()
		if stopped != nil {
			return fmt.Errorf("the graph did not stop cleanly: %w", stopped)
		}
		if err = do(); err == nil || !lives.Apart(err) {
			break
		}
	}
	if why := lives.CannotDeal(err); why != "" {
		return told.CannotDeal(why)
	}
	return err
}
