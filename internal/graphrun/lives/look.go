package lives

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/why"
)

// History are the shard's epochs, those of the run in progress too.
func (s *Shard) History() *told.History {
	h := &told.History{Store: s.host.Store, ID: s.ID()}
	if r := s.Run(); r != nil {
		h.Reactor, h.Incarnation = r.Reactor, r.Head.Incarnation
	}
	return h
}

// Look lets f read the core of the run in progress between two epochs, as [live.Reactor.Look] does. running is false,
// and f has not run, where there is no such run, or it has not looked up from an epoch in time.
func (s *Shard) Look(ctx context.Context, f func(c *reactor.Core, now time.Time)) (running bool) {
	r := s.Run()
	if r == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, told.BusyAfter)
	defer cancel()
	return r.Reactor.Look(ctx, f) == nil
}

// Waits says whether what an epoch has given to an output, by its place in the declaration, waits for its sink.
func (s *Shard) Waits(output int, incarnation, epoch int64) (w why.Waited) {
	r := s.Run()
	if r == nil {
		return w
	}
	writer := r.Writer(output)
	if writer == nil {
		return why.Waited{Known: true, Nobody: true}
	}
	w.Waits, w.Known = writer.Waits(incarnation, epoch)
	return w
}
