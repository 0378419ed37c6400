package graphrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// A live update (M33) goes: checkpoint, stop the old run at its epoch boundary, start the
// new one held back, see whether it comes up, store the declaration, let it go. While it is
// held back nothing is admitted, fired or committed; when it does not come up the old one
// starts again from the very checkpoint it has made, and nothing was lost. Pushes wait in
// the mailboxes meanwhile, and commands wait for the outcome.

const (
	// proveTime is how long an update waits for the new accumulators to say how they are.
	// One that is still connecting then has a source that tries by itself.
	proveTime = 5 * time.Second
	// settleTime bounds the wait for a checkpoint before, and for the graph's start after.
	settleTime = 10 * time.Second
)

// Changes lists what of a graph's state an update keeps and drops.
func Changes(old, next *compile.Unit) *api.StateChange {
	kept, dropped := compile.Split(compile.Changes(old, next))
	return &api.StateChange{Kept: told.List(kept), Dropped: told.List(dropped)}
}

// Put stores a declaration, as [checkpoint.Declarations] does.
type Put = func(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (revision int64, err error)

// Replace puts next in old's place, to run until life ends. put stores the declaration; it is
// called once next is known to come up, and told by what; and then installed. On an error old is what runs, as it
// was. What has begun is finished, whether the caller waits or not.
func Replace(ctx, life context.Context, old, next *Graph, put func(by Put) error, installed func()) error {
	ctx = context.WithoutCancel(ctx)
	if dealt, err := old.dealt(ctx); err != nil {
		return err
	} else if next.unit != nil && dealt.Differs(next.dealtAs()) {
		return dealAnew(ctx, life, old, next, dealt, put, installed)
	}
	troubled, err := old.settleForUpdate(ctx)
	if err != nil {
		return err
	}
	defer old.Changing()()
	if err := old.Stop(); err != nil {
		old.host.Log.Warn("the graph did not stop cleanly before its update; it goes on from its last checkpoint",
			"graph", old.ref.Name, "tenant", old.ref.Tenant, "err", err)
	}
	next.inherit(old)
	next.hold()
	next.Connect()
	next.Start(life)
	if troubled != nil {
		err = next.prove(ctx, troubled)
	}
	if err == nil {
		err = put(old.host.Store.PutDeclaration)
	}
	if err != nil {
		if stopErr := next.Stop(); stopErr != nil {
			old.host.Log.Error("an update was given up, and what it had started did not stop cleanly", "graph",
				old.ref.Name, "tenant", old.ref.Tenant, "err", stopErr)
		}
		old.Connect()
		old.revert(next)
		old.Start(life)
		old.await(ctx, settleTime, told.Loaded)
		return err
	}
	next.letGo(ctx)
	installed()
	old.closeOthers(next)
	return nil
}

// Connect makes the links of the graph's declaration those that values go along.
func (g *Graph) Connect() {
	if g.unit == nil {
		g.host.Feeds.Connect(g.ref, nil)
		return
	}
	g.host.Feeds.Connect(g.ref, g.unit.Spec)
}

// Attach gives the outputs that feed other graphs by now a writer, if the graph runs.
func (g *Graph) Attach(ctx context.Context) {
	if r, err := g.running(); err == nil {
		r.Attach(ctx)
	}
}

// Close ends what outlives the runs of a graph that has been stopped: its mailboxes and watchers.
func (g *Graph) Close() {
	for _, s := range g.shards {
		for _, box := range s.Mailboxes() {
			box.Close()
		}
		s.Hub().Close()
	}
}

// settleForUpdate takes a checkpoint of the running graph, so that stopping it risks
// nothing, and says which accumulators are in trouble, by name. The answer is nil when the
// graph does not run: then there is nothing that a failed update could keep running.
func (g *Graph) settleForUpdate(ctx context.Context) (troubled map[string]bool, err error) {
	g.begun(ctx, settleTime)
	runs, err := g.runs(ctx)
	if err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	err = g.each(func(s *lives.Shard) error {
		_, err := runs[s.Number()].Reactor.Durable(ctx)
		return err
	})
	switch {
	case errors.Is(err, live.ErrStopped):
		return nil, nil // it has just failed by itself
	case err != nil:
		return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeNotDurable,
			Detail: "the graph was not updated, for its state cannot be saved now: " + err.Error()}
	}
	troubled = make(map[string]bool)
	sum := g.Summary(ctx)
	for i := range sum.Accumulators {
		a := &sum.Accumulators[i]
		troubled[a.Name] = told.InTrouble(a)
	}
	return troubled, nil
}

// begun waits for a graph that is about to run, as at a start or after an update that failed.
func (g *Graph) begun(ctx context.Context, most time.Duration) {
	g.await(ctx, most, func(s *api.GraphSummary) bool {
		return s.Health != string(reactor.HealthStarting) || s.HealthReason != nil
	})
}

// prove waits until the held run has come up, and says why when it does not: it cannot be
// built, or an accumulator fails that is new or was in no trouble before.
func (g *Graph) prove(ctx context.Context, before map[string]bool) error {
	var why string
	g.await(ctx, proveTime, func(s *api.GraphSummary) bool {
		pending := false
		why, pending = g.trouble(s, before)
		return why != "" || !pending
	})
	if why == "" {
		return nil
	}
	return &api.Error{Status: http.StatusFailedDependency, Code: "update_failed",
		Detail: fmt.Sprintf("the graph cannot start under the new declaration: %s; fix that and apply again; until "+
			"then revision %d runs on", why, g.decl.Revision)}
}

// trouble is why a held run does not come up, or whether that is still open.
func (g *Graph) trouble(s *api.GraphSummary, before map[string]bool) (why string, pending bool) {
	if told.DidNotStart(s) || s.Health == string(reactor.HealthStopped) {
		return told.Cause(s.HealthReason, s.Health), false
	}
	pending = s.Health == string(reactor.HealthStarting)
	for i := range s.Accumulators {
		a := &s.Accumulators[i]
		switch h := accumulator.Health(a.Health); {
		case h == accumulator.Starting || h == accumulator.Connecting:
			pending = true
		case told.InTrouble(a) && !before[a.Name]:
			return "accumulator " + a.Name + ": " + told.Cause(a.HealthReason, a.Health), false
		}
	}
	return "", pending
}

// letGo ends the hold of a run that has come up, of the one after it too.
func (g *Graph) letGo(ctx context.Context) {
	for _, s := range g.shards {
		s.LetGo(ctx)
	}
}

// hold has the runs wait for letGo.
func (g *Graph) hold() {
	for _, s := range g.shards {
		s.Hold()
	}
}

// revert takes back what next has: what that has tried has crashed nothing.
func (g *Graph) revert(next *Graph) {
	lives.Revert(g.shards, next.shards)
}

// Changing makes commands wait until done is called.
func (g *Graph) Changing() (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := make(chan struct{})
	g.swap = changed
	return func() {
		g.mu.Lock()
		g.swap = nil
		g.mu.Unlock()
		close(changed)
	}
}

// Settle waits for a change of the graph that is under way; again says that there was one, and
// that another graph may be in this one's place.
func (g *Graph) Settle(ctx context.Context) (again bool, err error) {
	g.mu.Lock()
	swap := g.swap
	g.mu.Unlock()
	if swap == nil {
		return false, nil
	}
	select {
	case <-swap:
		return true, nil
	case <-ctx.Done():
		return false, told.Refusal(context.DeadlineExceeded)
	}
}

// inherit takes over what outlives an update: the watchers, the figures, and the mailboxes
// of inputs that are still there, with the pushes that wait in them.
func (g *Graph) inherit(old *Graph) {
	g.gone = old.gone
	defer g.deal()
	for n, s := range g.shards {
		before := old.shards[min(n, len(old.shards)-1)]
		s.Inherit(before)
		if old.unit == nil || old.dealtAs().Differs(g.dealtAs()) {
			continue // what waits was dealt to others
		}
		for k := range old.unit.Spec.Accumulators {
			if i := g.find(old.unit.Spec.Accumulators[k].Name); i >= 0 {
				s.Mailboxes()[i] = before.Mailboxes()[k]
			}
		}
	}
}

// closeOthers gives shards up that next does not have, and closes the mailboxes that it does not have, of inputs or of
// shards: who waits there is told.
func (g *Graph) closeOthers(next *Graph) {
	for n, s := range g.shards {
		if n >= len(next.shards) {
			s.Vacate()
			s.Hub().Close()
		}
		for k, box := range s.Mailboxes() {
			if next.find(g.unit.Spec.Accumulators[k].Name) < 0 || g.dealtAs().Differs(next.dealtAs()) {
				box.Close()
			}
		}
	}
}

func (g *Graph) find(name string) int {
	if g.unit == nil {
		return -1
	}
	return slices.IndexFunc(g.unit.Spec.Accumulators, func(a spec.Accumulator) bool { return a.Name == name })
}

// Unchanged notes that what runs was applied again: an earlier refusal is of the past.
func (g *Graph) Unchanged() {
	g.show(func() { g.update = nil })
}

// Applied is the graph as it was applied: once it runs, or, of a directory whose graphs all
// start at once, as it is.
func (g *Graph) Applied(ctx context.Context, wait bool) api.GraphSummary {
	if wait {
		return g.after(ctx, func(s *api.GraphSummary) bool { return told.Loaded(s) || len(told.Troubles(s)) > 0 })
	}
	return g.Summary(ctx)
}

// Updated records how an attempt to change the graph has ended. kind is the recovery event's.
func (g *Graph) Updated(kind, origin, detail string, ok bool) {
	now := time.Now().UTC()
	g.show(func() { g.update = &api.UpdateStatus{At: now, OK: ok, Origin: origin, Detail: detail} })
	outcome := "restarted"
	if !ok {
		outcome = "failed"
	}
	g.first().Record(checkpoint.RecoveryEvent{
		At: now, Graph: g.ref.Name, Component: "graph", Kind: kind, Reason: detail, Outcome: outcome,
		Incarnation: g.first().Incarnation(),
	})
}
