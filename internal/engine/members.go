package engine

import (
	"context"
	"maps"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/engine/members"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/placement"
	"github.com/graphd/graphd/internal/spec"
)

// places say what one daemon is to have together: graphs that feed each other, and the shards of a graph where they
// are not spread; and how many shards there are to be dealt evenly (M52).
func (e *Engine) places() placement.Places {
	p := placement.Places{Linked: members.Linked(e.feeds.Pairs()), Spread: e.cfg.Spread}
	if !p.Spread {
		return p
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	p.Shards = maps.Clone(e.shards)
	return p
}

// set has m be the graph of its name.
func (e *Engine) set(m *graphrun.Graph) {
	e.mu.Lock()
	e.graphs[m.Ref()] = m
	changed := e.count(m)
	e.mu.Unlock()
	if changed {
		e.own.Places() // how many there are says where each is placed
	}
}

// count notes how many shards m has, and reports whether that is news. e.mu is held.
func (e *Engine) count(m *graphrun.Graph) (changed bool) {
	id, n := m.ID(), m.Shards()
	if had := e.shards[id]; n == had || n <= 1 && had == 0 {
		return false
	}
	if n > 1 {
		e.shards[id] = n
	} else {
		delete(e.shards, id)
	}
	return true
}

// units are the shards of all graphs, by graph and number.
func (e *Engine) units() (ids []checkpoint.ID) {
	for _, m := range e.all() {
		ids = append(ids, m.ShardIDs()...)
	}
	return ids
}

// Elsewhere is the member that runs all of a graph and takes requests from others, if that is another one.
func (e *Engine) Elsewhere(g api.Ref) (owner checkpoint.Member, elsewhere bool) {
	m, err := e.graph(g)
	if err != nil {
		return e.Members.Owner(checkpoint.ID{Tenant: g.Tenant, Graph: g.Name})
	}
	for n, id := range m.ShardIDs() {
		of, other := e.Members.Owner(id)
		if !other || n > 0 && of.ID != owner.ID {
			return checkpoint.Member{}, false
		}
		owner = of
	}
	return owner, true
}

// AskPart does what another member asks of shards that run here (M53).
func (e *Engine) AskPart(ctx context.Context, call *parts.Call) *parts.Answer {
	if call.Graph == "" {
		return e.spread.AnswerList(ctx, call, e.graph)
	}
	m, err := e.graph(api.Ref{Tenant: call.Tenant, Name: call.Graph})
	if err != nil {
		return &parts.Answer{Refusal: parts.RefusalOf(err)}
	}
	return e.spread.Answer(ctx, m, call)
}

// WatchPart subscribes another member to shards that run here (M53).
func (e *Engine) WatchPart(ctx context.Context, call *parts.Call) (*parts.Answer, parts.Frames) {
	if call.Graph == "" {
		return e.spread.AnswerWatchAll(ctx, call, e.watchHere)
	}
	m, err := e.graph(api.Ref{Tenant: call.Tenant, Name: call.Graph})
	if err != nil {
		return &parts.Answer{Refusal: parts.RefusalOf(err)}, nil
	}
	return e.spread.AnswerWatch(ctx, m, call)
}

// claim has the links of a declaration beside those that graph g has, until settle is told whether it was applied, and
// places the graph by them.
func (e *Engine) claim(g api.Ref, s *spec.Graph, sees func(graph string) bool) (
	settle func(applied bool), refused spec.Diagnostics) {
	claimed, refused := e.feeds.Claim(g, s, sees)
	if refused != nil {
		return nil, refused
	}
	e.own.Places()
	return func(applied bool) {
		if claimed(applied) {
			e.own.Places()
		}
	}, nil
}

// handOverTime bounds how long a daemon that stops waits until others may have its graphs; what has
// not been given up then is stopped with the rest.
const (
	handOverTime  = 5 * time.Second
	handOverShare = 3 // of a short stop, one part in so many
)

// HandOver gives this daemon's graphs to the others on the store, when it is about to end (M52). What it stops is
// part of the whole stop, which has until by.
func (e *Engine) HandOver(ctx context.Context, by time.Time) {
	e.mu.Lock()
	e.closeBy = by
	e.mu.Unlock()
	most := handOverTime
	if by, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(by)/handOverShare)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := e.own.HandOver(ctx); err != nil {
		e.cfg.Log.Warn("the graphs were not all handed over before the stop", "err", err)
	}
}
