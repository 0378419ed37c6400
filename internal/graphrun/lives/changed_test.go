package lives

import (
	"log/slog"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
	"github.com/graphd/graphd/internal/watch"
)

// Who shows a shard is told of everything that changes it beside its run's view: of a health without a run, and of the
// beginning and the end of one.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	store, kinds, log := memory.New(), &builtin.Kinds{}, slog.New(slog.DiscardHandler)
	unit, diags := kinds.Parse([]byte("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\n"+
		"outputs: { o: { from: n, sink: { drop: {} } } }\n"), "")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	tasks := supervisor.NewTree(time.Now).Root("test").NewGroup()
	keeper := lease.New(lease.Config{Store: store, Log: log, TTL: time.Second})
	if err := keeper.Begin(t.Context(), tasks); err != nil {
		t.Fatal(err)
	}
	ref, changes := api.Ref{Tenant: "default", Name: "g"}, 0
	s := New(Config{
		Host: &Host{
			Host:  life.Host{Store: store, Kinds: kinds, Log: log, Feeds: feed.New(nil)},
			Lease: keeper, Tasks: tasks, ShutdownTimeout: 10 * time.Second,
		},
		Ref: ref, Unit: unit, Mailboxes: []*pump.Mailbox{pump.NewMailbox(0, 0)}, Hub: watch.NewHub(ref),
		Restarts: new(told.Restarts),
		Known:    func() *told.Known { return &told.Known{Ref: ref, Spec: unit.Spec, Gaps: make([]int64, 1)} },
		Changed:  func() { changes++ },
	})
	told := func(what, health string, do func()) {
		t.Helper()
		before := changes
		do()
		if got := s.Summary().Health; changes == before || got != health {
			t.Errorf("%s: told %d times, and the health is %s, not %s", what, changes-before, got, health)
		}
	}
	told("a health without a run", "failed", func() { s.SetHealth(reactor.HealthFailed, "why", "") })
	head, err := store.Acquire(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	r, err := life.New(t.Context(), s.shared(), head, s.stand(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	told("the beginning of a run", "starting", func() { s.begin(r) })
	if s.Run() != r || s.Incarnation() != head.Incarnation {
		t.Errorf("incarnation %d runs, not %d", s.Incarnation(), head.Incarnation)
	}
	told("the end of a run", "stopped", func() { s.retire(r) })
}

// M43: an operator's word about what has crashed is of the daemon that had it, and not kept until another that runs the
// shard has gone.
func TestM43APardonEndsWhereAnotherRunsIt(t *testing.T) {
	t.Parallel()
	s := New(Config{Host: &Host{}, Ref: api.Ref{Tenant: "default", Name: "g"}})
	s.Restart()
	s.setOwner(lease.Standing{})
	if !s.pardon {
		t.Error("it is forgotten before the shard is another's")
	}
	if s.setOwner(lease.Standing{Owner: "b"}); s.pardon {
		t.Error("it is kept while another daemon runs the shard")
	}
}
