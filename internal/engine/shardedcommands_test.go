package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// refusesShard is a store that takes no commit of shard 1 while told so.
type refusesShard struct {
	checkpoint.Store
	on atomic.Bool
}

func (s *refusesShard) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if s.on.Load() && c.ID.Shard == 1 {
		return errors.New("no room")
	}
	return s.Store.Commit(ctx, c)
}

// M48: what is asked of a key is asked of its shard, which the answer names; what is asked of a graph is asked of all
// of its shards, and the answer says how each stands, and which of them has not done it.
func TestM48CommandsReachAllShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &refusesShard{Store: memstore.New()}
		b := newSharded(t, store)
		defer b.close()
		b.apply(threeShards, "g")
		b.push("g", "by", "1")
		b.fires(30)
		for n := range 30 {
			key := fmt.Sprintf(`"k%d"`, n)
			shard := boundary.Key(key).Shard(3)
			st, err := b.e.State(t.Context(), ofG, key)
			if err != nil || st.Shard != shard || len(st.Shards) != 0 || string(st.Nodes["n"]) != "1" {
				t.Errorf("the state of %s, in shard %d: %+v, %v", key, shard, st, err)
			}
			f, err := b.e.Fire(t.Context(), ofG, api.FireRequest{Mode: "force", Key: json.RawMessage(key)})
			if err != nil || f.Shard != shard || !f.OK {
				t.Errorf("force %s, in shard %d: %+v, %v", key, shard, f, err)
			}
		}
		sum, err := b.e.Pause(t.Context(), ofG, "test")
		b.rows(t, &sum, 30, 60, true)
		if err != nil {
			t.Error(err)
		}
		b.fires(12)
		st, err := b.e.State(t.Context(), ofG, "")
		if err != nil || st.Queues["a"] != 12 || !st.Paused || len(st.Shards) != 3 || st.Epoch != 60 {
			t.Errorf("the state of all: %+v, %v", st, err)
		}
		if sum, err = b.e.Step(t.Context(), ofG, 100); err != nil {
			t.Error(err)
		}
		b.rows(t, &sum, 30, 72, true)
		store.on.Store(true)
		refused, _ := errors.AsType[*api.Error](second(b.e.Resume(t.Context(), ofG, "test")))
		if refused == nil || !strings.HasPrefix(refused.Detail, "shard 1 of 3 (done in 0, 2): ") {
			t.Fatalf("shard 1 cannot be resumed: %v", refused)
		}
		rows, _ := refused.Extra["shards"].([]api.ShardResult)
		if len(rows) != 3 || rows[1].Done || rows[1].Code != refused.Code || !rows[0].Done || !rows[2].Done {
			t.Errorf("what each did: %+v", rows)
		}
		store.on.Store(false)
		if sum, err = b.e.Resume(t.Context(), ofG, "test"); err != nil {
			t.Error(err)
		}
		b.rows(t, &sum, 30, 72, false)
	})
}

// M48: what is told of one shard is its own: the sums of a graph are made of it, and its row is the only one.
func TestM48OneShardIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, memstore.New())
		defer b.close()
		b.apply(threeShards, "g")
		b.push("g", "by", "1")
		b.fires(30)
		if _, err := b.e.Pause(t.Context(), ofG, "test"); err != nil {
			t.Fatal(err)
		}
		b.fires(12)
		sum, err := b.e.Graph(t.Context(), ofG)
		if err != nil {
			t.Fatal(err)
		}
		var keys int
		var epochs, received, queued int64
		for n, row := range sum.Shards {
			one, err := b.e.Shard(t.Context(), ofG, n)
			if err != nil || len(one.Shards) != 1 || one.Shards[0].Shard != n || one.Keys.Shards != 0 {
				t.Fatalf("shard %d: %+v, %v", n, one, err)
			}
			a := &one.Accumulators[0].Counters
			if one.Epoch != row.Epoch || one.Keys.Count != row.Keys || a.Queued != row.Queued ||
				row.LastFiredAt == nil || !row.LastFiredAt.Equal(*one.LastFiredAt) {
				t.Errorf("shard %d: %+v, its row is %+v", n, one, row)
			}
			st, err := b.e.ShardState(t.Context(), ofG, n)
			if err != nil || st.Shard != n || int64(st.Queues["a"]) != row.Queued || st.Epoch != row.Epoch ||
				!st.Paused {
				t.Errorf("the state of shard %d: %+v, %v", n, st, err)
			}
			keys, epochs = keys+one.Keys.Count, epochs+one.Epoch
			received, queued = received+a.Received, queued+row.Queued
		}
		if keys != sum.Keys.Count || epochs != sum.Epoch || received != sum.Accumulators[0].Counters.Received ||
			queued != sum.Counters.Queued || queued != 12 {
			t.Errorf("%d keys, %d epochs, %d received, %d queued; of the graph: %+v", keys, epochs, received, queued,
				sum)
		}
		for _, n := range []int{-1, 3} {
			_, err := b.e.Shard(t.Context(), ofG, n)
			_, of := b.e.ShardState(t.Context(), ofG, n)
			if problem(err) != "shard_not_found" || problem(of) != "shard_not_found" {
				t.Errorf("shard %d: %v, %v", n, err, of)
			}
		}
	})
}

func second[A any](_ A, err error) error { return err }

// rows checks what a summary says of each shard.
func (b *bed) rows(t *testing.T, s *api.GraphSummary, keys int, epochs int64, paused bool) {
	t.Helper()
	if len(s.Shards) != 3 || s.Epoch != epochs || s.Paused != paused {
		t.Fatalf("epoch %d, paused %t, %+v", s.Epoch, s.Paused, s.Shards)
	}
	for n, row := range s.Shards {
		if row.Shard != n || row.Health != "live" || row.Paused != paused || row.Incarnation == 0 || row.Epoch == 0 {
			t.Errorf("row %d: %+v", n, row)
		}
		keys, epochs = keys-row.Keys, epochs-row.Epoch
	}
	if keys != 0 || epochs != 0 {
		t.Errorf("%d keys and %d epochs are in no row: %+v", keys, epochs, s.Shards)
	}
}

// M48, M44: a rewind, and going on behind what a source has lost, are done in every shard; each says so for itself.
func TestM48SourcesGoOnInAllShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		source := sourceFunc(func(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
			if len(from) > 0 && gone.Load() {
				return &accumulator.DataLost{Want: from[0].String(), Have: "100"}
			}
			out.Health(accumulator.Live, "")
			at := int64(0)
			if len(from) > 0 {
				at = from[0].Offset
			}
			for at++; at <= 30; at++ {
				ev := boundary.Event{Raw: fmt.Appendf(nil, `{"id":"k%d","x":1}`, at)}
				ev.Pos.Offset = at
				if err := out.Emit(ctx, []boundary.Event{ev}); err != nil {
					return nil
				}
			}
			<-ctx.Done()
			return nil
		})
		b := newShardedOf(t, memstore.New(), &scripted{source: func(name string) accumulator.Source {
			if name != "a" {
				return nil
			}
			return source
		}})
		defer b.close()
		b.apply(strings.Replace(threeShards, "default: 0", "default: 1", 1), "g")
		time.Sleep(time.Second)
		if s := b.summary("g"); s.Accumulators[0].Counters.Consumed != 30 || len(s.Shards) != 3 || s.Keys.Count != 30 {
			t.Fatalf("%+v, %+v", s.Accumulators[0].Counters, s.Shards)
		}
		if _, err := b.e.Rewind(t.Context(), ofG, "a", "start", "g", "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := b.summary("g"); s.Accumulators[0].Counters.Consumed != 60 || s.Epoch != 60 {
			t.Errorf("after a rewind: %+v", s.Accumulators[0].Counters)
		}
		if _, err := b.e.SkipLost(t.Context(), ofG, "a", "ann"); problem(err) != "nothing_lost" {
			t.Errorf("nothing is lost: %v", err)
		}
		gone.Store(true)
		if _, err := b.e.Restart(t.Context(), ofG, "a", "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := b.summary("g"); s.Health != "halted" {
			t.Fatalf("%s %+v", s.Health, s.HealthReason)
		}
		res, err := b.e.SkipLost(t.Context(), ofG, "a", "ann")
		if err != nil || len(res.Gaps) != 3 {
			t.Fatalf("%+v, %v", res.Gaps, err)
		}
		for n, gap := range res.Gaps {
			if gap.Shard != n || gap.From != "@30" || gap.Reason != "replaced" {
				t.Errorf("gap %d: %+v", n, gap)
			}
		}
		time.Sleep(time.Second)
		if s := b.summary("g"); s.Health != "live" || s.Epoch != 90 || s.Accumulators[0].Gaps != 1 {
			t.Errorf("%s %+v, epoch %d", s.Health, s.HealthReason, s.Epoch)
		}
		told := map[string]int{}
		for _, ev := range b.recovery("g") {
			told[fmt.Sprint(ev.Kind, ev.Shard)]++
		}
		for n := range 3 {
			if told[fmt.Sprint("rewound", n)] != 1 || told[fmt.Sprint("gap_skipped", n)] != 1 {
				t.Errorf("what is told of shard %d: %v", n, told)
			}
		}
	})
}
