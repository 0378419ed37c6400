package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/quota"
)

// toldHealth is a graph's health with its reason.
func toldHealth(t *testing.T, e *Engine, g api.Ref) string {
	t.Helper()
	s, err := e.Graph(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	if s.HealthReason == nil {
		return s.Health
	}
	return s.Health + " " + s.HealthReason.Code + ": " + s.HealthReason.Detail
}

// TestLimitOfEvents: a graph whose declaration bounds its events takes so many in a second, under both clocks, all of
// them in the end and none of them late; one beside it that declares nothing is not held back; and the limit of a later
// declaration counts from its application on.
func TestLimitOfEvents(t *testing.T) {
	for _, clock := range []string{"arrival", "event"} {
		t.Run(clock, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in.ndjson")
			var lines strings.Builder
			for i := range 2000 {
				fmt.Fprintf(&lines, "{\"t\":%d}\n", 1_000_000+i)
			}
			if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			doc := "clock: " + clock + "\naccumulators: { a: { time: event.t, source: { file: { path: " + path +
				" } } } }\nreactor: { strategy: sequential }\noutputs: { o: { from: a, sink: { drop: {} } } }\n"
			synctest.Test(t, func(t *testing.T) {
				b := limitedBed(t, Config{Quotas: quota.NewBook(nil)})
				defer b.close()
				slow, free := api.Ref{Tenant: "default", Name: "slow"}, api.Ref{Tenant: "default", Name: "free"}
				apply := func(g api.Ref, rest string) {
					t.Helper()
					if _, err := b.e.Apply(t.Context(), g, []byte("graph: "+g.Name+"\n"+doc+rest),
						api.Change{}); err != nil {
						t.Fatal(err)
					}
				}
				apply(slow, "limits: { events_per_second: 100 }\n")
				apply(free, "")
				received := func(g api.Ref) api.Counters {
					s, err := b.e.Graph(context.Background(), g)
					if err != nil {
						t.Fatal(err)
					}
					return s.Counters
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := received(slow).Received; n < 900 || n > 1150 {
					t.Errorf("after 10 s at 100 a second %d came in", n)
				}
				if n := received(free).Received; n != 2000 {
					t.Errorf("of a graph without limits %d came in", n)
				}
				if got := toldHealth(t, b.e, slow); !strings.HasPrefix(got,
					"degraded limit_slowed: limits.events_per_second is 100") {
					t.Error(got)
				}
				if got := toldHealth(t, b.e, free); got != "live" {
					t.Error(got)
				}
				apply(slow, "limits: { events_per_second: 500 }\n")
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if c := received(slow); c.Received != 2000 || c.Consumed != 2000 {
					t.Errorf("at the end there are %+v", c)
				}
				if got := toldHealth(t, b.e, slow); strings.Contains(got, "slowed") {
					t.Error(got)
				}
			})
		})
	}
}

// TestLimitOfProcessor: a graph that has worked for longer than its limit allows runs no epoch until that is made up
// for, under both clocks; it takes in what there is room for, tells of it, and carries commands out meanwhile.
func TestLimitOfProcessor(t *testing.T) {
	for _, clock := range []string{"arrival", "event"} {
		t.Run(clock, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				book := quota.NewBook(nil)
				b := limitedBed(t, Config{Quotas: book})
				defer b.close()
				g := api.Ref{Tenant: "default", Name: "g"}
				doc := "graph: g\nclock: " + clock + "\naccumulators: { a: { time: event.t } }\n" +
					"reactor: { strategy: sequential }\noutputs: { o: { from: a, sink: { drop: {} } } }\n" +
					"limits: { cpu: 0.5 }\n"
				if _, err := b.e.Apply(t.Context(), g, []byte(doc), api.Change{}); err != nil {
					t.Fatal(err)
				}
				book.Meter(g.Tenant, g.Name).Worked(0, 5500*time.Millisecond) // half a second of it was in hand
				event := json.RawMessage(fmt.Sprintf(`{"t":%d}`, time.Now().UnixMilli()))
				if _, err := b.e.Push(t.Context(), g, "a", []json.RawMessage{event}); err != nil {
					t.Fatal(err)
				}
				epochs := func() int64 {
					t.Helper()
					s, err := b.e.Graph(context.Background(), g)
					if err != nil {
						t.Fatal(err)
					}
					return s.Epoch
				}
				time.Sleep(9 * time.Second)
				synctest.Wait()
				if n := epochs(); n != 0 {
					t.Errorf("while it is to rest it has run %d epochs", n)
				}
				if got := toldHealth(t, b.e, g); !strings.HasPrefix(got, "degraded limit_slowed: limits.cpu is 0.5") {
					t.Error(got)
				}
				if _, err := b.e.Pause(t.Context(), g, ""); err != nil {
					t.Error(err)
				}
				if _, err := b.e.Resume(t.Context(), g, ""); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := epochs(); n != 1 {
					t.Errorf("after its rest it has run %d epochs", n)
				}
				time.Sleep(4 * time.Second)
				if got := toldHealth(t, b.e, g); got != "live" {
					t.Error(got)
				}
			})
		})
	}
}

// newSlowBed is an engine with a function slow, which takes two seconds and hands its first argument on.
func newSlowBed(t *testing.T) *bed {
	t.Helper()
	slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
		time.Sleep(2 * time.Second)
		return args[0], nil
	}
	return newBedOf(t, &scripted{Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": slow}}},
		Config{Store: memstore.New(), Log: slog.New(slog.DiscardHandler), Quotas: quota.NewBook(nil)})
}

// TestLimitOfProcessorCountsPools: what the workers of a pool take counts, each for itself; that the reactor waits for
// them does not.
func TestLimitOfProcessorCountsPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSlowBed(t)
		defer b.close()
		b.apply(`graph: g
accumulators: { a: { strategy: sequential } }
lanes: { pool: { pool: { max_threads: 4 } } }
nodes:
  p: { go: { name: slow }, inputs: [a], lane: pool }
  q: { go: { name: slow }, inputs: [a], lane: pool }
  r: { go: { name: slow }, inputs: [a], lane: pool }
  s: { go: { name: slow }, inputs: [a], lane: pool }
  all: { expr: p + q + r + s }
outputs: { o: { from: all, sink: { drop: {} } } }
limits: { cpu: 2 }
`, "g")
		after := func(when string, wait time.Duration, epoch int64, busy float64) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			if s := b.summary("g"); s.Epoch != epoch || s.Cost.BusySeconds != busy {
				t.Errorf("%s: epoch %d, %v s of work; want %d and %v", when, s.Epoch, s.Cost.BusySeconds, epoch, busy)
			}
		}
		g := api.Ref{Tenant: "default", Name: "g"}
		if _, err := b.e.Push(t.Context(), g, "a", []json.RawMessage{[]byte("1"), []byte("2")}); err != nil {
			t.Fatal(err)
		}
		after("the first epoch", 2500*time.Millisecond, 1, 8)
		// Of eight seconds two were in hand: the reactor rests for three.
		after("the second one", 4*time.Second, 1, 8)
		after("when that has ended", 1500*time.Millisecond, 2, 16)
	})
}

// TestCostOfCommands: an epoch that somebody commands costs what others do, also of a reactor that has just waited.
func TestCostOfCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSlowBed(t)
		defer b.close()
		b.apply(fmt.Sprintf(stuckDoc, "g"), "g")
		for i := range 3 {
			if _, err := b.e.Fire(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.FireRequest{
				Mode: "with", Cache: map[string]json.RawMessage{"a": []byte("7")},
			}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if s := b.summary("g"); s.Cost.BusySeconds != float64(2*(i+1)) {
				t.Errorf("%d epochs of two seconds cost %v", i+1, s.Cost.BusySeconds)
			}
		}
	})
}
