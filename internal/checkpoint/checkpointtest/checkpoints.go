package checkpointtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

func testAcquire(t *testing.T, s *subject) {
	a, b := graph("a"), graph("b")
	first := s.acquire(t, a)
	if first.Instance == "" || first.Incarnation != 1 || first.Fence <= 0 || first.Epoch != 0 || first.Seq != 0 ||
		!first.At.IsZero() || len(first.Meta) != 0 || first.Attempts != 0 || !first.Clean || first.Prior != 0 ||
		first.UncleanStarts != 1 {
		t.Errorf("a new graph has the head %+v", first)
	}
	s.advance(t, a, &first, cell("x", "1"))
	s.again(t)

	second := s.acquire(t, a)
	want := first // M28: what was committed, incarnation and fence raised
	want.Incarnation, want.Fence, want.UncleanStarts, want.Prior, want.Clean = 2, second.Fence, 2, first.Fence, false
	want.At, want.Own = want.At.UTC(), second.Own
	diff(t, "second head", second, want)
	if second.Fence <= first.Fence {
		t.Errorf("fence %d does not exceed %d", second.Fence, first.Fence)
	}
	if other := s.acquire(t, b); other.Instance == first.Instance || other.Incarnation != 1 {
		t.Errorf("another graph has the head %+v", other)
	}
}

// M43: a head says how many of the owners before it were of the same process.
func testOwn(t *testing.T, s *subject) {
	id := graph("a")
	s.acquire(t, id)
	s.acquire(t, id)
	var others int64
	if s.reopen != nil {
		others = 2
		s.again(t)
	}
	for own := 2 - others; own < 4; own++ {
		if head := s.acquire(t, id); head.Own != own {
			t.Errorf("%d owners before were of this process, the head says %d", own, head.Own)
		}
	}
}

// M43: what is counted are the owners that have tried an epoch and died of it, not those that
// have acquired the graph.
func testAttempts(t *testing.T, s *subject) {
	id := graph("a")
	acquire := func(want int) checkpoint.Head {
		t.Helper()
		s.again(t)
		head := s.acquire(t, id)
		if head.Attempts != want {
			t.Errorf("attempts %d, want %d", head.Attempts, want)
		}
		return head
	}
	try := func(head checkpoint.Head, want int) {
		t.Helper()
		for range 2 { // one owner counts once
			if n, err := s.Attempt(t.Context(), id, head.Fence, head.Epoch+1); err != nil || n != want {
				t.Errorf("attempt: %d, %v, want %d", n, err, want)
			}
		}
	}
	for range 3 { // owners that tried nothing
		acquire(0)
	}
	try(acquire(0), 1)
	try(acquire(1), 2)
	head := acquire(2)
	still := next(id, head) // positions alone: no progress
	still.Epoch = head.Epoch
	s.commit(t, still)
	try(acquire(2), 3)
	head = acquire(3)
	s.advance(t, id, &head) // progress
	head = acquire(0)
	try(head, 1)
	done := next(id, head) // no epoch came of what was tried
	done.Epoch, done.Tried = head.Epoch, true
	s.commit(t, done)
	try(acquire(0), 1)
	head = acquire(1)
	try(head, 2)
	if err := s.Relinquish(t.Context(), id, head.Fence); err != nil {
		t.Fatalf("relinquish: %v", err)
	}
	if head = acquire(0); !head.Clean {
		t.Error("a start after a relinquishing is not a clean one")
	}
	stale := head
	if head = acquire(0); head.Clean {
		t.Error("a start after a death is a clean one")
	}
	for name, err := range map[string]error{
		"attempt": func() error { _, err := s.Attempt(t.Context(), id, stale.Fence, 9); return err }(),
		"absolve": s.Absolve(t.Context(), id, stale.Fence, stale.Fence),
	} {
		if !errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("%s under an old fence: %v", name, err)
		}
	}
}

// M43: an owner whose process lives takes back its own part in the count, and no other's.
func testAbsolve(t *testing.T, s *subject) {
	id := graph("a")
	dead := s.acquire(t, id)
	if _, err := s.Attempt(t.Context(), id, dead.Fence, 1); err != nil {
		t.Fatal(err)
	}
	alive := s.acquire(t, id)
	if n, err := s.Attempt(t.Context(), id, alive.Fence, 1); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	s.again(t)
	head := s.acquire(t, id)
	if head.Prior != alive.Fence || head.AttemptedBy != alive.Fence || head.Attempts != 2 || head.UncleanStarts != 3 {
		t.Errorf("head %+v after %+v", head, alive)
	}
	if err := s.Absolve(t.Context(), id, head.Fence, alive.Fence); err != nil {
		t.Fatalf("absolve: %v", err)
	}
	s.again(t)
	if head = s.acquire(t, id); head.Attempts != 1 || head.UncleanStarts != 3 {
		t.Errorf("the dead owner's attempt is not what is left: %+v", head)
	}
	for range 2 { // its own note, after which it tries again, and counts once
		if n, err := s.Attempt(t.Context(), id, head.Fence, 1); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		for range 2 { // asked again, it has nothing to take back
			if err := s.Absolve(t.Context(), id, head.Fence, head.Fence); err != nil {
				t.Fatalf("absolve: %v", err)
			}
		}
	}
	s.again(t)
	if head = s.acquire(t, id); head.Attempts != 1 || head.UncleanStarts != 4 {
		t.Errorf("an owner that took its note back: %+v", head)
	}
}

func testUncleanStarts(t *testing.T, s *subject) {
	id := graph("a")
	start := func(want int) checkpoint.Head {
		t.Helper()
		s.again(t)
		head := s.acquire(t, id)
		if head.UncleanStarts != want {
			t.Errorf("unclean starts %d, want %d", head.UncleanStarts, want)
		}
		return head
	}
	start(1)
	head := start(2)
	s.advance(t, id, &head) // progress alone does not make a start good
	head = start(3)
	settled := next(id, head)
	settled.Proven = true
	s.commit(t, settled)
	start(1)
	head = start(2)
	if err := s.Relinquish(t.Context(), id, head.Fence); err != nil {
		t.Fatalf("relinquish: %v", err)
	}
	start(1)
}

// M22: a commit is applied as a whole.
func testCommit(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head, cell("x", "1"), cell("y", "2"))
	c.Epoch = 7 // a commit may cover many epochs
	c.Firings = []checkpoint.Firing{firing(1, 6), firing(1, 7)}
	c.DeadLetters = []checkpoint.DeadLetter{letter(1)}
	s.commit(t, c)
	s.again(t)

	diff(t, "cells", s.cells(t, id), map[string]string{"node x ": "1", "node y ": "2"})
	diff(t, "firings", s.firings(t, id), []checkpoint.Firing{firing(1, 7), firing(1, 6)})
	want := letter(1)
	want.At = want.At.UTC()
	diff(t, "dead letters", s.letters(t, id), []checkpoint.DeadLetter{want})
	head = s.acquire(t, id)
	if head.Epoch != 7 || head.Seq != 1 || !head.At.Equal(c.At) || string(head.Meta) != "meta 1" {
		t.Errorf("head after the commit: %+v", head)
	}

	// The same records again, as an owner would that has not heard of them, change nothing.
	c = next(id, head)
	c.Firings = []checkpoint.Firing{{Incarnation: 1, Epoch: 7, Data: []byte("other")}}
	c.DeadLetters = []checkpoint.DeadLetter{{ID: letter(1).ID, At: at(9), Payload: []byte("other")}}
	s.commit(t, c)
	diff(t, "firings", s.firings(t, id), []checkpoint.Firing{firing(1, 7), firing(1, 6)})
	diff(t, "dead letters", s.letters(t, id), []checkpoint.DeadLetter{want})
}

// What the caller gives and what it gets is the caller's.
func testCommitCopies(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head, cell("x", "1"))
	c.Firings = []checkpoint.Firing{firing(1, 1)}
	c.DeadLetters = []checkpoint.DeadLetter{letter(1)}
	s.commit(t, c)
	c.Meta[0], c.Cells[0].Data[0], c.Firings[0].Data[0], c.DeadLetters[0].Payload[0] = '?', '?', '?', '?'

	for range 2 { // the second time after the first answer was written over as well
		head = s.acquire(t, id)
		firings, letters := s.firings(t, id), s.letters(t, id)
		var loaded []byte
		if err := s.Load(t.Context(), id, func(c checkpoint.Cell) error { loaded = c.Data; return nil }); err != nil {
			t.Fatalf("load: %v", err)
		}
		got := fmt.Sprintf("%s|%s|%s|%s", head.Meta, loaded, firings[0].Data, letters[0].Payload)
		if want := `meta 1|1|{"epoch":1}|{`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		head.Meta[0], loaded[0], firings[0].Data[0], letters[0].Payload[0] = '!', '!', '!', '!'
	}
}

func testCells(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	odd := []checkpoint.Cell{
		{Kind: "input", Name: "book", Key: "", Data: []byte("unkeyed")},
		{Kind: "input", Name: "book", Key: `"AAPL"`, Data: []byte{0, 1, 0xff}},
		{Kind: "input", Name: "book", Key: `["AAPL",3]`, Data: []byte{}}, // empty is not deleted
		{Kind: "node", Name: "book", Key: `"AAPL"`, Data: []byte("another kind")},
		{Kind: "input", Name: "books", Key: `"AAPL"`, Data: []byte("another name")},
		{Kind: "input", Name: "book", Key: `"aapl"`, Data: []byte("case matters")},
		{Kind: "input", Name: "book", Key: `"日本\u0000'%_"`, Data: []byte("odd key")},
	}
	s.advance(t, id, &head, odd...)
	want := map[string]string{}
	for _, c := range odd {
		want[c.Kind+" "+c.Name+" "+c.Key] = string(c.Data)
	}
	diff(t, "cells", s.cells(t, id), want)

	s.advance(t, id, &head,
		checkpoint.Cell{Kind: "input", Name: "book", Key: `"AAPL"`, Data: []byte("new")},
		checkpoint.Cell{Kind: "input", Name: "book", Key: ""},                             // nil deletes
		checkpoint.Cell{Kind: "input", Name: "never", Key: ""},                            // and may find nothing
		checkpoint.Cell{Kind: "input", Name: "twice", Key: "", Data: []byte("1")},         // the last of
		checkpoint.Cell{Kind: "input", Name: "twice", Key: "", Data: []byte("2")},         // two wins
		checkpoint.Cell{Kind: "input", Name: "gone", Key: "", Data: []byte("in between")}, // both in
		checkpoint.Cell{Kind: "input", Name: "gone", Key: ""},                             // one commit
	)
	want[`input book "AAPL"`], want["input twice "] = "new", "2"
	delete(want, "input book ")
	s.again(t)
	diff(t, "cells", s.cells(t, id), want)

	head = s.acquire(t, id)
	var many []checkpoint.Cell
	for i := range 2000 {
		many = append(many, checkpoint.Cell{Kind: "key", Name: "n", Key: fmt.Sprint(i), Data: fmt.Append(nil, i)})
		want[fmt.Sprintf("key n %d", i)] = fmt.Sprint(i)
	}
	s.advance(t, id, &head, many...)
	diff(t, "cells", s.cells(t, id), want)
	for i := range many {
		many[i].Data = nil
		delete(want, "key n "+many[i].Key)
	}
	s.advance(t, id, &head, many...)
	diff(t, "cells", s.cells(t, id), want)
}

func testBigCells(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	big := strings.Repeat("0123456789abcdef", 12<<20/16) // larger than a cache of pages
	s.advance(t, id, &head, cell("big", big), cell("small", "1"))
	s.again(t)
	got := s.cells(t, id)
	if got["node big "] != big || got["node small "] != "1" {
		t.Errorf("a cell of %d bytes came back with %d", len(big), len(got["node big "]))
	}
	head = s.acquire(t, id)
	s.advance(t, id, &head, cell("big", "shrunk"))
	diff(t, "cells", s.cells(t, id), map[string]string{"node big ": "shrunk", "node small ": "1"})
}

func testLoad(t *testing.T, s *subject) {
	visit := func(checkpoint.Cell) error { return nil }
	if err := s.Load(t.Context(), graph("nobody"), visit); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("load of a graph that nobody acquired: %v, want ErrNotFound", err)
	}
	id := graph("a")
	head := s.acquire(t, id)
	diff(t, "cells of a new graph", s.cells(t, id), map[string]string{})
	s.advance(t, id, &head, cell("x", "1"), cell("y", "2"))
	stop := errors.New("stop")
	visits := 0
	err := s.Load(t.Context(), id, func(checkpoint.Cell) error { visits++; return stop })
	if !errors.Is(err, stop) || visits != 1 {
		t.Errorf("a visit that fails: %d visits, %v", visits, err)
	}
	diff(t, "cells", s.cells(t, id), map[string]string{"node x ": "1", "node y ": "2"})
}
