package engine

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
)

// deafTo are two members, and a graph at the first whose source does not hear that it is to end until hold is closed.
func deafTo(t *testing.T, s *shared, hold <-chan struct{}) (a, b *bed) {
	t.Helper()
	deaf := func(string) accumulator.Source {
		return sourceFunc(func(_ context.Context, _ []boundary.Position, out accumulator.Out) error {
			out.Health(accumulator.Live, "")
			<-hold
			return nil
		})
	}
	a = newBed(t, s.view("a"), &scripted{source: deaf})
	a.apply("graph: g\naccumulators: { a: { source: { generator: { every: 1s, expr: i } } } }\nnodes: { n: { "+
		"expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
	a.until("g", reactor.HealthLive, time.Second)
	return a, newBed(t, s.view("b"), &scripted{source: deaf})
}

// M52: a graph whose source does not hear that it is to end is handed back all the same, and none of its restarts
// is used up.
func TestM52HandBackOfALateSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared()
		s.capacity["a"], s.capacity["b"] = 1, 0
		hold := make(chan struct{})
		a, b := deafTo(t, s, hold)
		s.drain("a", true)
		b.until("g", reactor.HealthLive, 20*time.Second)
		events, err := a.e.RecoveryEvents(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.Query{})
		if got := a.summary("g"); err != nil || len(events.Items) != 0 || got.Health != "standby" {
			t.Errorf("where it was: %+v, %+v, %v", got, events.Items, err)
		}
		close(hold)
		b.close()
		a.close()
	})
}

// M52: what another daemon declares and this one has no room for is told, and taken when there is room.
func TestM52NoRoomForAnothersDeclaration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newShared(), &sent{}
		s.capacity["a"] = 1
		d := &two{viewA: s.view("a"), viewB: s.view("b"), sent: out}
		d.a = newBed(t, d.viewA, &scripted{sink: out.by("a")})
		d.b = newBed(t, d.viewB, &scripted{sink: out.by("b")})
		defer d.close()
		d.b.e.cfg.MaxGraphs = 1
		for _, name := range []string{"g", "h", "i"} {
			d.a.apply(fmt.Sprintf(placed, name), name)
			d.a.until(name, reactor.HealthLive, time.Second)
		}
		d.b.until("g", reactor.HealthStandby, 2*time.Second)
		time.Sleep(time.Minute)
		w := d.b.e.Untaken.Warnings()
		if len(w) != 1 || w[0].Code != "graphs_not_taken" || !strings.Contains(w[0].Detail, "2 graphs") ||
			!strings.Contains(w[0].Detail, "too_many_graphs") {
			t.Errorf("warnings: %+v", w)
		}
		if n := d.b.e.Refusals()["too_many_graphs"]; n < 2 || n > 20 {
			t.Errorf("%d refusals", n)
		}
		for _, c := range [][2]string{{"g", "h"}, {"h", "i"}} {
			if err := d.a.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: c[0]}, true); err != nil {
				t.Fatal(err)
			}
			d.b.until(c[1], reactor.HealthStandby, 3*time.Second) // as soon as it has heard of the deletion
		}
		time.Sleep(time.Second)
		if w := d.b.e.Untaken.Warnings(); w != nil {
			t.Errorf("warnings: %+v", w)
		}
	})
}

// inTurns are kinds that have no turn for compiling until they are let.
type inTurns struct {
	*scripted
	mu    sync.Mutex
	asked []string // tenants
	free  bool
}

func (k *inTurns) ParseStoredFor(ctx context.Context, tenant string, document func() ([]byte, error), name string) (
	*compile.Unit, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, tenant)
	if !k.free {
		return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeBusy, Detail: "try again"}
	}
	return k.scripted.ParseStoredFor(ctx, tenant, document, name)
}

// M52: what another daemon declares is compiled in turn with what is applied here, and tried again where there was
// no turn.
func TestM52AnothersDeclarationWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared()
		s.capacity["a"] = 1
		a := newBed(t, s.view("a"), &scripted{})
		scripted := &scripted{source: func(string) accumulator.Source { return nil }}
		kinds, store := &inTurns{scripted: scripted}, s.view("b")
		b := &bed{t, New(Config{Store: store, Kinds: kinds, Log: slog.New(slog.DiscardHandler)}), store}
		if err := b.e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.apply(fmt.Sprintf(placed, "g"), "g")
		time.Sleep(3 * time.Second)
		if w := b.e.Untaken.Warnings(); len(w) != 1 || !strings.Contains(w[0].Detail, "busy") {
			t.Errorf("warnings: %+v", w)
		}
		kinds.mu.Lock()
		kinds.free = true
		kinds.mu.Unlock()
		b.until("g", reactor.HealthStandby, 10*time.Second)
		if len(kinds.asked) != 2 || kinds.asked[0] != "default" {
			t.Errorf("asked for %v", kinds.asked)
		}
		b.close()
		a.close()
	})
}

// M38, M52: what is stopped to be handed over has the time that the whole stop has, and not one of its own: it is
// given up in that time whatever of it does not end.
func TestM38HandOverIsPartOfTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared()
		s.capacity["a"], s.capacity["b"] = 1, 0
		hold := make(chan struct{})
		a, b := deafTo(t, s, hold)
		time.Sleep(2 * time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		a.e.HandOver(ctx, began.Add(4*time.Second))
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the hand-over took %v", took)
		}
		b.until("g", reactor.HealthLive, time.Second)
		close(hold)
		b.close()
		a.close()
	})
}

// M52: at debug both sides of a hand-back say what took how long.
func TestM52AHandBackIsToldStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared()
		s.capacity["a"], s.capacity["b"] = 1, 0
		logs := map[string]*strings.Builder{}
		member := func(name string) *bed {
			logs[name] = &strings.Builder{}
			to := slog.NewTextHandler(logs[name], &slog.HandlerOptions{Level: slog.LevelDebug})
			return newBedWith(t, s.view(name), &scripted{}, slog.New(to))
		}
		a := member("a")
		a.apply(fmt.Sprintf(beats, "g"), "g")
		a.until("g", reactor.HealthLive, time.Second)
		b := member("b")
		s.drain("a", true)
		b.until("g", reactor.HealthLive, 5*time.Second)
		time.Sleep(time.Minute) // a checkpoint has come, too
		b.close()
		a.close()
		for name, says := range map[string]string{
			"a": "the graph was handed over,took,sources,cut,journal,deliveries,commit_under_way,last_commit,given_up",
			"b": "the graph goes on here,took,taken,loaded,first_epoch,first_commit",
		} {
			n := 0
			for line := range strings.Lines(logs[name].String()) {
				words := strings.Split(says, ",")
				if !strings.Contains(line, words[0]) {
					continue
				}
				n++
				at := 0
				for _, word := range words[1:] {
					more := strings.Index(line[at:], " "+word+"=")
					if more < 0 {
						t.Fatalf("%s says %q, without %s or elsewhere", name, line, word)
					}
					at += more
				}
			}
			if n != 1 {
				t.Errorf("%s has told %d times that %s", name, n, says)
			}
		}
	})
}

// beats is a graph that fires by itself.
const beats = "graph: %s\naccumulators: { a: { source: { generator: { every: 1s, expr: i } } } }\n" +
	"nodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
