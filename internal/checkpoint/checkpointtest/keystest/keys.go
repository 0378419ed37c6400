// Package keystest holds stores to what they keep of pushes with an Idempotency-Key. Start at [Test].
package keystest

import (
	sorting "cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Test holds a store to the contract of [checkpoint.PushKeys]. again closes it and opens it, if that is possible.
func Test(t *testing.T, s checkpoint.Store, again func() checkpoint.Store) {
	t.Helper()
	by := &subject{s, again}
	known(t, by)
	retention(t, by)
}

type subject struct {
	checkpoint.Store
	reopen func() checkpoint.Store
}

func (s *subject) again() { s.Store = s.reopen() }

func (s *subject) acquire(t *testing.T, id checkpoint.ID) checkpoint.Head {
	t.Helper()
	head, err := s.Acquire(t.Context(), id)
	if err != nil {
		t.Fatalf("acquire %s: %v", id, err)
	}
	return head
}

func graph(name string) checkpoint.ID {
	return checkpoint.ID{Tenant: checkpoint.DefaultTenant, Graph: name}
}

func at(n int) time.Time { return time.Date(2026, 11, 20, 10, 0, n, 0, time.UTC) }

func entries(after int64, texts ...string) []checkpoint.JournalEntry {
	var list []checkpoint.JournalEntry
	for i, text := range texts {
		list = append(list, checkpoint.JournalEntry{Seq: after + int64(i) + 1, At: at(i), Data: []byte(text)})
	}
	return list
}

func diff(t *testing.T, what string, got, want []checkpoint.PushKey) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func pushKey(n int, outcome string) checkpoint.PushKey {
	return checkpoint.PushKey{Accumulator: "in", Key: fmt.Sprintf("key %d", n), Hash: []byte{1, byte(n)}, Shards: 1,
		Done: n + 1, At: at(n).UTC(), Outcome: []byte(outcome)}
}

// known is what the store has of a batch, by shard.
func (s *subject) known(t *testing.T, id checkpoint.ID, key string, first int64) []checkpoint.PushKey {
	t.Helper()
	all, err := s.PushKeys(t.Context(), id, "in", key, first)
	if err != nil {
		t.Fatalf("look for %q: %v", key, err)
	}
	slices.SortFunc(all, func(a, b checkpoint.PushKey) int { return sorting.Compare(a.Shard, b.Shard) })
	return all
}

// M29: a key is known if and only if the entry is there that it came with; it stays when that is trimmed.
func known(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	if got := s.known(t, id, "key 1", 0); len(got) != 0 {
		t.Fatalf("known before: %+v", got)
	}
	list := entries(0, "one", "two")
	first, again, later := pushKey(1, "a"), pushKey(1, "ab"), pushKey(1, "later")
	again.Done, later.First = 7, 1000
	list[0].Keys = []checkpoint.PushKey{first, pushKey(2, "")}
	list[1].Keys = []checkpoint.PushKey{again, later}
	if err := s.AppendJournal(t.Context(), id, head.Fence, list); err != nil {
		t.Fatal(err)
	}
	list[1].Keys[0].Outcome[0], list[1].Keys[0].Hash[0] = '?', 9
	again = pushKey(1, "ab")
	again.Done = 7
	stale := entries(0, "twice")
	stale[0].Keys = []checkpoint.PushKey{pushKey(3, "")}
	if err := s.AppendJournal(t.Context(), id, head.Fence, stale); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("an entry twice: %v", err)
	}
	if err := s.AppendJournal(t.Context(), id, head.Fence+1, stale); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("an entry of nobody: %v", err)
	}
	if err := s.Commit(t.Context(), &checkpoint.Commit{ID: id, Fence: head.Fence, Seq: head.Seq + 1, At: at(9),
		JournalTo: 2}); err != nil {
		t.Fatal(err)
	}
	s.again()
	diff(t, "of two entries the last counts", s.known(t, id, "key 1", 0), []checkpoint.PushKey{again})
	diff(t, "another batch", s.known(t, id, "key 1", 1000), []checkpoint.PushKey{later})
	if got := s.known(t, id, "key 3", 0); len(got) != 0 {
		t.Errorf("known of entries that are not there: %+v", got)
	}
	for _, at := range []struct{ graph, input string }{{"a", "other"}, {"b", "in"}} {
		if all, err := s.PushKeys(t.Context(), graph(at.graph), at.input, "key 1", 0); err != nil || len(all) != 0 {
			t.Errorf("at another input: %+v, %v", all, err)
		}
	}

	head = s.acquire(t, id)
	list = entries(2, "three")
	again.Done, again.Outcome = 9, []byte("abc")
	list[0].Keys = []checkpoint.PushKey{again}
	if err := s.AppendJournal(t.Context(), id, head.Fence, list); err != nil {
		t.Fatal(err)
	}
	other := id
	other.Shard = 3
	head = s.acquire(t, other)
	list = entries(0, "one")
	list[0].Keys = []checkpoint.PushKey{first}
	if err := s.AppendJournal(t.Context(), other, head.Fence, list); err != nil {
		t.Fatal(err)
	}
	s.again()
	first.Shard = 3
	diff(t, "of two shards", s.known(t, id, "key 1", 0), []checkpoint.PushKey{again, first})
	d := checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph}
	if _, err := s.PutDeclaration(t.Context(), d, -1); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteDeclaration(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	s.again()
	s.acquire(t, id)
	if got := s.known(t, id, "key 1", 0); len(got) != 0 {
		t.Errorf("known of a graph that was deleted: %+v", got)
	}
}

// Keys are bounded by age, by count and by bytes, and what goes for which reason is told.
func retention(t *testing.T, s *subject) {
	for i, test := range []struct {
		name               string
		keys               int // of 15 bytes each and more
		olderThan          time.Time
		max                int
		maxBytes           int64
		expired, displaced int64
	}{
		{"no bound", 40, time.Time{}, 0, 0, 0, 0},
		{"within", 40, at(0), 40, 10_000, 0, 0},
		{"age", 40, at(10), 0, 0, 10, 0},
		{"count", 40, time.Time{}, 30, 0, 0, 10},
		{"age and count", 40, at(10), 20, 0, 10, 10},
		{"bytes", 40, time.Time{}, 0, 161, 0, 30},
		{"one larger than the bytes", 2, time.Time{}, 0, 1, 0, 2},
		{"nothing left", 40, at(5000), 0, 0, 40, 0},
		{"many", 1100, at(600), 7, 0, 600, 493},
	} {
		id := graph(fmt.Sprintf("g%d", i))
		head := s.acquire(t, id)
		list := entries(0, "one")
		for n := range test.keys {
			k := pushKey(n, "0123456789")
			k.Key = fmt.Sprintf("k%05d", n)
			list[0].Keys = append(list[0].Keys, k)
		}
		if err := s.AppendJournal(t.Context(), id, head.Fence, list); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			expired, displaced, err := s.PrunePushKeys(t.Context(), id, test.olderThan, test.max, test.maxBytes)
			if err != nil || expired != test.expired || displaced != test.displaced {
				t.Errorf("%s: %d expired and %d displaced, %v; want %d and %d", test.name, expired, displaced, err,
					test.expired, test.displaced)
			}
			gone := test.expired + test.displaced
			for n := range int64(test.keys) {
				if got := s.known(t, id, fmt.Sprintf("k%05d", n), 0); (len(got) > 0) != (n >= gone) {
					t.Fatalf("%s: key %d is known: %v", test.name, n, len(got) > 0)
				}
			}
			test.expired, test.displaced = 0, 0
			if gone > 0 && test.keys > 100 {
				break // that is many questions
			}
			if gone > 0 {
				test.keys = 0
			}
		}
	}
	if expired, displaced, err := s.PrunePushKeys(t.Context(), graph("nobody"), at(0), 1, 1); err != nil ||
		expired+displaced != 0 {
		t.Errorf("a graph that is not there: %d, %d, %v", expired, displaced, err)
	}
}
