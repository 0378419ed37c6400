package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
		again := raw[res.Accepted+len(res.Rejected):]
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

// M5, M53: the dead letters of shards at three daemons are one list at each, and are replayed from any: what passes is
// gone from the shard that kept it, wherever that runs, and is taken once.
func TestM53LettersOfShardsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, true, false, "a", "b", "c")
		defer m.close()
		m.beds["a"].apply(strings.Replace(threeShards, "shards: 3", "shards: 12", 1), "g")
		time.Sleep(2 * time.Minute)
		if _, at := m.whole(12, "", time.Second); len(at) != 3 {
			t.Fatalf("%v", at)
		}
		m.beds["b"].push("g", "a", events(0, 40)...)
		time.Sleep(time.Second)
		for name, b := range m.beds {
			if all := b.allLetters(api.LetterChoice{}, 7); len(all) != 40 {
				t.Errorf("asked at %s: %d letters", name, len(all))
			}
		}
		m.beds["c"].push("g", "by", "2")
		time.Sleep(time.Second)
		one := m.beds["c"].allLetters(api.LetterChoice{Key: `"k7"`}, 5)
		if len(one) != 1 {
			t.Fatalf("%+v", one)
		}
		res, err := m.beds["b"].e.ReplayDeadLetter(t.Context(), shardedRef, one[0].ID)
		if err != nil || res.Accepted != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if r := m.beds["a"].replayAll(api.LettersRequest{All: true, Limit: 7}); r.Letters != 39 || r.Passed != 39 {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Second)
		for name, b := range m.beds {
			if all := b.allLetters(api.LetterChoice{}, 100); len(all) != 0 {
				t.Errorf("asked at %s: %d letters are left", name, len(all))
			}
			for n := range 40 {
				if got, want := b.node(fmt.Sprintf(`"k%d"`, n)), fmt.Sprint(float64(n)/2); got != want {
					t.Errorf("asked at %s, k%d: %s, want %s", name, n, got, want)
				}
			}
			c := b.summary("g").Accumulators[0].Counters
			if c.Received != 80 || c.Consumed != 40 || c.DeadLettered != 40 {
				t.Errorf("asked at %s: %+v", name, c)
			}
		}
	})
}

// M5, M53: dead letters whose replay is asked for at several daemons at one time are replayed once each.
func TestM53LettersAreReplayedOnceHoweverManyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMany(t, true, false, "a", "b", "c")
		defer m.close()
		m.beds["a"].apply(strings.Replace(threeShards, "shards: 3", "shards: 12", 1), "g")
		time.Sleep(2 * time.Minute)
		m.whole(12, "", time.Second)
		m.beds["b"].push("g", "a", events(0, 40)...)
		m.beds["c"].push("g", "by", "2")
		time.Sleep(time.Second)
		one := m.beds["c"].allLetters(api.LetterChoice{Key: `"k7"`}, 5)
		if len(one) != 1 {
			t.Fatalf("%+v", one)
		}
		var all sync.WaitGroup
		var done, gone, passed atomic.Int64
		for _, b := range m.beds {
			all.Go(func() {
				res, err := b.e.ReplayDeadLetter(t.Context(), shardedRef, one[0].ID)
				switch refused := refusalOf(err); {
				case err == nil && res.Accepted == 1:
					done.Add(1)
				case refused != nil && refused.Code == api.CodeDeadLetterNotFound:
					gone.Add(1)
				default:
					t.Errorf("%+v, %v", res, err)
				}
			})
		}
		all.Wait()
		if done.Load() != 1 || gone.Load() != 2 {
			t.Errorf("one letter was replayed %d times, and was not found %d times", done.Load(), gone.Load())
		}
		for _, b := range m.beds {
			all.Go(func() {
				res, err := b.e.ReplayDeadLetters(t.Context(), shardedRef, api.LettersRequest{All: true, Limit: 100})
				if err != nil || res.Passed != res.Letters {
					t.Errorf("%+v, %v", res, err)
				}
				passed.Add(int64(res.Passed))
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		c := m.beds["a"].summary("g").Accumulators[0].Counters
		if passed.Load() != 39 || c.Received != 80 || c.Consumed != 40 {
			t.Errorf("%d letters passed, %+v", passed.Load(), c)
		}
		m.s.mu.Lock()
		defer m.s.mu.Unlock()
		if len(m.s.claims) != 0 {
			t.Errorf("claims are left: %v", m.s.claims)
		}
	})
}

// holdsAll says that the graph has so many shards, all of which run, and of each key what was pushed, wherever it is
// asked.
func (m *many) holdsAll(what string, shards int) {
	m.t.Helper()
	for name, b := range m.beds {
		if s := b.summary("g"); s.Keys.Count != 40 || s.Keys.ShardsRunning != shards {
			m.t.Errorf("%s, asked at %s: %s %+v, keys %+v", what, name, s.Health, s.HealthReason, s.Keys)
		}
		for n := range 40 {
			if got, want := b.node(fmt.Sprintf(`"k%d"`, n)), fmt.Sprintf(`["k%d",%d,7]`, n, n); got != want {
				m.t.Errorf("%s, asked at %s: %s, want %s", what, name, got, want)
			}
		}
	}
}

// M52, M54: another number of shards while several members run them: they hand them over to the one that was asked, and
// have their share of the new ones soon after. Where that one is lost on the way, the others go on with what there was.
func TestM54AnotherNumberOfShardsOfSeveralMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		m.beds["b"].push("g", "limit", `7`)
		m.beds["b"].push("g", "a", events(0, 40)...)
		time.Sleep(time.Second)
		text := func(n int) []byte {
			return []byte(strings.Replace(shardedGraph, "shards: 4", fmt.Sprintf("shards: %d", n), 1))
		}
		for _, n := range []int{20, 6} {
			began := time.Now()
			if _, err := m.beds["a"].e.Apply(t.Context(), shardedRef, text(n), api.Change{}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("dealt to %d after %v", n, took)
			}
			time.Sleep(15 * time.Second) // sooner than what has ranked another first is handed back
			if _, at := m.whole(n, "", time.Second); len(at) != 3 {
				t.Errorf("%d shards are at %v", n, at)
			}
			m.holdsAll(fmt.Sprint(n, " shards"), n)
		}

		var both sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			both.Go(func() {
				n := map[string]int{"a": 9, "b": 9}[name]
				_, err := m.beds[name].e.Apply(t.Context(), shardedRef, text(n), api.Change{})
				if refused := refusalOf(err); err != nil && (refused == nil || refused.Status < 409) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		both.Wait()
		time.Sleep(20 * time.Second)
		m.whole(9, "", time.Second)
		m.holdsAll("two at one time", 9)

		m.views["a"].mu.Lock()
		m.views["a"].claimed = func() { m.views["a"].set(true, 0) }
		m.views["a"].mu.Unlock()
		var dealing sync.WaitGroup
		dealing.Go(func() {
			if _, err := m.beds["a"].e.Apply(t.Context(), shardedRef, text(4), api.Change{}); err == nil {
				t.Error("dealt by who has no store")
			}
		})
		m.whole(9, "a", 6*time.Second)
		m.views["a"].set(false, 0)
		dealing.Wait()
		time.Sleep(20 * time.Second)
		m.holdsAll("the dealer was lost", 9)
	})
}

// M45, M53: a member that hangs while it does what it was asked is waited for until its lease is over, and not for as
// long as a call may take: others have its shards by then.
func TestM53AMemberThatHangsIsWaitedForUntilItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		m.mu.Lock()
		m.slow["b"] = true
		m.mu.Unlock()
		m.views["b"].set(true, 0)
		began := time.Now()
		_, err := m.beds["a"].e.Pause(t.Context(), shardedRef, "test")
		if refused := refusalOf(err); refused == nil || refused.Code != api.CodeOwnerUnreachable {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the member was waited for %v", took)
		}
		m.views["b"].set(false, 0)
	})
}
