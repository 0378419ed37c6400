package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M28: a stale owner's write changes nothing and stops that owner.
func testFencing(t *testing.T, s *subject) {
	id := graph("a")
	stale := s.acquire(t, id)
	s.advance(t, id, &stale, cell("x", "1"))
	head := s.acquire(t, id)
	late := next(id, stale, cell("x", "late"), checkpoint.Cell{Kind: "node", Name: "z", Data: []byte("late")})
	late.Firings = []checkpoint.Firing{firing(1, 99)}
	late.DeadLetters = []checkpoint.DeadLetter{letter(99)}
	late.KeepFirings = 0
	if err := s.Commit(t.Context(), late); !errors.Is(err, checkpoint.ErrFenced) ||
		errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Fatalf("a stale commit: %v, want ErrFenced", err)
	}
	if err := s.Relinquish(t.Context(), id, stale.Fence); !errors.Is(err, checkpoint.ErrFenced) {
		t.Fatalf("a stale relinquishing: %v, want ErrFenced", err)
	}
	forged := next(id, head)
	forged.Fence++
	if err := s.Commit(t.Context(), forged); !errors.Is(err, checkpoint.ErrFenced) {
		t.Fatalf("a commit with a fence never given: %v, want ErrFenced", err)
	}
	s.again(t)
	diff(t, "cells", s.cells(t, id), map[string]string{"node x ": "1"})
	diff(t, "firings", s.firings(t, id), []checkpoint.Firing{})
	diff(t, "dead letters", s.letters(t, id), []checkpoint.DeadLetter{})
	s.advance(t, id, &head, cell("x", "2"))
	if after := s.acquire(t, id); after.UncleanStarts != 3 {
		t.Errorf("a stale relinquishing was counted: %+v", after)
	}
	nobody := next(graph("nobody"), checkpoint.Head{Fence: 1})
	if err := s.Commit(t.Context(), nobody); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a commit to a graph that nobody acquired: %v, want ErrFenced", err)
	}
	if err := s.Relinquish(t.Context(), graph("nobody"), 1); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a relinquishing of a graph that nobody acquired: %v, want ErrFenced", err)
	}
}

// A commit sent twice, or out of order, is not one that may be sent again.
func testSequence(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	s.advance(t, id, &head, cell("x", "1"))
	for _, seq := range []int64{-1, 0, 1, 3} {
		c := next(id, head, cell("x", "again"))
		c.Seq = seq
		if err := s.Commit(t.Context(), c); !errors.Is(err, checkpoint.ErrUnknownOutcome) ||
			errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("commit %d after commit 1: %v, want ErrUnknownOutcome", seq, err)
		}
	}
	diff(t, "cells", s.cells(t, id), map[string]string{"node x ": "1"})
	s.advance(t, id, &head, cell("x", "2"))
}

func testRelinquish(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	s.advance(t, id, &head, cell("x", "1"))
	if err := s.Relinquish(t.Context(), id, head.Fence); err != nil {
		t.Fatalf("relinquish: %v", err)
	}
	s.again(t)
	after := s.acquire(t, id)
	if after.Attempts != 0 || !after.Clean || after.UncleanStarts != 1 || after.Incarnation != 2 ||
		after.Fence <= head.Fence || after.Instance != head.Instance {
		t.Errorf("head after a clean stop: %+v", after)
	}
	diff(t, "cells", s.cells(t, id), map[string]string{"node x ": "1"})
}

// Graphs do not touch each other, whoever writes at the same time.
func testConcurrentGraphs(t *testing.T, s *subject) {
	const graphs, commits = 8, 25
	var wg sync.WaitGroup
	for g := range graphs {
		id := graph(fmt.Sprintf("g%d", g))
		wg.Go(func() {
			head, err := s.Acquire(t.Context(), id)
			if err != nil {
				t.Errorf("acquire %s: %v", id, err)
				return
			}
			for n := range commits {
				c := next(id, head, cell("n", fmt.Sprintf("%s %d", id, n)), cell(fmt.Sprintf("n%d", n%5), "x"))
				c.Firings = []checkpoint.Firing{firing(head.Incarnation, c.Epoch)}
				if err := s.Commit(t.Context(), c); err != nil {
					t.Errorf("commit: %v", err)
					return
				}
				head.Seq, head.Epoch = c.Seq, c.Epoch
				if _, _, err := s.Firings(t.Context(), id, checkpoint.Query{}); err != nil {
					t.Errorf("firings: %v", err)
				}
			}
		})
	}
	wg.Wait()
	s.again(t)
	for g := range graphs {
		id := graph(fmt.Sprintf("g%d", g))
		cells := s.cells(t, id)
		if want := fmt.Sprintf("%s %d", id, commits-1); cells["node n "] != want || len(cells) != 6 {
			t.Errorf("graph %s has %v", id, cells)
		}
		if got := len(s.firings(t, id)); got != commits {
			t.Errorf("graph %s has %d firings, want %d", id, got, commits)
		}
	}
}

// Of owners that take one graph from each other, only the last may write, and what
// each of them was told is true.
func testConcurrentOwners(t *testing.T, s *subject) {
	const owners, commits = 6, 20
	id := graph("a")
	var mu sync.Mutex
	applied, fences := 0, map[int64]bool{}
	var wg sync.WaitGroup
	for range owners {
		wg.Go(func() {
			head, err := s.Acquire(t.Context(), id)
			if err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			mu.Lock()
			if fences[head.Fence] {
				t.Errorf("fence %d was given twice", head.Fence)
			}
			fences[head.Fence] = true
			mu.Unlock()
			for range commits {
				c := next(id, head, cell(fmt.Sprintf("seq%d", head.Seq+1), "x"))
				switch err := s.Commit(t.Context(), c); {
				case err == nil:
					mu.Lock()
					applied++
					mu.Unlock()
					head.Seq, head.Epoch = c.Seq, c.Epoch
				case errors.Is(err, checkpoint.ErrFenced):
					return
				default:
					t.Errorf("commit: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	head := s.acquire(t, id)
	if head.Seq != int64(applied) || len(s.cells(t, id)) != applied || head.Incarnation != owners+1 {
		t.Errorf("%d commits were acknowledged; head %+v, %d cells", applied, head, len(s.cells(t, id)))
	}
}

func testTenants(t *testing.T, s *subject) {
	a, b := checkpoint.ID{Tenant: "a", Graph: "g"}, checkpoint.ID{Tenant: "b", Graph: "g"}
	heads := map[checkpoint.ID]checkpoint.Head{}
	for _, id := range []checkpoint.ID{a, b} {
		head := s.acquire(t, id)
		c := next(id, head, cell("x", id.Tenant))
		c.Firings = []checkpoint.Firing{{Incarnation: 1, Epoch: 1, Data: []byte(id.Tenant)}}
		l := letter(1)
		l.Reason = id.Tenant
		c.DeadLetters = []checkpoint.DeadLetter{l}
		s.commit(t, c)
		heads[id] = s.acquire(t, id)
		if err := s.AddRecoveryEvent(t.Context(), id, checkpoint.RecoveryEvent{
			At: at(1), Reason: id.Tenant,
		}); err != nil {
			t.Fatalf("add recovery event: %v", err)
		}
		if _, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{
			Tenant: id.Tenant, Graph: "g", Text: id.Tenant,
		}, -1); err != nil {
			t.Fatalf("put declaration: %v", err)
		}
	}
	if heads[a].Instance == heads[b].Instance {
		t.Error("two tenants' graphs are one instance")
	}
	if _, err := s.DiscardDeadLetters(t.Context(), a, []string{letter(1).ID}); err != nil {
		t.Errorf("discard: %v", err)
	}
	if err := s.DeleteDeclaration(t.Context(), a, true); err != nil {
		t.Fatalf("delete: %v", err)
	}
	s.again(t)
	diff(t, "cells", s.cells(t, b), map[string]string{"node x ": "b"})
	if f := s.firings(t, b); len(f) != 1 || string(f[0].Data) != "b" {
		t.Errorf("firings of b: %v", f)
	}
	if l := s.letters(t, b); len(l) != 1 || l[0].Reason != "b" {
		t.Errorf("dead letters of b: %v", l)
	}
	if events, _, err := s.RecoveryEvents(t.Context(), b, checkpoint.Query{}); err != nil || len(events) != 1 ||
		events[0].Reason != "b" {
		t.Errorf("recovery events of b: %v, %v", events, err)
	}
	if d, err := s.Declarations(t.Context()); err != nil || len(d) != 1 || d[0].Text != "b" {
		t.Errorf("declarations: %v, %v", d, err)
	}
	head := heads[b]
	s.advance(t, b, &head)
}

// M48: what one shard persists is apart from another's; the declaration and the recovery
// events are the whole graph's.
func testShards(t *testing.T, s *subject) {
	zero, one := graph("g"), graph("g")
	one.Shard = 1
	for i, id := range []checkpoint.ID{zero, one} {
		head := s.acquire(t, id)
		if head.Incarnation != 1 || !head.Clean {
			t.Errorf("shard %d begins with %+v", i, head)
		}
		c := next(id, head, cell("x", fmt.Sprint(i)))
		c.Firings = []checkpoint.Firing{firing(1, 1), firing(1, 2), firing(1, 3)}
		c.DeadLetters = []checkpoint.DeadLetter{letter(i)}
		s.commit(t, c)
		for n := range i + 1 {
			e := checkpoint.JournalEntry{Seq: int64(n + 1), At: at(1), Data: []byte{byte(i)}}
			if err := s.AppendJournal(t.Context(), id, head.Fence, []checkpoint.JournalEntry{e}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.AddRecoveryEvent(t.Context(), id, checkpoint.RecoveryEvent{
			At: at(i), Reason: fmt.Sprint(i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.again(t)
	heads, err := s.ShardHeads(t.Context(), one)
	if err != nil || len(heads) != 2 || heads[1].Shard != 1 || heads[1].Epoch != 1 ||
		string(heads[1].Meta) != "meta 1" {
		t.Errorf("heads: %+v, %v", heads, err)
	}
	if none, err := s.ShardHeads(t.Context(), graph("other")); err != nil || len(none) != 0 {
		t.Errorf("heads of another graph: %+v, %v", none, err)
	}
	for i, id := range []checkpoint.ID{zero, one} {
		diff(t, "cells", s.cells(t, id), map[string]string{"node x ": fmt.Sprint(i)})
		if l := s.letters(t, id); len(l) != 1 || l[0].ID != letter(i).ID {
			t.Errorf("dead letters of shard %d: %v", i, l)
		}
		if head := s.acquire(t, id); head.Journal != int64(i+1) || head.Incarnation != 2 {
			t.Errorf("shard %d: %+v", i, head)
		}
		events, _, err := s.RecoveryEvents(t.Context(), id, checkpoint.Query{})
		if err != nil || len(events) != 2 || events[0].Shard != 1 || events[1].Shard != 0 {
			t.Errorf("recovery events: %+v, %v", events, err)
		}
		page, next, err := s.Firings(t.Context(), id, checkpoint.Query{Limit: 1})
		if err != nil || len(page) != 1 || next == "" {
			t.Fatalf("firings: %v %q %v", page, next, err)
		}
		if page, _, err = s.Firings(t.Context(), id, checkpoint.Query{Before: next}); err != nil || len(page) != 2 {
			t.Errorf("the next page of shard %d: %v, %v", i, page, err)
		}
		other := one
		if i == 1 {
			other = zero
		}
		if _, _, err = s.Firings(t.Context(), other, checkpoint.Query{Before: next}); !errors.Is(err,
			checkpoint.ErrBadCursor) {
			t.Errorf("another shard's cursor: %v", err)
		}
	}
	if err := s.DeleteDeclaration(t.Context(), zero, true); err != nil {
		t.Fatal(err)
	}
	for _, id := range []checkpoint.ID{zero, one} {
		if err := s.Load(t.Context(), id, func(checkpoint.Cell) error {
			return nil
		}); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%s after its deletion: %v", id, err)
		}
	}
}

// A call with a context that is done changes nothing and says so.
func testContext(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func(context.Context) error{
		"commit":     func(ctx context.Context) error { return s.Commit(ctx, next(id, head, cell("x", "late"))) },
		"acquire":    func(ctx context.Context) error { _, err := s.Acquire(ctx, id); return err },
		"relinquish": func(ctx context.Context) error { return s.Relinquish(ctx, id, head.Fence) },
		"load": func(ctx context.Context) error {
			return s.Load(ctx, id, func(checkpoint.Cell) error { return nil })
		},
		"firings": func(ctx context.Context) error {
			_, _, err := s.Firings(ctx, id, checkpoint.Query{})
			return err
		},
		"put": func(ctx context.Context) error {
			_, err := s.PutDeclaration(ctx, checkpoint.Declaration{Graph: "a"}, 0)
			return err
		},
		"delete": func(ctx context.Context) error { return s.DeleteDeclaration(ctx, id, true) },
		"ping":   s.Ping,
	}
	for name, call := range calls {
		if err := call(done); !errors.Is(err, context.Canceled) || errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("%s with a context that is done: %v", name, err)
		}
	}
	s.advance(t, id, &head, cell("x", "1"))
	diff(t, "cells", s.cells(t, id), map[string]string{"node x ": "1"})
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	stop, cancelWith := context.WithCancelCause(t.Context())
	why := errors.New("the graph is stopping")
	s.advance(t, id, &head, cell("y", "2"))
	err := s.Load(stop, id, func(checkpoint.Cell) error { cancelWith(why); return nil })
	if !errors.Is(err, why) {
		t.Errorf("a load that is cancelled on the way: %v", err)
	}
}

func testClosed(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	calls := map[string]func() error{
		"commit":  func() error { return s.Commit(t.Context(), next(id, head)) },
		"acquire": func() error { _, err := s.Acquire(t.Context(), id); return err },
		"load":    func() error { return s.Load(t.Context(), id, func(checkpoint.Cell) error { return nil }) },
		"letters": func() error { _, _, err := s.DeadLetters(t.Context(), id, checkpoint.LetterQuery{}); return err },
		"ping":    func() error { return s.Ping(t.Context()) },
	}
	for name, call := range calls {
		if err := call(); err == nil || errors.Is(err, checkpoint.ErrUnknownOutcome) ||
			errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("%s after close: %v, want a clean error", name, err)
		}
	}
}
