package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/live/calls"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/live/flow"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/reactor"
)

// asker is the reactor of a graph that calls a server, of an owner behind one that has died: it is driven turn by turn.
type asker struct {
	*Reactor
	t     *testing.T
	store *memory.Store
	id    checkpoint.ID
	port  accumulator.Port
	jobs  []func() // calls to the store that are on their way
}

func newAsker(t *testing.T, limit string, handler http.HandlerFunc) *asker {
	t.Helper()
	return newAskerOf(t, "sequential", "epoch_timeout: "+limit, handler)
}

// newAskerOf is newAsker with an input of some strategy, and settings of the reactor.
func newAskerOf(t *testing.T, strategy, settings string, handler http.HandlerFunc, more ...option) *asker {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	kinds := &builtin.Kinds{}
	kinds.Guard = outboundtest.Guard(t)
	u, diags := kinds.Parse(fmt.Appendf(nil, `graph: g
accumulators: { a: { strategy: %s } }
reactor: { %s }
nodes: { n: { http: { url: "%s", body: a } } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, strategy, settings, server.URL), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	a := &asker{t: t, store: memory.New(), id: checkpoint.ID{Tenant: checkpoint.DefaultTenant, Graph: "g"}}
	for range 2 { // the first one dies
		head, err := a.store.Acquire(t.Context(), a.id)
		if err != nil {
			t.Fatal(err)
		}
		cfg := u.Reactor()
		cfg.ID, cfg.Instance = a.id, uuid.MustParse(head.Instance)
		cfg.Incarnation, cfg.Fence = head.Incarnation, head.Fence
		for _, o := range more {
			o(&cfg)
		}
		a.Reactor = New(Options{
			Core: reactor.NewCore(cfg), Store: a.store, Ledger: a.store, Head: &head, Interval: time.Hour,
			Writers: make([]*delivery.Writer, 1), Log: slog.New(slog.DiscardHandler),
			Inbox: NewInbox([]reactor.Lane{{Name: "a", Sequential: strategy == "sequential", Keyed: cfg.Keys != nil,
				Capacity: 100, MaxBytes: 1 << 20}}),
		})
		t.Cleanup(a.desk.Close)
	}
	return a
}

// byHand begins, to be driven turn by turn, with one event.
func (a *asker) byHand() {
	a.t.Helper()
	a.begin()
	a.give()
}

// begin begins, to be driven turn by turn.
func (a *asker) begin() {
	a.t.Helper()
	a.spawn = func(f func()) { a.jobs = append(a.jobs, f) }
	a.started = a.Clock.Now()
	a.nextSeal = a.started.Add(a.Interval)
	a.Core.Start(a.Clock.Now())
	a.port = a.Inbox.Port(0)
	a.port.Health(accumulator.Live, "", "")
}

// give hands one event over.
func (a *asker) give() { a.hand(handoff(1, 1, 7)) }

// hand hands events over.
func (a *asker) hand(h *accumulator.Handoff) {
	a.t.Helper()
	if err := a.port.Put(a.t.Context(), h); err != nil {
		a.t.Fatal(err)
	}
}

// turns does what there is to do, and what the store is asked for.
func (a *asker) turns() {
	a.t.Helper()
	for range 20 {
		if _, err := a.turn(a.lookUp()); err != nil {
			a.t.Fatal(err)
		}
		a.work()
	}
}

func (a *asker) work() {
	for _, job := range a.jobs {
		job()
	}
	a.jobs = nil
}

// attempts is what the ledger has of the owner that there is, as the next one finds it.
func (a *asker) attempts() int {
	a.t.Helper()
	head, err := a.store.Acquire(a.t.Context(), a.id)
	if err != nil {
		a.t.Fatal(err)
	}
	return head.Attempts
}

// hangs is a server that never answers.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
	<-r.Context().Done()
}

// M43: what waits for an answer is not tried: an owner that dies meanwhile has left no attempt, however often.
func TestM43AnEpochThatWaitsForAnAnswerIsNoAttempt(t *testing.T) {
	a := newAsker(t, "1m", hangs)
	a.byHand()
	a.turns()
	if !a.desk.Waits() || a.care.noted != 0 {
		t.Fatalf("it waits: %v, epoch %d is noted", a.desk.Waits(), a.care.noted)
	}
	if n := (host{a.Reactor}).Grant(a.Clock.Now()); n != 0 || len(a.jobs) > 0 { // as under the event clock
		t.Errorf("%d epochs may run, and the ledger is told", n)
	}
	if n := a.attempts(); n != 0 {
		t.Errorf("an epoch that waits was noted %d times", n)
	}
}

// M43: with its answer it is noted before it is tried, and kept.
func TestM43AnEpochWithItsAnswerIsNoted(t *testing.T) {
	goOn := make(chan struct{})
	a := newAsker(t, "1m", func(w http.ResponseWriter, _ *http.Request) {
		<-goOn
		fmt.Fprint(w, "7")
	})
	a.byHand()
	a.turns()
	close(goOn)
	<-a.room
	for a.Core.Epoch() == 0 {
		if _, err := a.turn(a.lookUp()); err != nil {
			t.Fatal(err)
		}
		if a.Core.Epoch() > 0 {
			break
		}
		a.work()
	}
	if n := a.attempts(); n != 1 {
		t.Errorf("an epoch that was tried was noted %d times", n)
	}
}

// M11: a fire that is not answered in the time of an epoch says for what it has waited, and has changed nothing. While
// it waits an operator sees what for.
func TestM11AFireThatIsNotAnswered(t *testing.T) {
	a := newAsker(t, "1s", hangs)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Inbox.Port(0).Health(accumulator.Live, "", "")
	_, err := a.FireWith(t.Context(), "", []boundary.Value{boundary.Int(7)}, true)
	why := (*calls.UnansweredError)(nil)
	if !errors.As(err, &why) || fmt.Sprint(why.Nodes) != "[n]" || why.Waited < time.Second {
		t.Fatalf("it says %v", err)
	}
	for turn := range 2 { // behind the first look it has looked who has gone
		err = a.Look(t.Context(), func(c *reactor.Core, _ time.Time) {
			if m := c.Weigh(); c.Epoch() != 0 || turn > 0 && m.Queues != 0 {
				t.Errorf("epoch %d, %d bytes wait", c.Epoch(), m.Queues)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// M25: what an operator sees of an epoch that waits: what for, since when, and nothing of it in a pause.
func TestM25WhatAnEpochWaitsForIsTold(t *testing.T) {
	a := newAsker(t, "1m", hangs)
	a.byHand()
	a.turns()
	if c := a.View().Calls()["n"]; c.Out != 1 || c.Waiting != 0 || c.WaitedFor.IsZero() {
		t.Errorf("%+v", c)
	}
	a.Core.Pause(a.Clock.Now(), "op")
	a.turns()
	if c := a.View().Calls()["n"]; c.Out != 1 || !c.WaitedFor.IsZero() || a.desk.Waits() || a.desk.Holds() {
		t.Errorf("in a pause %+v", c)
	}
}

// M43: after a crash nothing is foreseen: what may be tried is counted, and what waits for its turn is behind that.
func TestM43NothingIsForeseenWhileCareIsTaken(t *testing.T) {
	t.Parallel()
	a := newAsker(t, "1m", hangs)
	a.flow = &flow.Flow{}
	if !a.care.on || a.foresees() != nil {
		t.Error("after a crash something is foreseen")
	}
	if a.care.on = false; a.foresees() == nil {
		t.Error("and nothing when care is over")
	}
}
