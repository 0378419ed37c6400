package graphrun

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/watch"
)

// maxJoining bounds how many graphs are asked at one time to take a watcher in: those that are
// quick are many and cost a goroutine for a moment, and those that are not wait together.
const maxJoining = 64

// WatchAll attaches a watcher to graphs as Watch does. All of them together have the time of one.
func WatchAll(ctx context.Context, graphs []*Graph, q *watch.Queue) {
	ctx, cancel := context.WithTimeout(ctx, told.BusyAfter)
	defer cancel()
	var inTime, late []*Graph // those that are known to be busy take no place from those that answer
	for _, g := range graphs {
		if g.isBusy() {
			late = append(late, g)
		} else {
			inTime = append(inTime, g)
		}
	}
	var joining sync.WaitGroup
	defer joining.Wait()
	places := make(chan struct{}, maxJoining)
	for _, g := range append(inTime, late...) {
		places <- struct{}{}
		joining.Go(func() {
			defer func() { <-places }()
			g.Watch(ctx, q)
		})
	}
}

// isBusy says that the graph's reactor has not come out of its epochs for long.
func (g *Graph) isBusy() bool {
	return slices.ContainsFunc(g.shards, func(s *lives.Shard) bool {
		r := s.Run()
		return r != nil && s.Stuck(r) != nil
	})
}

// Watch attaches a watcher, between two epochs where the graph runs and comes to that in time.
func (g *Graph) Watch(ctx context.Context, q *watch.Queue) {
	_ = eachOf(g.asked(ctx), func(s *lives.Shard) error {
		if r := s.Run(); r != nil {
			ctx, cancel := context.WithTimeout(ctx, told.BusyAfter)
			defer cancel()
			if r.Reactor.Look(ctx, func(c *reactor.Core, now time.Time) { s.Hub().AttachLive(c, now, q) }) == nil {
				return nil
			}
		}
		s.Hub().Attach(q)
		return nil
	})
}

// WatchSince attaches a watcher that has been there before, and gives it what it has missed of each shard.
func (g *Graph) WatchSince(ctx context.Context, q *watch.Queue, at api.Places) error {
	err := eachOf(g.asked(ctx), func(s *lives.Shard) error {
		_, err := g.commandAt(ctx, s, func(ctx context.Context, r *live.Reactor) error {
			var ahead error
			err := r.Look(ctx, func(c *reactor.Core, now time.Time) { ahead = s.Hub().Resume(c, now, q, at) })
			return cmp.Or(err, ahead)
		})
		return err
	})
	if err != nil {
		q.Close() // no shard sends to it any more
	}
	return err
}
