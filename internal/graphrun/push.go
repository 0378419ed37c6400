package graphrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/graphrun/told/called"
	"github.com/graphd/graphd/internal/reactor"
)

// journalShare is the part of a caller's time, one in so many, that is kept for the journal:
// an event that was let in at the last moment could not be told to be durable otherwise.
const journalShare = 4

// Push hands events to an accumulator and waits until they are folded and the reactor has
// them. The mailbox outlives restarts: while the accumulator is being restarted it waits.
func (g *Graph) Push(ctx context.Context, name string, events []json.RawMessage) (api.PushResult, error) {
	i, err := g.pushable(name, len(events))
	if err != nil {
		return api.PushResult{}, err
	}
	if a := &g.unit.Spec.Accumulators[i]; a.Fed() {
		return api.PushResult{}, fedByNode(a, noPushes)
	}
	pace := g.host.Quotas.Pace(g.ref.Tenant, g.ref.Name)
	if n := pace.Most(); n == 0 || n >= len(events) {
		return g.push(ctx, i, "", events)
	}
	return parts.InSlices(ctx, events, pace.Most, g.unit.Spec.Durability.Mode == "journal",
		func(ctx context.Context, some []json.RawMessage) (api.PushResult, error) {
			return g.push(ctx, i, "", some)
		},
		g.first().Mailboxes()[i].Reject, g.refresh)
}

// PushAgain is [Graph.Push] of the events of a dead letter.
func (g *Graph) PushAgain(ctx context.Context, l *checkpoint.DeadLetter, events []json.RawMessage) (
	api.PushResult, error) {
	i, err := g.pushable(l.Accumulator, len(events))
	if err != nil {
		return api.PushResult{}, err
	}
	if g.unit.Spec.Accumulators[i].Fed() {
		return g.feed(ctx, i, l, events)
	}
	return g.push(ctx, i, reactor.Origin(l), events)
}

// push is Push to accumulator i; origin is the dead letter that the events are replayed from, "" for new ones.
func (g *Graph) push(ctx context.Context, i int, origin string, events []json.RawMessage) (api.PushResult, error) {
	ctx, kept := parts.Keyed(ctx, g.host.Store, g.ID(), g.unit.Spec, i)
	enter, cancel := g.timeToEnter(ctx)
	defer cancel()
	wait, err := g.submit(enter, i, origin, events)
	if err != nil {
		return api.PushResult{}, err
	}
	out, err := wait(enter)
	res, err := g.pushed(ctx, i, out, err)
	res.KeyKept = kept
	return res, err
}

// Submit is Push in two parts, so that several pushes of one caller can be on their way: it waits for room, as long as
// ctx is not done, and the calls' order is that of their events. answer, called once, waits for the rest.
func (g *Graph) Submit(ctx context.Context, name string, events []json.RawMessage) (
	answer func(ctx context.Context) (api.PushResult, error), err error) {
	i, err := g.pushable(name, len(events))
	if err != nil {
		return nil, err
	}
	if a := &g.unit.Spec.Accumulators[i]; a.Fed() {
		return nil, fedByNode(a, noPushes)
	}
	wait, err := g.submit(ctx, i, "", events)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (api.PushResult, error) {
		out, err := wait(ctx)
		return g.pushed(ctx, i, out, err)
	}, nil
}

// pushable finds an accumulator that takes so many events now.
func (g *Graph) pushable(name string, events int) (i int, err error) {
	if i, err = g.accumulator(name); err != nil {
		return i, err
	}
	return i, g.refusesPushes(i, events)
}

// submit queues events of a push within the tenant's quota, in the order of the calls. wait is for what became of them.
func (g *Graph) submit(ctx context.Context, i int, origin string, events []json.RawMessage) (
	wait func(ctx context.Context) (pump.PushOutcome, error), err error) {
	if err := g.host.Room(g.ref); err != nil {
		g.first().Mailboxes()[i].Reject(len(events))
		return nil, err
	}
	var links *traced.Links
	if g.host.Traces != nil {
		links = traced.Of(ctx)
	}
	now := time.Now()
	batch, bytes := make([]boundary.Event, len(events)), int64(0)
	for k, raw := range events {
		batch[k] = boundary.Event{Raw: raw, At: now, Origin: origin, Links: links}
		bytes += int64(len(raw))
	}
	if err := g.host.Quotas.Pace(g.ref.Tenant, g.ref.Name).Admit(ctx, len(events), bytes); err != nil {
		g.first().Mailboxes()[i].Reject(len(events))
		return func(context.Context) (pump.PushOutcome, error) { return pump.PushOutcome{}, err }, nil
	}
	return g.deliver(ctx, i, batch), nil
}

// pushed is the answer to a push of which out and err have come.
func (g *Graph) pushed(ctx context.Context, i int, out pump.PushOutcome, err error) (api.PushResult, error) {
	moved, refusal := told.Turned(err, g.ref.Name, g.unit.Spec.Accumulators[i].Name, out.Taken, g.host.Closing())
	switch {
	case refusal != nil && (len(g.shards) == 1 || out.Taken == 0):
		return api.PushResult{}, refusal
	case moved != nil || refusal != nil:
		out.Full = true
	case err != nil:
		return told.OverQuota(err)
	}
	res := api.PushResult{Accepted: out.Accepted, Filtered: out.Filtered, Rejected: []api.Rejection{}, Full: out.Full,
		Known: out.Known, Refused: refusal}
	if res.Why = moved; out.Full && moved == nil && refusal == nil {
		res.Why = cmp.Or(g.unwritable(), g.pausedReason(), g.heldUp(ctx))
	}
	for _, r := range out.Rejected {
		res.Rejected = append(res.Rejected, api.Rejection(r))
	}
	res.Durable, err = g.awaitDurable(ctx, out.Tickets)
	return res, err
}

// refusesPushes says at once what waiting would only delay: a graph that was given up takes
// nothing until an operator restarts it or a fixed declaration is applied. What is refused
// is counted.
func (g *Graph) refusesPushes(i, events int) error {
	why, failed := (*api.Reason)(nil), false
	for _, s := range g.shards {
		if err := s.Elsewhere(http.StatusServiceUnavailable); err != nil && (g.host.Away == nil || g.deals == nil) {
			return err // not counted: the graph's books are its owner's
		}
		if gone, reason := s.Failed(); gone && !failed {
			failed, why = gone, reason
		}
	}
	if !failed {
		return nil
	}
	g.first().Mailboxes()[i].Reject(events)
	return &api.Error{Status: http.StatusConflict, Code: "graph_failed",
		Detail: fmt.Sprintf("graph %s has failed and takes no events: %s", g.ref.Name,
			told.Cause(why, "see its health"))}
}

// RejectBody counts n events that were not handed over: one for a body that could not be parsed (M42).
func (g *Graph) RejectBody(name string, n int) error {
	i, err := g.accumulator(name)
	if err != nil {
		return err
	}
	if !g.unit.Spec.Accumulators[i].Fed() {
		g.first().Mailboxes()[i].Reject(n)
	}
	return nil
}

// pausedPush is how long a push with a bound may wait for room while the graph is paused: nothing makes any.
const pausedPush = 200 * time.Millisecond

// pausedReason says by whom the graph is paused; nil when it is not.
func (g *Graph) pausedReason() *api.Reason {
	for _, s := range g.shards {
		if r := s.Run(); r != nil && r.Reactor.View().Paused {
			return &api.Reason{Code: "paused", Detail: "nothing is taken out of the queue while " +
				r.Reactor.View().PausedBy + " has the graph paused"}
		}
	}
	return nil
}

// heldUp is why a push is not taken: an output without room, what the graph's health says, or calls before it, if any.
func (g *Graph) heldUp(ctx context.Context) *api.Reason {
	sum := g.Summary(ctx)
	for _, s := range g.shards {
		if r := s.Run(); r != nil {
			if i := r.Crowded(); i >= 0 {
				return told.HoldsUp(&sum.Outputs[i])
			}
		}
	}
	return cmp.Or(sum.HealthReason, called.Awaited(&sum))
}

// timeToEnter is the part of a push's time in which its events must be let in, so that a journaled
// graph has some left to make them durable.
func (g *Graph) timeToEnter(ctx context.Context) (context.Context, context.CancelFunc) {
	by, bounded := ctx.Deadline()
	if bounded && g.pausedReason() != nil {
		return context.WithTimeout(ctx, pausedPush)
	}
	if !bounded || g.unit.Spec.Durability.Mode != "journal" {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, by.Add(-time.Until(by)/journalShare))
}

// awaitDurable waits until the handoffs of a push are in the journal, and reports whether
// they are there to stay. It takes no longer than the caller has.
func (g *Graph) awaitDurable(ctx context.Context, tickets []accumulator.Ticket) (bool, error) {
	if len(tickets) == 0 {
		return false, nil
	}
	by, bounded := ctx.Deadline()
	if !bounded {
		by = time.Now().Add(g.host.PushTimeout)
	}
	// Who has gone does not end it: what is in is in, and an Idempotency-Key may ask for the answer.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), by)
	defer cancel()
	for _, wait := range tickets {
		if err := wait(ctx); err != nil {
			why := ""
			if reason := g.unwritable(); reason != nil {
				why = " (" + reason.Code + ": " + reason.Detail + ")"
			}
			return false, &api.Error{Status: 503, Code: api.CodeNotDurable,
				Detail: "the events were taken, but the journal could not be written in time" + why +
					", so a crash may " +
					"undo it: push them again with the same Idempotency-Key, or look at the graph's counters"}
		}
	}
	return g.host.Store.Kind() != "memory", nil
}

// unwritable says why the graph's store takes nothing; nil when it does, as far as is known.
func (g *Graph) unwritable() *api.Reason {
	for _, s := range g.shards {
		r := s.Run()
		if r == nil {
			continue
		}
		if p := r.Reactor.View().Persist; p.Code != "" {
			return &api.Reason{Code: p.Code, Detail: p.Detail}
		}
	}
	return nil
}
