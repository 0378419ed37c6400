package lives

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Why a run was given up that had not failed, as recovery events and metrics call it.
const (
	leaseLost = "lease_lost"
	storeGone = "store_away"
)

// givenUp says why a run that has ended was given up, "" of one that failed or was told to stop.
func givenUp(err error, holds bool) string {
	switch {
	case storeAway(err):
		return storeGone
	case !holds:
		return leaseLost
	}
	return ""
}

// left tells what a run leaves behind that did not end with a checkpoint of everything while its process lives: that
// it was given up, if it was, and what was pushed to it and is in no checkpoint. Of one that has failed the supervisor
// tells, with that.
func (s *Shard) left(r *life.Run, kind string, why error) {
	lost := s.unsaved(r)
	if kind == "" && len(lost) == 0 {
		return
	}
	saved := fmt.Sprintf("its checkpoint of epoch %d", r.Reactor.View().Checkpoint.Epoch)
	without := s.lose(lost, errors.Is(why, checkpoint.ErrUnknownOutcome))
	if kind == "" {
		s.behind = "; " + saved + " is" + without
		return
	}
	reason := "the graph goes on from " + saved + without
	if why != nil && !errors.Is(why, context.Canceled) {
		reason = why.Error() + "; " + reason
	}
	s.cfg.Restarts.CountReason("", kind)
	s.log().Warn("the graph goes on from its last checkpoint", "graph", s.ref.Name, "tenant", s.ref.Tenant, "kind",
		kind, "err", reason)
	s.Record(checkpoint.RecoveryEvent{At: time.Now(), Graph: s.ref.Name, Component: "graph", Kind: kind, Reason: reason,
		Outcome: "restarted", Incarnation: r.Head.Incarnation})
}

// lose counts what is lost, and puts it into words; unsure says that the last commit may have had it.
func (s *Shard) lose(lost []unsaved, unsure bool) string {
	if len(lost) == 0 {
		return ""
	}
	about := ""
	if unsure {
		about = "up to "
	}
	var of []string
	for _, l := range lost {
		of = append(of, fmt.Sprintf("%s%d events of %s", about, l.events, l.input))
		s.cfg.Restarts.Lose(l.input, l.events)
	}
	return " without what was pushed or received after it: " + strings.Join(of, ", ")
}

type unsaved struct {
	input  string
	events int64
}

// unsaved is what a run that has ended was given and has not saved, where nobody gives it again. What was pushed to a
// graph with a journal is in that, or was not answered; one without durability promises nothing.
func (s *Shard) unsaved(r *life.Run) (lost []unsaved) {
	if s.cfg.Unit.Spec.Durability.Mode != "checkpoint" {
		return nil
	}
	view := r.Reactor.View()
	for i := range s.cfg.Unit.Spec.Accumulators {
		a := &s.cfg.Unit.Spec.Accumulators[i]
		if a.Fed() || a.Source.Origin().After() != trait.Lost || i >= len(view.Checkpoint.Received) ||
			a.Global && s.cfg.Number > 0 {
			continue
		}
		if n := view.Inputs[i].Books.Received - view.Checkpoint.Received[i]; n > 0 {
			lost = append(lost, unsaved{input: a.Name, events: n})
		}
	}
	return lost
}
