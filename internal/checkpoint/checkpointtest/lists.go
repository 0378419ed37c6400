package checkpointtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
		if n > size || cursor != "" && n != size || pages > 2000 {
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

func testDeadLetters(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	full := checkpoint.DeadLetter{
		ID: "b", At: at(2).UTC(), Accumulator: "orderbook", Stage: "node", Code: "not_finite", Reason: "edge: division by zero",
		Epoch: 12, Key: `"AAPL"`, Position: "f:1..f:9", Events: 9, Payload: []byte{'[', 0, 0xff}, Folded: true, ReplayOf: "a",
	}
	c := next(id, head)
	c.DeadLetters = []checkpoint.DeadLetter{full, {ID: "a", At: at(1).UTC(), Stage: "size"}}
	s.commit(t, c)
	s.again(t)
	got, err := s.DeadLetter(t.Context(), id, "b")
	if err != nil {
		t.Fatalf("dead letter: %v", err)
	}
	diff(t, "dead letter", got, full)
	diff(t, "list", s.letters(t, id), []checkpoint.DeadLetter{full, {ID: "a", At: at(1).UTC(), Stage: "size"}})
	for _, name := range []string{"c", "", "'"} {
		if _, err := s.DeadLetter(t.Context(), id, name); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("letter %q: %v, want ErrNotFound", name, err)
		}
		if err := s.DiscardDeadLetter(t.Context(), id, name); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("discard letter %q: %v, want ErrNotFound", name, err)
		}
	}
	if err := s.DiscardDeadLetter(t.Context(), id, "b"); err != nil {
		t.Fatalf("discard: %v", err)
	}
	if err := s.DiscardDeadLetter(t.Context(), id, "b"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("discard again: %v, want ErrNotFound", err)
	}
	s.again(t)
	diff(t, "list", s.letters(t, id), []checkpoint.DeadLetter{{ID: "a", At: at(1).UTC(), Stage: "size"}})
}

func testDeadLetterPages(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head)
	for n := range 130 {
		l := letter(n)
		l.Key = fmt.Sprintf(`"k%d"`, n%2)
		c.DeadLetters = append(c.DeadLetters, l)
	}
	s.commit(t, c)
	for _, q := range []checkpoint.Query{{Limit: 26}, {Limit: 26, Key: `"k1"`}} {
		before, seen, want := "~", 0, 130
		if q.Key != "" {
			want = 65
		}
		walk(t, q, 26, func(q checkpoint.Query) (int, string) {
			items, cursor, err := s.DeadLetters(t.Context(), id, q)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			for _, l := range items {
				if l.ID >= before || q.Key != "" && q.Key != l.Key {
					t.Fatalf("letter %s of key %s after %s", l.ID, l.Key, before)
				}
				before = l.ID
			}
			seen += len(items)
			return len(items), cursor
		})
		if seen != want {
			t.Errorf("%+v: saw %d, want %d", q, seen, want)
		}
	}
}

// M32: by age, then by count, then by bytes; what went is counted.
func testRetention(t *testing.T, s *subject) {
	tests := []struct {
		name      string
		letters   int // with 10 bytes each
		olderThan time.Time
		max       int
		maxBytes  int64
		left      int // of these the newest so many
	}{
		{"no bound", 60, time.Time{}, 0, 0, 60},
		{"within", 60, at(0), 60, 600, 60},
		{"age", 60, at(10), 0, 0, 50},
		{"count", 60, time.Time{}, 30, 0, 30},
		{"bytes", 60, time.Time{}, 0, 255, 25},
		{"all three", 60, at(30), 28, 205, 20},
		{"age and count", 60, at(50), 20, 0, 10},
		{"nothing left", 60, at(5000), 0, 0, 0},
		{"one larger than the bytes", 60, time.Time{}, 0, 9, 0},
		{"many", 1100, time.Time{}, 7, 0, 7},
	}
	for i, test := range tests {
		id := graph(fmt.Sprintf("g%d", i))
		head := s.acquire(t, id)
		c := next(id, head)
		for n := range test.letters {
			l := letter(n)
			l.Payload = []byte("0123456789")
			c.DeadLetters = append(c.DeadLetters, l)
		}
		s.commit(t, c)
		for _, removed := range []int{test.letters - test.left, 0} {
			n, err := s.PruneDeadLetters(t.Context(), id, test.olderThan, test.max, test.maxBytes)
			if err != nil || n != int64(removed) {
				t.Errorf("%s: %d removed, %v; want %d", test.name, n, err, removed)
			}
		}
		items, _, err := s.DeadLetters(t.Context(), id, checkpoint.Query{Limit: 100})
		if err != nil || len(items) != test.left || test.left > 0 && items[0].ID != letter(test.letters-1).ID {
			t.Errorf("%s: %d are left, %v; want the newest %d", test.name, len(items), err, test.left)
		}
	}
	if n, err := s.PruneDeadLetters(t.Context(), graph("nobody"), at(0), 1, 1); err != nil || n != 0 {
		t.Errorf("a graph that is not there: %d, %v", n, err)
	}
}

// M37
func testRecoveryEvents(t *testing.T, s *subject) {
	id, other := graph("a"), graph("b")
	var want []checkpoint.RecoveryEvent
	for n := range 120 {
		ev := checkpoint.RecoveryEvent{
			At: at(n).UTC(), Component: "accumulator/orderbook", Kind: "restart", Reason: "panic", Stack: "goroutine 1", Attempt: n,
			Delay: time.Duration(n) * time.Second, Outcome: "restarted", Incarnation: 3,
		}
		for _, id := range []checkpoint.ID{id, other} {
			if err := s.AddRecoveryEvent(t.Context(), id, ev); err != nil {
				t.Fatalf("add: %v", err)
			}
		}
		ev.Graph = "a"
		want = append(want, ev)
	}
	s.again(t)
	var got []checkpoint.RecoveryEvent
	below := int64(1 << 60)
	walk(t, checkpoint.Query{Limit: 40}, 40, func(q checkpoint.Query) (int, string) {
		items, cursor, err := s.RecoveryEvents(t.Context(), id, q)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, ev := range items {
			if ev.ID <= 0 || ev.ID >= below {
				t.Fatalf("event %d after %d", ev.ID, below)
			}
			below = ev.ID
			ev.ID = 0
			got = append([]checkpoint.RecoveryEvent{ev}, got...)
		}
		return len(items), cursor
	})
	diff(t, "events", got, want)
}

func testRecoveryRetention(t *testing.T, s *subject) {
	for n := range 700 {
		id := graph(fmt.Sprintf("g%d", n%2))
		if err := s.AddRecoveryEvent(t.Context(), id, checkpoint.RecoveryEvent{At: at(n)}); err != nil {
			t.Fatalf("add: %v", err)
		}
	}
	for _, test := range []struct {
		olderThan time.Time
		want      int64
	}{{time.Time{}, 0}, {at(0), 0}, {at(690), 690}, {at(690), 0}} {
		if n, err := s.PruneRecoveryEvents(t.Context(), test.olderThan); err != nil || n != test.want {
			t.Errorf("prune before %v: %d, %v; want %d", test.olderThan, n, err, test.want)
		}
	}
	s.again(t)
	items, _, err := s.RecoveryEvents(t.Context(), graph("g0"), checkpoint.Query{})
	if err != nil || len(items) != 5 || !items[4].At.Equal(at(690)) {
		t.Errorf("left: %v, %v", items, err)
	}
}

func testCursors(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head)
	c.Firings = []checkpoint.Firing{firing(1, 1), firing(1, 2)}
	c.DeadLetters = []checkpoint.DeadLetter{letter(1), letter(2)}
	s.commit(t, c)
	for range 2 {
		if err := s.AddRecoveryEvent(t.Context(), id, checkpoint.RecoveryEvent{}); err != nil {
			t.Fatalf("add: %v", err)
		}
	}
	lists := map[string]func(q checkpoint.Query) (string, error){
		"firings": func(q checkpoint.Query) (string, error) {
			_, next, err := s.Firings(t.Context(), id, q)
			return next, err
		},
		"dead letters": func(q checkpoint.Query) (string, error) {
			_, next, err := s.DeadLetters(t.Context(), id, q)
			return next, err
		},
		"recovery events": func(q checkpoint.Query) (string, error) {
			_, next, err := s.RecoveryEvents(t.Context(), id, q)
			return next, err
		},
	}
	cursors := map[string]string{}
	for name, list := range lists {
		cursor, err := list(checkpoint.Query{Limit: 1})
		if err != nil || cursor == "" {
			t.Fatalf("%s: cursor %q, %v", name, cursor, err)
		}
		cursors[name] = cursor
	}
	garbage := []string{"0", "latest", "....", "%00", "\x00", "-1", cursors["firings"] + "A", cursors["firings"][1:], string(make([]byte, 1<<20))}
	for name, list := range lists {
		for _, text := range garbage {
			if _, err := list(checkpoint.Query{Before: text}); !errors.Is(err, checkpoint.ErrBadCursor) {
				t.Errorf("%s with cursor %.20q: %v, want ErrBadCursor", name, text, err)
			} else if len(err.Error()) > 500 {
				t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
			}
		}
		for other, cursor := range cursors {
			if _, err := list(checkpoint.Query{Before: cursor}); (err == nil) != (name == other) {
				t.Errorf("%s with a cursor of %s: %v", name, other, err)
			}
		}
	}
}

func testDeclarations(t *testing.T, s *subject) {
	id := graph("a")
	put := func(text string, ifRevision int64) (int64, error) {
		return s.PutDeclaration(t.Context(), checkpoint.Declaration{
			Tenant: id.Tenant, Graph: id.Graph, Revision: 99, Text: text, Origin: "api", Updated: at(1),
		}, ifRevision)
	}
	steps := []struct {
		text       string
		ifRevision int64
		want       int64 // 0: a conflict
	}{
		{"not there yet", 1, 0}, {"one", -1, 1}, {"there already", -1, 0}, {"two", 1, 2}, {"stale", 1, 0},
		{"ahead", 3, 0}, {"three", 0, 3}, {"nonsense", -2, 0},
	}
	for _, step := range steps {
		got, err := put(step.text, step.ifRevision)
		if got != step.want || errors.Is(err, checkpoint.ErrConflict) != (step.want == 0) || (err == nil) != (step.want != 0) {
			t.Errorf("put %q if %d: revision %d, %v; want %d", step.text, step.ifRevision, got, err, step.want)
		}
	}
	if _, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: "another", Graph: "z"}, -1); err != nil {
		t.Fatalf("put: %v", err)
	}
	s.again(t)
	got, err := s.Declarations(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	diff(t, "declarations", got, []checkpoint.Declaration{
		{Tenant: "another", Graph: "z", Revision: 1},
		{Tenant: "default", Graph: "a", Revision: 3, Text: "three", Origin: "api", Updated: at(1).UTC()},
	})
}

// M32: removing a graph keeps or deletes its state, as asked. A stale owner can not
// write in either case, nor a stale revision hold.
func testDeletion(t *testing.T, s *subject) {
	id := graph("a")
	fill := func() checkpoint.Head {
		t.Helper()
		head := s.acquire(t, id)
		c := next(id, head, cell("x", "1"))
		c.Firings, c.DeadLetters = []checkpoint.Firing{firing(1, 1)}, []checkpoint.DeadLetter{letter(1)}
		s.commit(t, c)
		if err := s.AddRecoveryEvent(t.Context(), id, checkpoint.RecoveryEvent{}); err != nil {
			t.Fatalf("add recovery event: %v", err)
		}
		head.Seq, head.Epoch = c.Seq, c.Epoch
		return head
	}
	declare := func(want int64) {
		t.Helper()
		if got, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph}, -1); err != nil || got != want {
			t.Fatalf("put: revision %d, %v; want %d", got, err, want)
		}
	}
	remove := func(state bool, want error) {
		t.Helper()
		if err := s.DeleteDeclaration(t.Context(), id, state); !errors.Is(err, want) {
			t.Fatalf("delete (state %v): %v, want %v", state, err, want)
		}
	}
	remove(false, checkpoint.ErrNotFound)
	remove(true, checkpoint.ErrNotFound)
	declare(1)
	old := fill()
	remove(false, nil)
	remove(false, checkpoint.ErrNotFound)
	s.again(t)
	diff(t, "kept cells", s.cells(t, id), map[string]string{"node x ": "1"})
	declare(2)
	remove(true, nil)
	remove(true, checkpoint.ErrNotFound)
	if err := s.Commit(t.Context(), next(id, old)); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("commit after the state was deleted: %v, want ErrFenced", err)
	}
	s.again(t)

	head := s.acquire(t, id)
	if head.Instance == old.Instance || head.Incarnation != 1 || head.Epoch != 0 || head.Seq != 0 || head.Attempts != 1 || len(head.Meta) != 0 {
		t.Errorf("head after the state was deleted: %+v", head)
	}
	if head.Fence <= old.Fence {
		t.Errorf("fence %d does not exceed %d, which was given before", head.Fence, old.Fence)
	}
	stale := next(id, checkpoint.Head{Fence: old.Fence}, cell("x", "late"))
	if err := s.Commit(t.Context(), stale); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("commit of an owner from before the deletion: %v, want ErrFenced", err)
	}
	events, _, err := s.RecoveryEvents(t.Context(), id, checkpoint.Query{})
	if err != nil || len(s.cells(t, id))+len(s.firings(t, id))+len(s.letters(t, id))+len(events) != 0 {
		t.Errorf("something has stayed: %v", err)
	}
	declare(3)
	remove(false, nil)
	fill()
	remove(true, nil) // the state alone, after the document was removed
	if err := s.Load(t.Context(), id, func(checkpoint.Cell) error { return nil }); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("load: %v, want ErrNotFound", err)
	}
}
