package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/pushkey"
)

// redeclare has a store say that the graph is declared otherwise than its keys are dealt: as one that an older release
// ran as one does, or that another has changed.
func redeclare(t *testing.T, store checkpoint.Store, text string) {
	t.Helper()
	d := checkpoint.Declaration{Tenant: "default", Graph: "g", Text: text, Origin: "api"}
	if _, err := store.PutDeclaration(t.Context(), d, 0); err != nil {
		t.Fatal(err)
	}
}

// quiet holds that no start of the graph was charged to a crash.
func (b *bed) quiet(t *testing.T) {
	t.Helper()
	for _, ev := range b.recovery("g") {
		if ev.Kind == "unclean_start" || ev.Kind == "quarantined" {
			t.Errorf("%+v", ev)
		}
	}
}

// M54: a graph that begins over a state that was dealt for another number of shards is dealt anew by itself, in either
// direction, with everything that it had; its declaration stays, with a revision for it.
func TestM54DealsByItselfAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newSharded(t, store)
		b.apply(withShards(1), "g")
		b.push("g", "limit", `7`)
		b.feedAll()
		b.close()
		pushed := 1
		for _, n := range []int{4, 3, 1, 7} {
			redeclare(t, store, withShards(n))
			b = newSharded(t, store)
			time.Sleep(time.Second)
			synctest.Wait()
			b.holds(t, fmt.Sprintf("%d shards", n), n, pushed)
			b.feedAll()
			pushed++
			b.holds(t, fmt.Sprintf("%d shards, and more", n), n, pushed)
			b.quiet(t)
			decls, err := store.Revisions(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"})
			if err != nil || !strings.HasPrefix(decls[0].Change, fmt.Sprintf("keys dealt to shards: %d, after ", n)) {
				t.Errorf("%d shards: %v %+v", n, err, decls)
			}
			b.close()
			b = newSharded(t, store)
			time.Sleep(time.Second)
			b.holds(t, fmt.Sprintf("%d shards, begun again", n), n, pushed)
			again, err := store.Revisions(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"})
			if err != nil || again[0].Revision != decls[0].Revision {
				t.Errorf("%d shards: dealt twice: %v %+v", n, err, again)
			}
			b.close()
		}
	})
}

// M53, M54: a push with a key that waits for a shard to run does not hold up the deal that it is to run with, however
// long it waits itself.
func TestM54APushWithAKeyHoldsUpNoDeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		other := newSharded(t, inner)
		other.apply(keyedPushes["dealt, event"], "g")
		taken, faults := make(chan struct{}), make([]checkpointtest.Fault, 4)
		for n := range faults {
			faults[n].Wait = taken
		}
		store := checkpointtest.NewFaulty(inner, nil)
		store.Script(checkpointtest.OpAcquire, faults...)
		b := newSharded(t, store)
		defer b.close()
		other.apply(strings.Replace(keyedPushes["dealt, event"], "shards: 4", "shards: 3", 1), "g")
		other.close()
		answered := false
		go func() {
			ctx := pushkey.Batch(pushkey.With(t.Context(), pushkey.Key{Text: "k", Hash: []byte("body")}), 0)
			r, err := b.e.Push(ctx, shardedRef, "a", keyedBody())
			if answered = true; err != nil || r.Accepted != 898 {
				t.Errorf("%+v, %v", r, err)
			}
		}()
		synctest.Wait()
		close(taken)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := b.summary("g"); !answered || s.Keys.Shards != 3 || s.Keys.ShardsRunning != 3 {
			t.Errorf("answered: %v; %s %+v, keys %+v", answered, s.Health, s.HealthReason, s.Keys)
		}
	})
}

// losing is a store that changes of the number of shards do not come to, and that does not say so.
type losing struct {
	checkpoint.Store
	loses atomic.Bool
}

func (l *losing) Redeal(ctx context.Context, r *checkpoint.Redeal) (int64, error) {
	if l.loses.Load() {
		return 0, checkpoint.ErrUnknownOutcome
	}
	return l.Store.Redeal(ctx, r)
}

// M54: where the store dies while a graph is dealt at its start it runs on as it was, says so, and is dealt when it is
// tried again; or at once, where it is applied.
func TestM54RunsAsDealtWhereItCannotBeDealt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &losing{Store: memstore.New()}
		b := newSharded(t, store)
		b.apply(withShards(2), "g")
		b.push("g", "limit", `7`)
		b.feedAll()
		b.close()
		redeclare(t, store, withShards(5))
		pushed := 1
		for _, again := range []string{"by itself", "applied"} {
			store.loses.Store(true)
			b = newSharded(t, store)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			s := b.summary("g")
			if s.Health != "degraded" || s.HealthReason.Code != "dealt_otherwise" || s.Keys.Shards != 2 ||
				!strings.Contains(s.HealthReason.Detail, "dealt to shards: 2, and not to 5") {
				t.Fatalf("%s %+v, keys %+v", s.Health, s.HealthReason, s.Keys)
			}
			b.feedAll()
			pushed++
			if got, want := b.node(`"k3"`), fmt.Sprintf(`["k3",3,%d,7]`, 3*pushed); got != want {
				t.Errorf("it does not run on: %s, want %s", got, want)
			}
			store.loses.Store(false)
			if again == "applied" {
				res, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(5)), api.Change{})
				moved := strings.Join(res.Diff, "; ")
				if err != nil || !res.Changed || !strings.HasPrefix(moved, "moved keys: ") {
					t.Fatalf("%+v %v", res, err)
				}
			} else {
				time.Sleep(2 * firstDealPause)
			}
			synctest.Wait()
			b.holds(t, again, 5, pushed)
			b.quiet(t)
			b.close()
			b = newSharded(t, store)
			b.apply(withShards(2), "g") // the other way again
			time.Sleep(time.Second)
			b.holds(t, again+", and back", 2, pushed)
			b.close()
			redeclare(t, store, withShards(5))
		}
	})
}

// M54: an update changes the number of shards and more of a graph in one change; where the rest does not come up
// nothing of it is there.
func TestM54AnotherNumberAndMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(withShards(1), "g")
		b.push("g", "limit", `7`)
		b.feedAll()
		more := strings.Replace(withShards(3), "a: { strategy", "a: { capacity: 77, strategy", 1)
		more = strings.Replace(more, "limit]", "limit + 1]", 1)
		res, err := b.e.Apply(t.Context(), shardedRef, []byte(more), api.Change{})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.State.Dropped) != 1 || len(res.Diff) != 4 {
			t.Errorf("told: %+v %q", res.State, res.Diff)
		}
		b.feedAll()
		time.Sleep(time.Second)
		synctest.Wait()
		for n := range 20 {
			if got, want := b.node(fmt.Sprintf(`"k%d"`, n)), fmt.Sprintf(`["k%d",%d,%d,8]`, n, n, 2*n); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		s := b.summary("g")
		if s.Health != "live" || s.Keys.ShardsRunning != 3 || s.Accumulators[0].Counters.Received != 40 ||
			s.Accumulators[1].Counters.Received != 40 || s.Accumulators[2].Counters.Received != 1 {
			t.Errorf("%s %+v %+v", s.Health, s.HealthReason, s.Accumulators)
		}
		broken := strings.Replace(withShards(5), "a: { strategy", "a: { source: { file: { path: /nowhere/at/all } }, "+
			"strategy", 1)
		if _, err := b.e.Apply(t.Context(), shardedRef, []byte(broken), api.Change{}); err == nil {
			t.Error("a declaration that does not come up was applied")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s = b.summary("g")
		if got := b.node(`"k2"`); got != `["k2",2,4,8]` || s.Keys.ShardsRunning != 3 || s.Health != "live" {
			t.Errorf("after a refusal: %s, %s %+v %+v", got, s.Health, s.HealthReason, s.Keys)
		}
		b.quiet(t)
	})
}
