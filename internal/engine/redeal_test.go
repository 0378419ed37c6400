package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// redealtGraph has a fold by key beside what passes through and a value that all keys share.
const redealtGraph = `graph: g
accumulators:
  a: { strategy: sequential }
  sum: { fold: { key: event.id, init: { n: 0 }, step: { n: state.n + event.x } } }
  limit: { global: true, default: 100 }
reactor: { key: id, shards: 1 }
nodes: { n: { expr: '[key, a.x ?? 0, sum.n ?? 0, limit]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

func withShards(n int) string {
	return strings.Replace(redealtGraph, "shards: 1", fmt.Sprintf("shards: %d", n), 1)
}

// breaking is a store that dies at the n-th call of a change of the number of shards.
type breaking struct {
	checkpoint.Store
	on   bool
	left int
	// late has the last change arrive although it was said that nobody knows.
	late, unknown bool
}

var errBroken = errors.New("the store has died")

func (b *breaking) dies() bool {
	b.left--
	return b.on && b.left < 0
}

func (b *breaking) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	if b.on && b.dies() {
		b.on = false // it is back for the old shards
		return checkpoint.Head{}, errBroken
	}
	return b.Store.Acquire(ctx, id)
}

func (b *breaking) Redeal(ctx context.Context, r *checkpoint.Redeal) (int64, error) {
	switch {
	case b.late:
		b.on = false
		if _, err := b.Store.Redeal(ctx, r); err != nil {
			return 0, err
		}
		return 0, checkpoint.ErrUnknownOutcome
	case b.unknown:
		b.on = false
		return 0, checkpoint.ErrUnknownOutcome
	case b.on && b.dies():
		b.on = false
		return 0, errBroken
	}
	return b.Store.Redeal(ctx, r)
}

// holds says that the graph runs with so many shards, and has of every key what was pushed.
func (b *bed) holds(t *testing.T, what string, shards, pushed int) {
	t.Helper()
	time.Sleep(time.Second) // what a reactor shows is no older
	synctest.Wait()
	s := b.summary("g")
	if s.Health != "live" || max(s.Keys.Shards, 1) != shards || s.Keys.Count != 20 {
		t.Errorf("%s: %s %+v, keys %+v, want %d shards", what, s.Health, s.HealthReason, s.Keys, shards)
	}
	for n := range 20 {
		want := fmt.Sprintf(`["k%d",%d,%d,7]`, n, n, n*pushed)
		if got := b.node(fmt.Sprintf(`"k%d"`, n)); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if a := s.Accumulators[0].Counters; a.Received != int64(20*pushed) || a.Consumed != int64(20*pushed) {
		t.Errorf("%s: the books of a: %+v", what, a)
	}
	if l := s.Accumulators[2].Counters; l.Received != 1 {
		t.Errorf("%s: the books of limit: %+v", what, l)
	}
}

func (b *bed) feedAll() {
	b.t.Helper()
	var events []string
	for n := range 20 {
		events = append(events, fmt.Sprintf(`{"id":"k%d","x":%d}`, n, n))
	}
	b.push("g", "a", events...)
	b.push("g", "sum", events...)
}

// M54: another number of shards is an update. Wherever the store dies on the way, the graph runs on as it was; where it
// does not say what has become of the change, it is found out. No start of it is charged to a shard.
func TestM54RedealIsWholeOrNotAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &breaking{Store: memstore.New()}
		b := newSharded(t, store)
		b.apply(withShards(1), "g")
		b.push("g", "limit", `7`)
		b.feedAll()
		pushed, now := 1, 1
		b.holds(t, "before", 1, pushed)
		for _, n := range []int{3, 2, 7, 1} {
			for step := range max(n, now) + 1 {
				store.on, store.left = true, step
				_, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(n)), api.Change{})
				if err == nil || !errors.Is(err, errBroken) && !strings.Contains(err.Error(), errBroken.Error()) {
					t.Fatalf("%d shards after %d, the store died at call %d: %v", n, now, step, err)
				}
				synctest.Wait()
				b.holds(t, fmt.Sprintf("%d shards after %d, dead at call %d", n, now, step), now, pushed)
			}
			store.on, store.unknown = true, true
			if _, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(n)), api.Change{}); err == nil {
				t.Fatal("a change that was lost was told to be there")
			}
			synctest.Wait()
			b.holds(t, "lost on the way", now, pushed)
			store.on, store.unknown, store.late = false, false, n == 2
			if _, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(n)), api.Change{}); err != nil {
				t.Fatalf("%d shards after %d: %v", n, now, err)
			}
			store.late = false
			synctest.Wait()
			b.holds(t, fmt.Sprintf("%d shards after %d", n, now), n, pushed)
			b.feedAll()
			now, pushed = n, pushed+1
			b.holds(t, fmt.Sprintf("%d shards, and more", n), n, pushed)
			b.close()
			b = newSharded(t, store)
			time.Sleep(time.Second)
			synctest.Wait()
			b.holds(t, fmt.Sprintf("%d shards after a restart", n), n, pushed)
		}
		for _, ev := range b.recovery("g") {
			if ev.Kind == "unclean_start" || ev.Kind == "quarantined" {
				t.Errorf("%+v", ev)
			}
		}
		b.close()
	})
}

// M54: another number that is applied while no shard runs here for the moment, as before the lease is renewed after an
// outage, is waited with and not refused: a file that was refused is not tried again by itself.
func TestM54RedealWaitsForShardsThatStandBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newShared().view("a")
		b := newSharded(t, v)
		defer b.close()
		b.apply(withShards(2), "g")
		b.push("g", "limit", `7`)
		b.feedAll()
		if _, err := b.e.Checkpoint(t.Context(), shardedRef); err != nil {
			t.Fatal(err)
		}
		v.set(true, 0)
		b.until("g", reactor.HealthStandby, 10*time.Second)
		_, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(3)), api.Change{})
		if r := refusalOf(err); r == nil || !strings.Contains(r.Detail, "has no lease") {
			t.Errorf("while the store was away: %v", err)
		}
		v.set(false, 0)
		if _, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(3)), api.Change{}); err != nil {
			t.Fatal(err)
		}
		b.holds(t, "back again", 3, 1)
	})
}

// loading is a store that is read slowly until then.
type loading struct {
	checkpoint.Store
	until time.Time
}

func (l *loading) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	time.Sleep(time.Until(l.until)) // virtual
	return l.Store.Acquire(ctx, id)
}

// M54: another number that is found at a start, while the graph is being loaded, is waited with likewise.
func TestM54RedealWaitsForAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newSharded(t, store)
		b.apply(withShards(2), "g")
		b.push("g", "limit", `7`)
		b.feedAll()
		b.close()
		b = newSharded(t, &loading{store, time.Now().Add(25 * time.Second)})
		defer b.close()
		if _, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(3)), api.Change{}); err != nil {
			t.Fatal(err)
		}
		b.holds(t, "loaded", 3, 1)
	})
}

// M54: what another number of shards moves is told beforehand.
func TestM54TellsBeforehandWhatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(withShards(2), "g")
		b.push("g", "limit", `7`)
		b.feedAll()
		if _, err := b.e.Checkpoint(t.Context(), shardedRef); err != nil {
			t.Fatal(err)
		}
		dry, err := b.e.Apply(t.Context(), shardedRef, []byte(withShards(3)), api.Change{DryRun: true})
		moved := 0
		for n := range 20 {
			if key := boundary.KeyOf(boundary.String(fmt.Sprintf("k%d", n))); key.Shard(2) != key.Shard(3) {
				moved++
			}
		}
		if err != nil || len(dry.Diff) != 2 ||
			!strings.HasPrefix(dry.Diff[1], fmt.Sprintf("moved keys: %d of 20, with ", moved)) ||
			!strings.HasSuffix(dry.Diff[1], " from 2 shards to 3") {
			t.Errorf("told beforehand: %q, %v", dry.Diff, err)
		}
		b.holds(t, "told only", 2, 1)
	})
}

// tap is a source of as many events as there are.
type tap struct {
	mu   sync.Mutex
	n    int
	more chan struct{} // closed when there are more
}

func (s *tap) give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += n
	close(s.more)
	s.more = make(chan struct{})
}

func (s *tap) state() (n int, more chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n, s.more
}

func (s *tap) source(name string) accumulator.Source {
	if name != "a" {
		return nil
	}
	return sourceFunc(func(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
		at := 0
		if len(from) > 0 {
			at = int(from[0].Offset)
		}
		out.Health(accumulator.Live, "")
		for {
			n, more := s.state()
			for ; at < n; at++ {
				err := out.Emit(ctx, []boundary.Event{{Raw: fmt.Appendf(nil, `{"id":"k%d","x":%d}`, at%20, at%20),
					Pos: boundary.Position{Stream: "s", Offset: int64(at + 1)}}})
				if err != nil {
					return err
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return nil
			}
		}
	})
}

const tappedGraph = `graph: g
accumulators:
  a: { source: { file: { path: in.ndjson } }, fold: { key: event.id, init: { n: 0 }, step: { n: state.n + event.x } } }
reactor: { key: id, shards: 2 }
nodes: { n: { expr: '[key, a.n]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

// M54: what a source gives is taken in once, whatever the number of shards.
func TestM54RedealStopsAtOneCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tap{more: make(chan struct{})}
		kinds := &scripted{source: s.source}
		kinds.Stdout = stdout.NewOutput(os.Stderr)
		e := New(Config{Store: memstore.New(), Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := &bed{t, e, nil}
		defer b.close()
		b.apply(tappedGraph, "g")
		want := 0
		for _, n := range []int{3, 1, 2} {
			s.give(40)
			want += 2
			synctest.Wait()
			doc := strings.Replace(tappedGraph, "shards: 2", fmt.Sprintf("shards: %d", n), 1)
			if _, err := e.Apply(t.Context(), shardedRef, []byte(doc), api.Change{}); err != nil {
				t.Fatalf("%d shards: %v", n, err)
			}
			s.give(20)
			want++
			time.Sleep(time.Second)
			synctest.Wait()
			for k := range 20 {
				if got := b.node(fmt.Sprintf(`"k%d"`, k)); got != fmt.Sprintf(`["k%d",%d]`, k, want*k) {
					t.Errorf("%d shards: %s, want %d times", n, got, want)
				}
			}
			if sum := b.summary("g"); sum.Counters.Received != int64(20*want) {
				t.Errorf("%d shards: %+v", n, sum.Counters)
			}
		}
	})
}
