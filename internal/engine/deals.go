package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/supervisor"
)

// A graph whose keys the store has dealt to another number of shards than it is to run as, since it is another release
// that runs it or another declaration, runs as they are dealt, and they are dealt anew by itself (M54).

const (
	// dealsAtOnce bounds how many graphs have their keys dealt anew by themselves at one time: each is stopped
	// meanwhile, and after a change of release it may be all.
	dealsAtOnce = 4
	// The pauses between two tries of one graph: they double.
	firstDealPause, lastDealPause = time.Minute, time.Hour
	// waitPause is after how long it is looked again whether a graph runs here, and no other release is there.
	waitPause = 10 * time.Second
)

// originDeal is where such a change of a graph comes from, as its status names it.
const originDeal = "daemon"

// dealtOtherwise has a graph run as its keys are dealt and dealt anew, on a goroutine of the engine's group; it does
// nothing where that is under way.
func (e *Engine) dealtOtherwise(g api.Ref) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing || e.dealing[g] {
		return
	}
	e.dealing[g] = true
	e.group.Go(e.ctx, "deal/"+g.Tenant+"/"+g.Name, func(ctx context.Context, _ *supervisor.Node) error {
		defer func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			delete(e.dealing, g)
		}()
		e.dealByItself(ctx, g)
		return nil
	})
}

// dealByItself tries until a graph is dealt as it is declared, or gone, or ctx is done.
func (e *Engine) dealByItself(ctx context.Context, g api.Ref) {
	if !e.runAsDealt(ctx, g) {
		return // its shards say again that they cannot run
	}
	pause := firstDealPause
	for {
		select {
		case e.deals <- struct{}{}:
		case <-ctx.Done():
			return
		}
		next := e.dealAsDeclared(ctx, g, pause)
		<-e.deals
		wait := waitPause
		switch next {
		case dealDone:
			return
		case dealRefused:
			wait, pause = pause, min(2*pause, lastDealPause)
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return
		}
	}
}

// runAsDealt has a graph run as its keys are dealt.
func (e *Engine) runAsDealt(ctx context.Context, g api.Ref) (done bool) {
	defer e.changing.Lock(g)()
	m, err := e.graph(g)
	if err == nil {
		_, err = e.asDealt(ctx, m)
	}
	if err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("it cannot be seen how the keys of a graph are dealt; it is tried again", "graph", g.Name,
			"tenant", g.Tenant, "err", err)
	}
	return err == nil
}

// asDealt is what runs a graph as its keys are dealt, in its place where that is another. The graph's lock is held.
func (e *Engine) asDealt(ctx context.Context, m *graphrun.Graph) (*graphrun.Graph, error) {
	return m.AsDealt(ctx, e.ctx, func(as *graphrun.Graph) {
		e.set(as)
		e.rewired(as)
	})
}

// dealt is what has become of a try to deal a graph's keys.
type dealt int

const (
	dealWaits   dealt = iota // it is not to be done now, or not here
	dealDone                 // or not to be done any more
	dealRefused              // the graph runs on as it was
)

// dealAsDeclared deals a graph's keys as it is declared; next is when it is tried again. What is another daemon's is
// that one's to deal, and while one of another release is there, which may not read what is dealt, nobody does.
func (e *Engine) dealAsDeclared(ctx context.Context, g api.Ref, next time.Duration) dealt {
	defer e.changing.Lock(g)()
	m, err := e.graph(g)
	if err != nil || m.AsDeclared() || ctx.Err() != nil {
		return dealDone
	}
	if _, rekeyed := m.Dealing(ctx); rekeyed {
		return dealDone
	}
	m.Up(ctx)
	other, err := e.OtherRelease(ctx)
	if m.StandsBy() || err != nil || other != "" {
		return dealWaits
	}
	decl, was := m.Declaration(), m.Shards()
	as := graphrun.New(e.host, decl, m.Unit())
	of := as.Shards()
	decl.Updated, decl.By = time.Now().UTC(), checkpoint.Author{}
	decl.Change = fmt.Sprintf("keys dealt to shards: %d, after %d", of, was)
	err = e.together(ctx, m, func(ctx context.Context) error {
		return e.replace(ctx, m, as, func(by graphrun.Put) error {
			return e.put(context.WithoutCancel(ctx), by, as, decl, decl.Revision)
		})
	})
	if err == nil {
		as.Updated("updated", originDeal, fmt.Sprintf("revision %d follows %d: %s", as.Declaration().Revision,
			decl.Revision, decl.Change), true)
		e.cfg.Log.Info("the keys of a graph are dealt as it is declared", "graph", g.Name, "tenant", g.Tenant,
			"shards", of, "before", was)
		return dealDone
	}
	if ctx.Err() != nil || m.StandsBy() {
		return dealWaits
	}
	_, owned := errors.AsType[*checkpoint.OwnedError](err)
	if owned { // by one that lets go of it as soon as it has seen how the keys are dealt
		next = waitPause
	}
	why := fmt.Sprintf("its keys are dealt to shards: %d, and not to %d as is declared, and it runs as it was: %s; "+
		"it is tried again in %s, or when the declaration is applied", was, of, plainly(err), next)
	m.Kept(why)
	if owned {
		return dealWaits
	}
	m.Updated("update_failed", originDeal, why, false)
	e.cfg.Log.Warn("the keys of a graph cannot be dealt as it is declared", "graph", g.Name, "tenant", g.Tenant, "err",
		err)
	return dealRefused
}
