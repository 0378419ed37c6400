package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
)

// unheard is a store of which the answer to the first taking of shard 3 is lost, before the other shards are taken, and
// beside which a member of another release is there.
type unheard struct {
	*view
	lost  atomic.Bool
	taken chan struct{} // closed when shard 3 is
}

func (u *unheard) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	if id.Shard != 3 {
		<-u.taken
	}
	head, err := u.view.Acquire(ctx, id)
	if id.Shard == 3 && u.lost.CompareAndSwap(false, true) {
		close(u.taken)
		<-ctx.Done()
		return checkpoint.Head{}, ctx.Err()
	}
	return head, err
}

func (u *unheard) Roster(ctx context.Context) (checkpoint.Roster, error) {
	r, err := u.view.Roster(ctx)
	r.Members = append(r.Members, checkpoint.Member{ID: "older", Version: "v0.0.1"})
	return r, err
}

// M54, M55: a daemon that finds the keys dealt to one shard lets go of all others, also of one whose taking was not
// answered because the stop came upon it: else another daemon could never deal them.
func TestM54ShardsThatAreNoMoreAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared()
		s.capacity["a"] = 1
		kinds := &scripted{source: func(string) accumulator.Source { return nil }}
		a := newBed(t, s.view("a"), kinds)
		a.apply(withShards(1), "g")
		a.push("g", "limit", `7`)
		a.feedAll()
		a.close()
		redeclare(t, s.store, withShards(4))
		s.capacity["b"] = 1
		u := &unheard{view: s.view("b"), taken: make(chan struct{})}
		b := newBed(t, u, kinds)
		defer b.close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := b.summary("g"); got.Health != "live" || got.Keys.ShardsRunning != 1 {
			t.Errorf("%s %+v, keys %+v", got.Health, got.HealthReason, got.Keys)
		}
		for id := range s.owned() {
			if id.Shard > 0 {
				t.Errorf("%s is owned", id)
			}
		}
	})
}
