package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// newAsked are three daemons with a graph of twelve shards that is pushed to.
func newAsked(t *testing.T) *many {
	m := newMany(t, true, false, "a", "b", "c")
	m.beds["a"].apply(strings.Replace(shardedGraph, "shards: 4", "shards: 12", 1), "g")
	time.Sleep(2 * time.Minute) // each has its share by then
	if _, at := m.whole(12, "", time.Second); at["a"] < 2 || at["b"] < 2 || at["c"] < 2 {
		t.Fatalf("%v", at)
	}
	for _, b := range m.beds { // each has heard by now who has what
		time.Sleep(2 * time.Second)
		if s := b.summary("g"); s.Health != "live" || s.Keys.ShardsRunning != 12 {
			t.Fatalf("%s %+v: %+v", s.Health, s.HealthReason, s.Keys)
		}
	}
	return m
}

func events(from, to int) (list []string) {
	for n := from; n < to; n++ {
		list = append(list, fmt.Sprintf(`{"id":"k%d","x":%d}`, n, n))
	}
	return list
}

// M48, M53: of a graph whose shards run at three daemons each daemon answers for all: a push is dealt to the owners and
// has one answer, a global value reaches all shards, a key is found wherever it is, and all carry a command out.
func TestM53AnyDaemonAnswersForAllShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		a, b, c := m.beds["a"], m.beds["b"], m.beds["c"]
		b.push("g", "limit", `7`)
		list := events(0, 60)
		list[9] = `{`
		res := c.push("g", "a", list...)
		if res.Accepted != 59 || len(res.Rejected) != 1 || res.Rejected[0].Index != 9 {
			t.Fatalf("%+v", res)
		}
		time.Sleep(time.Second) // until all of it has fired
		for name, bed := range m.beds {
			for n := range 60 {
				want := fmt.Sprintf(`["k%d",%d,7]`, n, n)
				if got := bed.node(fmt.Sprintf(`"k%d"`, n)); n != 9 && got != want {
					t.Errorf("asked at %s: got %s, want %s", name, got, want)
				}
			}
			epochs := int64(0)
			for n := range 12 {
				one, err := bed.e.Shard(t.Context(), shardedRef, n)
				if err != nil || one.Health != "live" || len(one.Shards) != 1 || one.Shards[0].Shard != n {
					t.Errorf("shard %d asked at %s: %s %+v, %v", n, name, one.Health, one.Shards, err)
				}
				epochs += one.Epoch
			}
			s := bed.summary("g")
			if epochs != s.Epoch {
				t.Errorf("asked at %s: %d epochs in all shards, %d in the graph", name, epochs, s.Epoch)
			}
			of, all := s.Accumulators[0].Counters, s.Accumulators[1].Counters
			if s.Keys.Count != 59 || of.Received != 60 || of.Rejected != 1 || of.Consumed != 59 || all.Received != 1 ||
				s.Epoch < 59 {
				t.Errorf("asked at %s: %+v, keys %+v", name, s.Counters, s.Keys)
			}
		}
		a.commands(t)
		if sum, err := c.e.Reset(t.Context(), shardedRef, "g", "test"); err != nil || sum.Keys.Count != 0 ||
			sum.Counters.Received != 0 || sum.Keys.ShardsRunning != 12 {
			t.Errorf("a reset: %+v, %v", sum.Keys, err)
		}
	})
}

// M53: of a graph with shards at a daemon that cannot be reached it is told which, and what the others did; what a push
// had for it is told event by event, and what the others took is taken once.
func TestM53ADaemonThatCannotBeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		a := m.beds["a"]
		m.mu.Lock()
		m.deaf["b"] = true
		m.mu.Unlock()
		s := a.summary("g")
		if s.HealthReason == nil || s.HealthReason.Code != api.CodeOwnerUnreachable {
			t.Errorf("%s %+v", s.Health, s.HealthReason)
		}
		_, err := a.e.Pause(t.Context(), shardedRef, "test")
		refused := refusalOf(err)
		if refused == nil || refused.Status != 503 || refused.Code != api.CodeOwnerUnreachable {
			t.Fatalf("%v", err)
		}
		rows, _ := refused.Extra["shards"].([]api.ShardResult)
		done := 0
		for _, r := range rows {
			if r.Done {
				done++
			}
		}
		if at := m.lives(); len(rows) != 12 || done != 12-at["b"] {
			t.Errorf("%d rows, %d done; %v", len(rows), done, at)
		}
		m.mu.Lock()
		m.deaf["b"] = false
		m.mu.Unlock()
		if sum, err := a.e.Resume(t.Context(), shardedRef, "test"); err != nil || sum.Paused {
			t.Errorf("%+v, %v", sum, err)
		}
		m.mu.Lock()
		m.deaf["b"] = true
		m.mu.Unlock()
		var raw []json.RawMessage
		for _, e := range events(0, 40) {
			raw = append(raw, json.RawMessage(e))
		}
		res, err := a.e.Push(t.Context(), shardedRef, "a", raw)
		if err != nil || !res.Full || res.Why == nil || res.Why.Code != api.CodeOwnerUnreachable {
			t.Fatalf("%+v, %v", res, err)
		}
		m.mu.Lock()
		m.deaf["b"] = false
		m.mu.Unlock()
		again := raw[res.Accepted:]
		for _, r := range res.Rejected {
			if r.Code != api.CodeOwnerUnreachable {
				t.Errorf("%+v", r)
			}
			again = append(again, raw[r.Index])
		}
		if res, err := a.e.Push(t.Context(), shardedRef, "a", again); err != nil || res.Accepted != len(again) {
			t.Fatalf("%+v, %v", res, err)
		}
		time.Sleep(time.Second) // until all of it has fired
		if s := a.summary("g"); s.Keys.Count != 40 || s.Accumulators[0].Counters.Consumed != 40 {
			t.Errorf("%+v, keys %+v", s.Accumulators[0].Counters, s.Keys)
		}
	})
}
