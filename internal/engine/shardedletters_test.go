package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

const threeShards = `graph: g
accumulators:
  a: { strategy: sequential }
  by: { global: true, default: 0 }
reactor: { key: id, shards: 3 }
nodes: { n: { expr: 'a.x / by' } }
outputs: { o: { from: n, sink: { drop: {} } } }
dead_letters: { keep: 10m }
`

// allLetters reads the list of dead letters by pages.
func (b *bed) allLetters(c api.LetterChoice, limit int) (all []api.DeadLetter) {
	b.t.Helper()
	for q := (api.LetterQuery{LetterChoice: c, Limit: limit}); ; {
		p, err := b.e.DeadLetters(b.t.Context(), ofG, q)
		if err != nil || len(p.Items) > limit {
			b.t.Fatalf("%+v: %d letters, %v", q, len(p.Items), err)
		}
		all = append(all, p.Items...)
		if q.Before = p.Next; p.Next == "" {
			return all
		}
	}
}

// replayAll replays letters by requests that go on behind each other.
func (b *bed) replayAll(req api.LettersRequest) (sum api.LettersResult) {
	b.t.Helper()
	for range 100 {
		r, err := b.e.ReplayDeadLetters(b.t.Context(), ofG, req)
		if err != nil {
			b.t.Fatal(err)
		}
		r.AddTo(&sum)
		if req.After = r.Next; r.Next == "" {
			return sum
		}
	}
	b.t.Fatal("the requests come to no end")
	return sum
}

func idsOf(letters []api.DeadLetter) (ids []string) {
	for i := range letters {
		ids = append(ids, letters[i].ID)
	}
	return ids
}

// M48, M5: the dead letters of all shards are one list. Their ids differ and sort, pages of every size have the same
// ones, each names its shard, and what a replay passes is gone from the shard that kept it, while what fails again is
// not replayed twice, also where all of it is of one millisecond.
func TestM48LettersOfShardsAreOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		b := newSharded(t, store)
		b.apply(threeShards, "g")
		var events []string
		for n := range 60 {
			events = append(events, fmt.Sprintf(`{"id":"k%d","x":%s}`, n, []string{"1", `"q"`}[n%2]))
		}
		b.push("g", "a", events...)
		letters, of := b.allLetters(api.LetterChoice{}, 1000), map[int]int{}
		for i := range letters {
			if of[letters[i].Shard]++; letters[i].Shard != boundary.Key(letters[i].Key).Shard(3) {
				t.Errorf("%s with the key %s is of shard %d", letters[i].ID, letters[i].Key, letters[i].Shard)
			}
		}
		ids := idsOf(letters)
		if len(letters) != 60 || len(of) != 3 || !slices.IsSortedFunc(ids, func(a, b string) int {
			return strings.Compare(b, a)
		}) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 60 {
			t.Fatalf("%d letters of the shards %v: %v", len(letters), of, ids)
		}
		for _, limit := range []int{1, 7, 59, 60} {
			if got := idsOf(b.allLetters(api.LetterChoice{}, limit)); !slices.Equal(got, ids) {
				t.Errorf("pages of %d: %v, want %v", limit, got, ids)
			}
		}
		if l := b.allLetters(api.LetterChoice{Key: `"k7"`}, 5); len(l) != 1 || l[0].Key != `"k7"` {
			t.Errorf("of one key: %+v", l)
		}
		if r := b.replayAll(api.LettersRequest{All: true, Limit: 7}); r.Letters != 60 || r.FailedAgain != 60 {
			t.Errorf("nothing has changed: %+v", r)
		}
		b.push("g", "by", "2")
		synctest.Wait()
		if r := b.replayAll(api.LettersRequest{All: true, Limit: 7, Preview: true}); r.Letters != 60 || r.Passed != 30 {
			t.Errorf("preview: %+v", r)
		}
		if r := b.replayAll(api.LettersRequest{All: true, Limit: 7}); r.Letters != 60 || r.Passed != 30 ||
			r.FailedAgain != 30 {
			t.Errorf("replay: %+v", r)
		}
		time.Sleep(time.Second)
		if st := b.node(`"k8"`); st != "0.5" {
			t.Errorf("k8: %s", st)
		}
		if c := b.summary("g").Counters; c.Received != 181 || c.Consumed != 31 || c.DeadLettered != 150 {
			t.Errorf("the books: %+v", c)
		}
		b.close()
		b = newSharded(t, store)
		defer b.close()
		time.Sleep(time.Second) // until all shards run
		b.discards(t)
		time.Sleep(14 * time.Minute)
		if left := b.allLetters(api.LetterChoice{}, 10); len(left) != 0 {
			t.Errorf("%d are left of those that have expired", len(left))
		}
	})
}

// discards deals with single letters of all shards, and with those of a choice: it leaves some.
func (b *bed) discards(t *testing.T) {
	t.Helper()
	letters := b.allLetters(api.LetterChoice{}, 10)
	if len(letters) != 30 || letters[0].Attempts != 3 {
		t.Fatalf("%d letters, %+v", len(letters), letters[0])
	}
	seen := map[int]bool{}
	for i := range letters {
		l := &letters[i]
		if seen[l.Shard] {
			continue
		}
		seen[l.Shard] = true
		if res, err := b.e.ReplayDeadLetter(t.Context(), ofG, l.ID); err != nil || res.Accepted != 1 {
			t.Errorf("replay of %s: %+v, %v", l.ID, res, err)
		}
		if err := b.e.DiscardDeadLetter(t.Context(), ofG, l.ID); problem(err) != "dead_letter_not_found" {
			t.Errorf("%s was replayed: %v", l.ID, err)
		}
	}
	again := b.allLetters(api.LetterChoice{Where: "attempts == 4"}, 10)
	if len(again) != 3 {
		t.Fatalf("%d letters came again of 3", len(again))
	}
	for i := range again {
		if err := b.e.DiscardDeadLetter(t.Context(), ofG, again[i].ID); err != nil {
			t.Error(err)
		}
	}
	ids := idsOf(letters)[20:]
	if r, err := b.e.DiscardDeadLetters(t.Context(), ofG, api.LettersRequest{IDs: ids}); err != nil || r.Discarded < 7 {
		t.Errorf("by ids: %+v, %v", r, err)
	}
	left := len(b.allLetters(api.LetterChoice{}, 10))
	r, err := b.e.DiscardDeadLetters(t.Context(), ofG, api.LettersRequest{All: true, Limit: 5})
	if err != nil || r.Discarded != 5 || r.Next == "" || len(b.allLetters(api.LetterChoice{}, 10)) != left-5 {
		t.Errorf("five of %d: %+v, %v", left, r, err)
	}
}

// M48, M30: a value that a sink has refused is sent again from the shard that it came of, and its letter goes there.
func TestM48ValuesAreSentAgainFromTheirShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &choosy{refuses: "7"}
		b := newShardedOf(t, lasting{memstore.New()}, &scripted{
			source: func(string) accumulator.Source { return nil }, sink: func(string) sink.Sink { return got },
		})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nreactor: { key: id, shards: 3 }\n"+
			"nodes: { n: { expr: a.x } }\noutputs: { o: { from: n, on_error: dead_letter, "+
			"sink: { http: { url: 'http://127.0.0.1:9' } } } }\n", "g")
		for n := range 12 {
			b.push("g", "a", fmt.Sprintf(`{"id":"k%d","x":7}`, n))
		}
		time.Sleep(time.Minute)
		letters := b.allLetters(api.LetterChoice{Stage: "sink"}, 5)
		if len(letters) != 12 {
			t.Fatalf("%d letters", len(letters))
		}
		if r := b.replayAll(api.LettersRequest{All: true}); r.FailedAgain != 12 {
			t.Errorf("all are refused again: %+v", r)
		}
		got.say("", false)
		if r := b.replayAll(api.LettersRequest{All: true, Preview: true}); r.Passed != 12 {
			t.Errorf("preview: %+v", r)
		}
		if r := b.replayAll(api.LettersRequest{All: true}); r.Passed != 12 {
			t.Errorf("replay: %+v", r)
		}
		if left := b.allLetters(api.LetterChoice{}, 5); len(left) != 0 || len(got.ids) != 12 {
			t.Errorf("%d letters are left, %d ids have come", len(left), len(got.ids))
		}
	})
}
