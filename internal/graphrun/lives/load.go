package lives

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/live/laps"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/rest"
	"github.com/graphd/graphd/internal/supervisor"
)

// load takes the shard from the store and builds a run from its last checkpoint.
func (s *Shard) load(ctx context.Context, t *lease.Term) (*life.Run, error) {
	begins := laps.New(s.log())
	head, lost, err := s.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire the graph: %w", err)
	}
	s.outlived = append(s.outlived, lost...)
	if lost, err = s.pardoned(ctx, &head); err != nil {
		return nil, fmt.Errorf("acquire the graph: %w", err)
	}
	s.outlived = append(s.outlived, lost...)
	begins.Lap("taken")
	if err := s.absolve(ctx, &head); err != nil {
		s.survived(head.Fence, nil)
		return nil, err
	}
	s.WriteRecovery()
	s.show(func() { s.number = head.Incarnation })
	if head.UncleanStarts > 1 {
		s.Record(checkpoint.RecoveryEvent{At: time.Now(), Graph: s.ref.Name, Component: "graph",
			Kind: "unclean_start", Attempt: head.UncleanStarts - 1,
			Reason: fmt.Sprintf(
				"the process before did not stop cleanly; the graph goes on from its checkpoint of epoch %d",
				head.Epoch),
			Outcome: "restarted", Incarnation: head.Incarnation})
	}
	if err := quarantined(&head); err != nil {
		return nil, err
	}
	if err := s.checkThere(ctx, &head); err != nil {
		s.survived(head.Fence, err)
		return nil, err
	}
	if err := s.checkDeal(ctx, &head); err != nil {
		s.survived(head.Fence, err)
		return nil, err
	}
	r, err := life.New(ctx, s.shared(), head, t, begins)
	if err != nil {
		s.survived(head.Fence, err) // what cannot be opened or read has crashed nothing
		return nil, err
	}
	routes := r.Routes()
	s.routing.Store(&routes)
	return r, nil
}

// shared is what a run shares with the shard's other runs.
func (s *Shard) shared() *life.Graph {
	host := &s.host.Host
	if s.cfg.Of > 1 {
		own := *host // for its log, which names the shard
		own.Log, host = s.log(), &own
	}
	return &life.Graph{
		Host: host, Ref: s.ref, ID: s.ID(), Unit: s.cfg.Unit, Shards: s.cfg.Of,
		Mailboxes: s.cfg.Mailboxes, Readers: s.cfg.Readers, Hub: s.cfg.Hub, Restarts: s.cfg.Restarts,
		Record: s.Record, Held: s.isHeld, StopTime: s.stopTime,
		Published: s.cfg.Changed,
	}
}

// live is the life of a run, shown from its beginning to its end, its rests included. It ends too when the graph is
// to be handed back (M52).
func (s *Shard) live(ctx context.Context, st *stint) error {
	end := s.host.Lease.Run(s.ID(), st.run.HandBack)
	s.begin(st.run)
	return rest.Then(func() error { return st.run.Live(ctx, s.node) }, func() {
		st.handedBack = end()
		s.retire(st.run)
	})
}

func (s *Shard) begin(r *life.Run) { s.show(func() { s.run = r }) }

// retire takes the run away, and keeps its last summary for those who ask.
func (s *Shard) retire(old *life.Run) {
	for _, box := range s.cfg.Mailboxes {
		box.End()
	}
	var sum api.GraphSummary
	// The core of one that was abandoned is still somebody's; one that has panicked may not bear looking at.
	known := !old.Abandoned() &&
		supervisor.Protect(func() error { sum = s.describe(old); return nil }) == nil
	stopped, why := reactor.HealthStopped, api.ReasonOf("stopped", "the graph was stopped")
	s.show(func() {
		if known {
			s.last = &sum
		}
		s.run, s.health, s.reason = nil, stopped, why
	})
	s.cfg.Hub.HealthChanged(string(stopped), why)
}

// Path is how output i's values leave, as far as is known: from the run, or from the declaration.
func (s *Shard) Path(i int) reactor.Path {
	if routes := s.routing.Load(); routes != nil {
		return (*routes)[i].Path
	}
	return life.PathOf(&s.cfg.Unit.Spec.Outputs[i])
}

// Summary shows the shard as it is: as its run has last said, or as what is known without one.
// It never waits for the reactor.
func (s *Shard) Summary() api.GraphSummary {
	known := s.known()
	s.mu.Lock()
	r := s.run
	if r == nil {
		defer s.mu.Unlock()
		return known.Rest(s.lastSummary(), string(s.health), s.reason)
	}
	s.mu.Unlock()
	sum := known.Running(&r.Head, r.Reactor.View(), r, time.Now())
	if why := s.Stuck(r); why != nil {
		sum.Health, sum.HealthReason = string(reactor.HealthDegraded), why
	}
	return sum
}

// lastSummary is what is told while there is no run. s.mu is held.
func (s *Shard) lastSummary() (sum api.GraphSummary) {
	if s.last != nil {
		sum = *s.last
	}
	sum.Incarnation = s.number
	return sum
}

// describe is the summary of a run that has just ended.
func (s *Shard) describe(r *life.Run) api.GraphSummary {
	return s.known().Running(&r.Head, r.Reactor.View(), r, time.Now())
}

// known is what is known of the shard with or without a run.
func (s *Shard) known() *told.Known {
	k := s.cfg.Known()
	k.Path, k.Shard, k.Dealt = s.Path, s.cfg.Number, s.cfg.Of > 1
	return k
}

// Stuck says that the reactor has not come out of its epochs for long, nil when it has (M25).
func (s *Shard) Stuck(r *life.Run) *api.Reason {
	limit := s.cfg.Unit.Spec.Reactor.MostOfEpoch()
	return told.Stuck(r.Reactor.Busy(), r.Reactor.View().Epoch, r.Running(), limit, time.Now())
}
