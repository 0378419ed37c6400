package checkpointtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

func testDeadLetters(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	full := checkpoint.DeadLetter{
		ID: "b", At: at(2).UTC(), Accumulator: "orderbook", Stage: "node", Code: "not_finite",
		Reason: "edge: division by zero",
		Epoch:  12, Key: `"AAPL"`, Position: "f:1..f:9", Events: 9, Payload: []byte{'[', 0, 0xff}, Folded: true,
		ReplayOf: "a", Attempts: 3, Output: "out", FiringID: "f", Message: []byte{0, 1, 0xff},
	}
	c := next(id, head)
	small := checkpoint.DeadLetter{ID: "a", At: at(1).UTC(), Stage: "size", Attempts: 1}
	c.DeadLetters = []checkpoint.DeadLetter{full, small}
	s.commit(t, c)
	s.again(t)
	got, err := s.DeadLetter(t.Context(), id, "b")
	if err != nil {
		t.Fatalf("dead letter: %v", err)
	}
	diff(t, "dead letter", got, full)
	diff(t, "list", s.letters(t, id), []checkpoint.DeadLetter{full, small})
	for _, name := range []string{"c", "", "'"} {
		if _, err := s.DeadLetter(t.Context(), id, name); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("letter %q: %v, want ErrNotFound", name, err)
		}
		if n, err := s.DiscardDeadLetters(t.Context(), id, []string{name}); err != nil || n != 0 {
			t.Errorf("discard letter %q: %d, %v, want none", name, n, err)
		}
	}
	for _, want := range []int64{1, 0} {
		if n, err := s.DiscardDeadLetters(t.Context(), id, []string{"b", "c"}); err != nil || n != want {
			t.Fatalf("discard: %d, %v, want %d", n, err, want)
		}
	}
	s.again(t)
	diff(t, "list", s.letters(t, id), []checkpoint.DeadLetter{small})
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
			items, cursor, err := s.DeadLetters(t.Context(), id, checkpoint.LetterQuery{Query: q})
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

// What a query chooses, in both orders.
func testChosenLetters(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head)
	for n := range 12 {
		l := letter(n)
		l.Code, l.Stage = []string{"x", "y"}[n%2], []string{"decode", "node", "sink"}[n%3]
		if l.Accumulator, l.Output = []string{"in", "other"}[n/6], ""; l.Stage == "sink" {
			l.Accumulator, l.Output = "", []string{"o", "p"}[n%2]
		}
		c.DeadLetters = append(c.DeadLetters, l)
	}
	s.commit(t, c)
	two := checkpoint.Query{Limit: 2}
	for _, test := range []struct {
		q    checkpoint.LetterQuery
		want []int
		more bool
	}{
		{checkpoint.LetterQuery{Code: "y", Stage: "node"}, []int{7, 1}, false},
		{checkpoint.LetterQuery{Accumulator: "other"}, []int{10, 9, 7, 6}, false},
		{checkpoint.LetterQuery{Output: "p"}, []int{11, 5}, false},
		{checkpoint.LetterQuery{Since: at(3), Until: at(6)}, []int{5, 4, 3}, false},
		{checkpoint.LetterQuery{Since: at(10), Oldest: true}, []int{10, 11}, false},
		{checkpoint.LetterQuery{Until: at(3), Query: two}, []int{2, 1}, true},
		{checkpoint.LetterQuery{Code: "x", Query: two, Oldest: true}, []int{0, 2}, true},
		{checkpoint.LetterQuery{Code: "x", Query: two, Oldest: true, After: letter(2).ID}, []int{4, 6}, true},
		{checkpoint.LetterQuery{Oldest: true, After: letter(8).ID, UpTo: letter(10).ID}, []int{9, 10}, false},
		{checkpoint.LetterQuery{Code: "'"}, nil, false},
		{checkpoint.LetterQuery{Output: "\x00"}, nil, false},
	} {
		items, cursor, err := s.DeadLetters(t.Context(), id, test.q)
		var got, want []string
		for i := range items {
			got = append(got, items[i].ID)
		}
		for _, n := range test.want {
			want = append(want, letter(n).ID)
		}
		if diff(t, fmt.Sprintf("%+v", test.q), got, want); err != nil || (cursor != "") != test.more {
			t.Errorf("%+v: next %q, %v", test.q, cursor, err)
		}
	}
	head.Seq++
	c = next(id, head)
	c.DeadLetters, c.Discard = []checkpoint.DeadLetter{letter(12)}, []string{letter(0).ID, letter(5).ID, "gone"}
	s.commit(t, c)
	if left := s.letters(t, id); len(left) != 11 || left[0].ID != letter(12).ID || left[10].ID != letter(1).ID {
		t.Errorf("a commit that covers two replays leaves %d: %v", len(left), left)
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
		items, _, err := s.DeadLetters(t.Context(), id, checkpoint.LetterQuery{Query: checkpoint.Query{Limit: 100}})
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
			At: at(n).UTC(), Component: "accumulator/orderbook", Kind: "restart", Reason: "panic", Stack: "goroutine 1",
			Attempt: n,
			Delay:   time.Duration(n) * time.Second, Outcome: "restarted", Incarnation: 3,
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
