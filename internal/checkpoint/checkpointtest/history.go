package checkpointtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M32: the ring is bounded with the commit, by the bound of the commit.
func testHistoryRing(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	epoch := int64(0)
	fire := func(n, keep int) {
		t.Helper()
		c := next(id, head)
		for range n {
			epoch++
			c.Firings = append(c.Firings, firing(head.Incarnation, epoch))
		}
		c.Epoch, c.KeepFirings = epoch, keep
		s.commit(t, c)
		head.Seq, head.Epoch = c.Seq, c.Epoch
	}
	expect := func(newest, n int64) {
		t.Helper()
		items := s.firings(t, id)
		if int64(len(items)) != n {
			t.Fatalf("the ring holds %d, want %d", len(items), n)
		}
		for i, f := range items {
			if want := newest - int64(i); f.Epoch != want {
				t.Fatalf("record %d is of epoch %d, want %d", i, f.Epoch, want)
			}
		}
	}
	fire(3, 5)
	expect(3, 3)
	fire(4, 5)
	expect(7, 5)
	fire(20, 5) // more than the ring holds
	expect(27, 5)
	s.again(t)
	head = s.acquire(t, id)
	fire(1, 5)
	expect(28, 5)
	fire(0, 3) // a smaller ring, without new records
	expect(28, 3)
	fire(2, 10) // and a larger one
	expect(30, 5)
	fire(1, 0) // none at all
	expect(0, 0)
	fire(2, 2)
	expect(33, 2)

	c := next(id, head) // out of order, across incarnations
	c.Firings = []checkpoint.Firing{firing(9, 40), firing(8, 41), firing(9, 39), firing(7, 99)}
	c.KeepFirings = 3
	s.commit(t, c)
	diff(t, "ring", s.firings(t, id), []checkpoint.Firing{firing(9, 40), firing(9, 39), firing(8, 41)})
}

func testHistoryPages(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head)
	for epoch := range int64(1200) {
		f := firing(1+epoch/500, epoch+1)
		f.Key = fmt.Sprintf(`"k%d"`, epoch%3)
		c.Firings = append(c.Firings, f)
	}
	c.KeepFirings = 5000
	s.commit(t, c)
	s.again(t)
	tests := []struct {
		q          checkpoint.Query
		page, want int
	}{
		{checkpoint.Query{}, 50, 1200},
		{checkpoint.Query{Limit: -1}, 50, 1200},
		{checkpoint.Query{Limit: 7}, 7, 1200},
		{checkpoint.Query{Limit: 400}, 400, 1200}, // the last page is full
		{checkpoint.Query{Limit: 5000}, 1000, 1200},
		{checkpoint.Query{Limit: 90, Key: `"k1"`}, 90, 400},
		{checkpoint.Query{Key: `"k"`}, 50, 0},
	}
	for _, test := range tests {
		before, seen := int64(1<<60), 0
		walk(t, test.q, test.page, func(q checkpoint.Query) (int, string) {
			items, cursor, err := s.Firings(t.Context(), id, q)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			for _, f := range items {
				if f.Epoch >= before || test.q.Key != "" && f.Key != test.q.Key {
					t.Fatalf("%+v: epoch %d of key %s after %d", q, f.Epoch, f.Key, before)
				}
				before = f.Epoch
			}
			seen += len(items)
			return len(items), cursor
		})
		if seen != test.want {
			t.Errorf("%+v: saw %d, want %d", test.q, seen, test.want)
		}
	}
}

// walk goes through all pages; every one but the last is full.
func walk(t *testing.T, q checkpoint.Query, size int, read func(checkpoint.Query) (int, string)) {
	t.Helper()
	for pages := 0; ; pages++ {
		n, cursor := read(q)
		if n > size || cursor != "" && n != size || n == 0 && pages > 0 || pages > 2000 {
			t.Fatalf("page %d holds %d of %d, next %q", pages, n, size, cursor)
		}
		if cursor == "" {
			return
		}
		q.Before = cursor
	}
}

func testFiring(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head)
	c.Firings = []checkpoint.Firing{firing(1, 1), firing(1, 2), firing(2, 2), firing(3, 3), firing(5, 1)}
	s.commit(t, c)
	for epoch, incarnation := range map[int64]int64{1: 5, 2: 2, 3: 3} {
		f, err := s.Firing(t.Context(), id, epoch)
		if err != nil {
			t.Fatalf("firing %d: %v", epoch, err)
		}
		diff(t, "firing", f, firing(incarnation, epoch))
	}
	for _, missing := range []checkpoint.ID{id, graph("nobody")} {
		if _, err := s.Firing(t.Context(), missing, 4); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("firing that is not there: %v, want ErrNotFound", err)
		}
	}
	if items := s.firings(t, graph("nobody")); len(items) != 0 {
		t.Errorf("a graph that is not there has firings: %v", items)
	}
}
