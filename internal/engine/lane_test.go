package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/sink"
)

const laneDoc = `graph: lanes
accumulators: { a: { strategy: sequential }, b: { strategy: sequential } }
reactor: { epoch_timeout: 5s }
lanes: { slow: { pool: {} } }
nodes:
  n: { go: { name: slow }, inputs: [a], lane: slow, on_error: skip }
  m: { expr: b + 100 }
outputs: { o: { from: n, sink: { drop: {} } }, p: { from: m, sink: { drop: {} } } }
`

// M25: a node of a lane that does not come back is named within a second. Its epoch fails when its time is up, and the
// graph goes on without the node, degraded, until it is back; what it then comes to is dropped.
func TestM25NodeOfALaneIsQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, got := make(chan struct{}), &picky{}
		slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
			if n, _ := args[0].AsInt(); n == 1 {
				<-hold
			}
			return args[0], nil
		}
		b := newBed(t, memstore.New(), &scripted{
			Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": slow}},
			sink:  func(string) sink.Sink { return got },
		})
		defer b.close()
		b.apply(laneDoc, "lanes")
		push := func(input, value string) {
			t.Helper()
			ref := api.Ref{Tenant: "default", Name: "lanes"}
			if _, err := b.e.Push(t.Context(), ref, input, []json.RawMessage{json.RawMessage(value)}); err != nil {
				t.Fatal(err)
			}
		}
		says := func(when, code, detail string) {
			t.Helper()
			s := b.summary("lanes")
			why := s.HealthReason
			if why == nil || why.Code != code || !strings.Contains(why.Detail, detail) {
				t.Errorf("%s: %s %+v, want %s, %s", when, s.Health, why, code, detail)
			}
		}
		push("a", "1")
		time.Sleep(time.Second)
		says("while its epoch waits", "reactor_busy", "node n has run for 1s")
		time.Sleep(5 * time.Second)
		says("when that was given up", "stuck_node", "node n has run for 6s")
		push("b", "2")
		push("a", "3")
		time.Sleep(time.Second)
		if s := b.summary("lanes"); s.Epoch != 3 || s.Health != "degraded" || got.taken() != "[102]" {
			t.Errorf("without the node: %s, epoch %d, the sink has %s", s.Health, s.Epoch, got.taken())
		}
		close(hold)
		synctest.Wait() // it is back before the next epoch is due in which it runs
		push("a", "4")
		time.Sleep(time.Second)
		if s := b.summary("lanes"); s.Health != "live" || got.taken() != "[102 4]" {
			t.Errorf("afterwards: %s %+v, the sink has %s", s.Health, s.HealthReason, got.taken())
		}
		if letters := b.letters("lanes"); len(letters) != 1 || letters[0].Code != "epoch_timeout" ||
			!strings.Contains(letters[0].Reason, "node n: ") {
			t.Errorf("letters: %+v", letters)
		}
		metrics := b.e.Metrics(t.Context())
		if l := metrics[0].Lanes["slow"]; l.Runs != 2 || l.Late != 1 || l.Lost != 0 {
			t.Errorf("metrics: %+v", l)
		}
	})
}

// M25: a graph whose node does not come back is named within a second, and keeps no other from its epochs for longer,
// also where one at a time may run them. What it comes to when its time is up is dropped.
func TestM25OthersGoOnBesideAGraphThatIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, got := make(chan struct{}), &picky{}
		slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
			<-hold
			return args[0], nil
		}
		b := newBedOf(t, &scripted{
			Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": slow}},
			sink:  func(string) sink.Sink { return got },
		}, Config{Store: memstore.New(), Log: slog.New(slog.DiscardHandler), MaxEpochs: 1})
		defer b.close()
		b.apply(fmt.Sprintf(stuckDoc, "stuck"), "stuck")
		// No checkpoint wakes it.
		b.apply(fmt.Sprintf(busyDoc, "quick")+"durability: { interval: 1h }\n", "quick")
		ref := api.Ref{Tenant: "default", Name: "stuck"}
		if _, err := b.e.Push(t.Context(), ref, "a", []json.RawMessage{json.RawMessage("1")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i := range 5 {
			began := time.Now()
			quick := api.Ref{Tenant: "default", Name: "quick"}
			if _, err := b.e.Push(t.Context(), quick, "a", []json.RawMessage{
				json.RawMessage(fmt.Sprint(10 + i)),
			}); err != nil {
				t.Fatal(err)
			}
			for synctest.Wait(); !strings.Contains(got.taken(), fmt.Sprint(10+i)); synctest.Wait() {
				if time.Sleep(10 * time.Millisecond); time.Since(began) > time.Minute {
					close(hold)
					t.Fatalf("the epoch %d of the other graph has not come: the sink has %s", i+1, got.taken())
				}
			}
			most := 50 * time.Millisecond
			if i == 0 { // it has waited for the one place, until that was lent
				most += live.LendAfter
			}
			if took := time.Since(began); took > most {
				t.Errorf("epoch %d of the other graph took %v", i+1, took)
			}
			if s := b.summary("stuck"); s.Health != "degraded" || s.HealthReason == nil ||
				!strings.HasPrefix(s.HealthReason.Detail, "node n has run for 1s;") {
				t.Errorf("after a second: %s %+v", s.Health, s.HealthReason)
			}
		}
		time.Sleep(time.Minute)
		close(hold)
		time.Sleep(time.Second)
		letters := b.letters("stuck")
		if s := b.summary("stuck"); s.Health != "live" || got.taken() != "[10 11 12 13 14]" || len(letters) != 1 ||
			letters[0].Code != "epoch_timeout" {
			t.Errorf("afterwards: %s %+v, the sink has %s, letters %+v", s.Health, s.HealthReason, got.taken(), letters)
		}
	})
}

// doubtful is a store that does not know what has become of the next commit.
type doubtful struct {
	*memstore.Store
	next atomic.Bool
}

func (d *doubtful) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if d.next.CompareAndSwap(true, false) {
		return checkpoint.ErrUnknownOutcome
	}
	return d.Store.Commit(ctx, c)
}

// awayBed has a graph lanes whose node n is away until hold is closed, and that goes on without it.
func awayBed(t *testing.T, store checkpoint.Store, got *picky) (b *bed, hold chan struct{}) {
	t.Helper()
	hold = make(chan struct{})
	slow := func(_ []string, args []boundary.Value) (boundary.Value, error) {
		if n, _ := args[0].AsInt(); n == 1 {
			<-hold
		}
		return args[0], nil
	}
	b = newBed(t, store, &scripted{
		Kinds: builtin.Kinds{Functions: map[string]gofunc.Function{"slow": slow}},
		sink:  func(string) sink.Sink { return got },
	})
	b.apply(laneDoc, "lanes")
	ref := api.Ref{Tenant: "default", Name: "lanes"}
	if _, err := b.e.Push(t.Context(), ref, "a", []json.RawMessage{json.RawMessage("1")}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(8 * time.Second) // its time is up after 5, and the next checkpoint is written
	if s := b.summary("lanes"); s.HealthReason == nil || s.HealthReason.Code != "stuck_node" {
		t.Fatalf("the node is not away: %s %+v", s.Health, s.HealthReason)
	}
	return b, hold
}

// M25, M35: a graph whose reactor has ended with an error is built anew although a node of a lane is away. That one is
// waited for as long as a stop may take, and shown meanwhile; what it comes to at last is dropped.
func TestM25GraphIsBuiltAnewBesideANodeThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, got := &doubtful{Store: memstore.New()}, &picky{}
		b, hold := awayBed(t, store, got)
		defer b.close()
		awaited := func() bool {
			return slices.ContainsFunc(b.e.Tree(t.Context()), func(n api.TreeNode) bool {
				return strings.HasSuffix(n.Path, "/lanes/node/n")
			})
		}
		if awaited() {
			t.Error("it is waited for while the graph runs")
		}
		store.next.Store(true)
		b.push("lanes", "b", "2")
		time.Sleep(3 * time.Second)
		if s := b.summary("lanes"); !awaited() || s.Incarnation != 1 || s.HealthReason == nil ||
			s.HealthReason.Code != "stuck_node" {
			t.Errorf("while it is waited for: %s %+v, incarnation %d", s.Health, s.HealthReason, s.Incarnation)
		}
		time.Sleep(time.Minute)
		b.push("lanes", "b", "3")
		b.push("lanes", "a", "4")
		time.Sleep(time.Second)
		s := b.summary("lanes")
		if s.Incarnation != 2 || s.Health != "live" || got.taken() != "[102 103 4]" {
			close(hold)
			t.Fatalf("afterwards: %s %+v, incarnation %d, the sink has %s", s.Health, s.HealthReason, s.Incarnation,
				got.taken())
		}
		close(hold)
		time.Sleep(time.Second)
		if awaited() || got.taken() != "[102 103 4]" {
			t.Errorf("when it is back the sink has %s; it is waited for: %v", got.taken(), awaited())
		}
	})
}

// M38: a stop waits for a node that is away as long as it may take, names it then, and has written its checkpoint.
func TestM38StopNamesANodeThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, hold := awayBed(t, memstore.New(), &picky{})
		began := time.Now()
		err := b.e.Close()
		if took := time.Since(began); took > 30*time.Second+time.Millisecond {
			t.Errorf("the stop took %v", took)
		}
		if err == nil || !strings.Contains(err.Error(), "lanes/node/n") {
			t.Errorf("what would not stop is not named: %v", err)
		}
		head, acquired := b.store.Acquire(t.Context(), checkpoint.ID{Tenant: "default", Graph: "lanes"})
		if acquired != nil || head.UncleanStarts != 1 || head.Epoch != 1 {
			t.Errorf("the store has %+v, %v", head, acquired)
		}
		close(hold)
		synctest.Wait()
	})
}
