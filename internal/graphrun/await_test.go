package graphrun

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/supervisor"
)

const summing = "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\n" +
	"outputs: { o: { from: n, sink: { drop: {} } } }\n"

// newGraph is a graph over a memory store, in a synctest bubble; end stops what runs of it.
func newGraph(t *testing.T) (g *Graph, end func()) {
	t.Helper()
	store, kinds, log := memory.New(), &builtin.Kinds{}, slog.New(slog.DiscardHandler)
	unit, diags := kinds.Parse([]byte(summing), "")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	decl := checkpoint.Declaration{Tenant: "default", Graph: "g", Text: summing}
	if _, err := store.PutDeclaration(t.Context(), decl, 0); err != nil {
		t.Fatal(err)
	}
	tasks := supervisor.NewTree(time.Now).Root("test").NewGroup()
	keeper := lease.New(lease.Config{Store: store, Log: log, TTL: time.Second})
	if err := keeper.Begin(t.Context(), tasks); err != nil {
		t.Fatal(err)
	}
	g = New(&Host{
		Host: lives.Host{
			Host:  life.Host{Store: store, Kinds: kinds, Log: log, Feeds: feed.New(nil)},
			Lease: keeper, Tasks: tasks, ShutdownTimeout: 10 * time.Second,
			CloseBy: func() time.Time { return time.Time{} }, Closing: func() bool { return false },
		},
		MaxEventBytes: 1 << 20, MailboxEvents: 100, MailboxBytes: 1 << 20, PushTimeout: time.Second,
		Room: func(api.Ref) error { return nil },
	}, decl, unit)
	return g, func() {
		if err := g.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		g.Close()
		if err := tasks.WaitContext(t.Context()); err != nil {
			t.Errorf("the end: %v", err)
		}
	}
}

// waited is what somebody who waits has seen, and after which time.
type waited struct {
	sum  api.GraphSummary
	took time.Duration
}

// wait has somebody wait for a summary, and answers when nothing but a change can end it.
func wait(g *Graph, most time.Duration, shows func(s *api.GraphSummary) bool) <-chan waited {
	out := make(chan waited, 1)
	go func() {
		began := time.Now()
		sum := g.await(context.Background(), most, shows)
		out <- waited{sum, time.Since(began)}
	}()
	synctest.Wait()
	return out
}

// Who waits for a graph to show something is woken by the change that shows it, whatever makes
// it: in a bubble the clock stands still until everybody waits, so no time passes before.
func TestAwaitIsWokenByWhatChanges(t *testing.T) {
	const most = time.Minute
	healthy := func(want reactor.Health) func(s *api.GraphSummary) bool {
		return func(s *api.GraphSummary) bool { return s.Health == string(want) }
	}
	for name, try := range map[string]func(t *testing.T, g *Graph) waited{
		"a health without a run": func(_ *testing.T, g *Graph) waited {
			out := wait(g, most, healthy(reactor.HealthFailed))
			g.first().SetHealth(reactor.HealthFailed, "why", "")
			return <-out
		},
		"the end of a run": func(t *testing.T, g *Graph) waited {
			g.Start(t.Context())
			synctest.Wait()
			out := wait(g, most, healthy(reactor.HealthStopped))
			if err := g.Stop(); err != nil {
				t.Fatal(err)
			}
			return <-out
		},
		"a view": func(t *testing.T, g *Graph) waited {
			g.Start(t.Context())
			synctest.Wait()
			out := wait(g, most, func(s *api.GraphSummary) bool { return s.Epoch == 1 })
			if _, err := g.Push(t.Context(), "a", []json.RawMessage{[]byte("1")}); err != nil {
				t.Fatal(err)
			}
			return <-out
		},
		"the run after a restart": func(t *testing.T, g *Graph) waited {
			g.Start(t.Context())
			synctest.Wait()
			out := wait(g, most, func(s *api.GraphSummary) bool { return s.Incarnation == 2 && told.Loaded(s) })
			g.first().Restart()
			return <-out
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, end := newGraph(t)
				defer end()
				if got := try(t, g); got.took > 100*time.Millisecond {
					t.Errorf("it was seen after %v: %+v", got.took, got.sum)
				}
			})
		})
	}
}

// A reactor that is stuck publishes nothing; that its graph is busy is seen when it is, all the same.
func TestAwaitSeesAStuckReactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGraph(t)
		defer end()
		g.Start(t.Context())
		synctest.Wait()
		out := wait(g, time.Minute, func(s *api.GraphSummary) bool {
			return s.HealthReason != nil && s.HealthReason.Code == "reactor_busy"
		})
		time.Sleep(time.Second)
		r, err := g.running()
		if err != nil {
			t.Fatal(err)
		}
		free := make(chan struct{})
		go func() { _ = r.Reactor.Look(t.Context(), func(*reactor.Core, time.Time) { <-free }) }()
		if got := <-out; got.took > time.Second+told.BusyAfter {
			t.Errorf("it was seen after %v: %+v", got.took, got.sum)
		}
		close(free)
	})
}

// Who has the time of a wait for nothing gets the summary as it is.
func TestAwaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, end := newGraph(t)
		defer end()
		got := <-wait(g, 7*time.Second, func(*api.GraphSummary) bool { return false })
		if got.took != 7*time.Second || got.sum.Graph != "g" {
			t.Errorf("after %v: %+v", got.took, got.sum)
		}
	})
}
