package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

// Push hands events to an accumulator and waits until they are folded and the reactor has
// them. The mailbox outlives restarts: while the accumulator is being restarted it waits.
func (e *Engine) Push(ctx context.Context, g Ref, name string, events []json.RawMessage) (PushResult, error) {
	return e.push(ctx, g, name, "", events)
}

func (e *Engine) push(ctx context.Context, g Ref, name, origin string, events []json.RawMessage) (PushResult, error) {
	m, err := e.graph(g)
	if err != nil {
		return PushResult{}, err
	}
	i, err := m.accumulator(name)
	if err != nil {
		return PushResult{}, err
	}
	if err := m.refusesPushes(i, len(events)); err != nil {
		return PushResult{}, err
	}
	if err := e.hasMemory(); err != nil {
		m.mailboxes[i].Reject(len(events))
		return PushResult{}, err
	}
	now := time.Now()
	batch := make([]boundary.Event, len(events))
	for k, raw := range events {
		batch[k] = boundary.Event{Raw: raw, At: now, Origin: origin}
	}
	out, err := m.mailboxes[i].Push(ctx, batch)
	if errors.Is(err, pump.ErrClosed) {
		return PushResult{}, &Error{Status: http.StatusServiceUnavailable, Code: "graph_stopping", Detail: fmt.Sprintf("graph %s is being stopped; nothing after the first %d events was taken", g.Name, out.Taken)}
	}
	if err != nil {
		return PushResult{}, err
	}
	res := PushResult{Accepted: out.Accepted, Filtered: out.Filtered, Rejected: []Rejection{}, Full: out.Full}
	if out.Full {
		// Whoever goes on after a 429 goes on behind all that was dealt with, refused events too.
		res.Accepted = out.Taken
	}
	for _, r := range out.Rejected {
		res.Rejected = append(res.Rejected, Rejection(r))
	}
	res.Durable, err = m.awaitDurable(ctx, out.Tickets)
	return res, err
}

// refusesPushes says at once what waiting would only delay: a graph that was given up takes
// nothing until an operator restarts it or a fixed declaration is applied. What is refused
// is counted.
func (m *managed) refusesPushes(i, events int) error {
	m.mu.Lock()
	failed := m.run == nil && m.health == reactor.HealthFailed
	why := m.reason
	var elsewhere error
	if m.run == nil && m.health == reactor.HealthStandby {
		// Not counted: the graph's books are its owner's.
		elsewhere = m.standbyError(http.StatusServiceUnavailable)
	}
	m.mu.Unlock()
	if elsewhere != nil {
		return elsewhere
	}
	if !failed {
		return nil
	}
	m.mailboxes[i].Reject(events)
	return &Error{Status: http.StatusConflict, Code: "graph_failed",
		Detail: fmt.Sprintf("graph %s has failed and takes no events: %s", m.ref.Name, detail(why, "see its health"))}
}

// RejectBody counts one event for a body that could not be parsed (M42).
func (e *Engine) RejectBody(_ context.Context, g Ref, name, _ string) error {
	m, err := e.graph(g)
	if err != nil {
		return err
	}
	i, err := m.accumulator(name)
	if err != nil {
		return err
	}
	m.mailboxes[i].Reject(1)
	return nil
}
