package checkpointtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

func entry(output string, seq int64) checkpoint.OutboxEntry {
	return checkpoint.OutboxEntry{
		Output: output, Seq: seq, Epoch: seq + 10, Key: `"k"`, FiringID: fmt.Sprintf("id-%s-%d", output, seq),
		At:   at(int(seq)),
		Data: fmt.Appendf(nil, "payload %d", seq),
	}
}

// outbox is everything that waits for an output, as "seq:data".
func (s *subject) outbox(t *testing.T, id checkpoint.ID, output string, after int64) []string {
	t.Helper()
	items, err := s.Outbox(t.Context(), id, output, after, 1000, 1<<30)
	if err != nil {
		t.Fatalf("outbox: %v", err)
	}
	got := []string{}
	for _, e := range items {
		got = append(got, fmt.Sprintf("%d:%s", e.Seq, e.Data))
	}
	return got
}

// M30: entries are committed with the state, and gone when a commit says that they are delivered.
func testOutbox(t *testing.T, s *subject) {
	id := graph("a")
	if depths, err := s.OutboxDepths(t.Context(), id); err != nil || len(depths) != 0 {
		t.Errorf("depths of a graph that nobody acquired: %v, %v", depths, err)
	}
	head := s.acquire(t, id)
	c := next(id, head)
	c.Outbox = []checkpoint.OutboxEntry{entry("x", 1), entry("y", 1), entry("x", 2), entry("x", 3)}
	s.commit(t, c)
	c.Outbox[0].Data[0] = '?' // it is the caller's again
	s.again(t)
	items, err := s.Outbox(t.Context(), id, "x", 0, 0, 0)
	if err != nil {
		t.Fatalf("outbox: %v", err)
	}
	want := []checkpoint.OutboxEntry{entry("x", 1), entry("x", 2), entry("x", 3)}
	for i := range want {
		want[i].At = want[i].At.UTC()
	}
	diff(t, "outbox of x", items, want)
	items[1].Data[0] = '!' // the answer is the caller's
	diff(t, "outbox of x after 1", s.outbox(t, id, "x", 1), []string{"2:payload 2", "3:payload 3"})
	diff(t, "outbox of another output", s.outbox(t, id, "z", 0), []string{})
	depths, err := s.OutboxDepths(t.Context(), id)
	if err != nil {
		t.Fatalf("depths: %v", err)
	}
	diff(t, "depths", depths, []checkpoint.OutboxDepth{
		{Output: "x", Entries: 3, Bytes: 27, First: 1, Last: 3, Oldest: at(1).UTC()},
		{Output: "y", Entries: 1, Bytes: 9, First: 1, Last: 1, Oldest: at(1).UTC()},
	})

	head = s.acquire(t, id)
	c = next(id, head)
	c.Outbox = []checkpoint.OutboxEntry{entry("x", 4), entry("y", 2)}
	c.Delivered = []checkpoint.Delivered{{Output: "x", UpTo: 2}, {Output: "y", UpTo: 2}, {Output: "never", UpTo: 9}}
	s.commit(t, c)
	s.again(t)
	diff(t, "outbox of x", s.outbox(t, id, "x", 0), []string{"3:payload 3", "4:payload 4"})
	diff(t, "outbox of y", s.outbox(t, id, "y", 0), []string{})

	head = s.acquire(t, id)
	c = next(id, head, cell("x", "twice"))
	c.Outbox = []checkpoint.OutboxEntry{entry("x", 5), entry("x", 4)}
	if err := s.Commit(t.Context(), c); err == nil || errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a commit with an entry that is there already: %v, want a clean error", err)
	}
	diff(t, "outbox of x", s.outbox(t, id, "x", 0), []string{"3:payload 3", "4:payload 4"})
	diff(t, "cells", s.cells(t, id), map[string]string{})
}

func testOutboxPages(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	c := next(id, head)
	for i := range int64(1500) {
		c.Outbox = append(c.Outbox, entry("x", i+1))
	}
	c.Outbox[9].Data = []byte(strings.Repeat("x", 2<<20))
	s.commit(t, c)
	page := func(after int64, limit int, bytes int64) (n int) {
		items, err := s.Outbox(t.Context(), id, "x", after, limit, bytes)
		if err != nil {
			t.Fatalf("outbox: %v", err)
		}
		for i := range items {
			if items[i].Seq != after+int64(i)+1 {
				t.Errorf("entry %d follows on %d", items[i].Seq, after+int64(i))
			}
		}
		return len(items)
	}
	tests := []struct {
		after int64
		limit int
		bytes int64
		want  int
	}{
		{10, 0, 0, 100}, {10, 7, 0, 7}, {10, 5000, 0, 1000}, {1490, 100, 0, 10}, {1500, 100, 0, 0},
		{0, 100, 0, 9}, {9, 100, 0, 1}, {10, 100, 1, 1}, {10, 100, 35, 3},
	}
	for _, test := range tests {
		if got := page(test.after, test.limit, test.bytes); got != test.want {
			t.Errorf("after %d, limit %d, bytes %d: %d entries, want %d", test.after, test.limit, test.bytes, got,
				test.want)
		}
	}
}

// A stale owner neither adds to the outbox nor marks anything as delivered; the state's
// deletion takes outbox and journal along.
func testOutboxFencing(t *testing.T, s *subject) {
	id := graph("a")
	if _, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph},
		0); err != nil {
		t.Fatal(err)
	}
	stale := s.acquire(t, id)
	c := next(id, stale)
	c.Outbox = []checkpoint.OutboxEntry{entry("x", 1)}
	s.commit(t, c)
	stale.Seq, stale.Epoch = c.Seq, c.Epoch
	head := s.acquire(t, id)
	late := next(id, stale)
	late.Outbox = []checkpoint.OutboxEntry{entry("x", 2)}
	late.Delivered = []checkpoint.Delivered{{Output: "x", UpTo: 1}}
	if err := s.Commit(t.Context(), late); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a stale commit: %v, want ErrFenced", err)
	}
	diff(t, "outbox", s.outbox(t, id, "x", 0), []string{"1:payload 1"})
	s.append(t, id, &head, "j")
	if err := s.DeleteDeclaration(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	s.again(t)
	diff(t, "outbox of a deleted graph", s.outbox(t, id, "x", 0), []string{})
	head = s.acquire(t, id)
	if head.Journal != 0 {
		t.Errorf("the journal of a deleted graph goes on at %d", head.Journal)
	}
	diff(t, "journal of a deleted graph", s.journal(t, id, 0), []string{})
}

// append adds entries that follow on the head, and moves the head on.
func (s *subject) append(t *testing.T, id checkpoint.ID, head *checkpoint.Head, texts ...string) {
	t.Helper()
	if err := s.AppendJournal(t.Context(), id, head.Fence, entries(head.Journal, texts...)); err != nil {
		t.Fatalf("append: %v", err)
	}
	head.Journal += int64(len(texts))
}

func entries(after int64, texts ...string) []checkpoint.JournalEntry {
	var list []checkpoint.JournalEntry
	for i, text := range texts {
		list = append(list, checkpoint.JournalEntry{Seq: after + int64(i) + 1, At: at(i), Data: []byte(text)})
	}
	return list
}

func (s *subject) journal(t *testing.T, id checkpoint.ID, after int64) []string {
	t.Helper()
	got := []string{}
	err := s.ReadJournal(t.Context(), id, after, func(e checkpoint.JournalEntry) error {
		got = append(got, fmt.Sprintf("%d:%s", e.Seq, e.Data))
		return nil
	})
	if err != nil {
		t.Fatalf("read the journal: %v", err)
	}
	return got
}

// M29: what was appended is read in order, by the next owner too.
func testJournal(t *testing.T, s *subject) {
	id := graph("a")
	visit := func(checkpoint.JournalEntry) error { return nil }
	if err := s.ReadJournal(t.Context(), id, 0, visit); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("the journal of a graph that nobody acquired: %v, want ErrNotFound", err)
	}
	head := s.acquire(t, id)
	s.append(t, id, &head, "one", "two")
	s.append(t, id, &head)
	s.append(t, id, &head, "three")
	given := entries(3, "four")
	if err := s.AppendJournal(t.Context(), id, head.Fence, given); err != nil {
		t.Fatal(err)
	}
	given[0].Data[0] = '?'
	s.again(t)
	diff(t, "journal", s.journal(t, id, 0), []string{"1:one", "2:two", "3:three", "4:four"})
	diff(t, "journal after 2", s.journal(t, id, 2), []string{"3:three", "4:four"})
	diff(t, "journal after its end", s.journal(t, id, 4), []string{})
	if err := s.ReadJournal(t.Context(), id, 5, visit); err == nil {
		t.Error("a journal that should go to 5 at least and ends at 4 was read without an error")
	}
	stop := errors.New("stop")
	visits := 0
	if err := s.ReadJournal(t.Context(), id, 0, func(checkpoint.JournalEntry) error {
		visits++
		return stop
	}); !errors.Is(err, stop) || visits != 1 {
		t.Errorf("a visit that fails: %d visits, %v", visits, err)
	}
	if next := s.acquire(t, id); next.Journal != 4 || next.Seq != 0 {
		t.Errorf("head after four entries: %+v", next)
	}
}

// An append is fenced, dense, and whole: a stale owner, an entry twice and an entry that
// does not follow change nothing.
func testJournalFencing(t *testing.T, s *subject) {
	id := graph("a")
	stale := s.acquire(t, id)
	s.append(t, id, &stale, "one")
	head := s.acquire(t, id)
	tests := []struct {
		name  string
		fence int64
		list  []checkpoint.JournalEntry
		want  error
	}{
		{"stale", stale.Fence, entries(1, "late"), checkpoint.ErrFenced},
		{"forged", head.Fence + 1, entries(1, "late"), checkpoint.ErrFenced},
		{"twice", head.Fence, entries(0, "again"), checkpoint.ErrUnknownOutcome},
		{"ahead", head.Fence, entries(2, "ahead"), checkpoint.ErrUnknownOutcome},
		{"with a gap", head.Fence, append(entries(1, "two"), entries(3, "four")...), checkpoint.ErrUnknownOutcome},
	}
	for _, test := range tests {
		if err := s.AppendJournal(t.Context(), id, test.fence, test.list); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	if err := s.AppendJournal(t.Context(), graph("nobody"), 1, entries(0, "x")); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("an append to a graph that nobody acquired: %v, want ErrFenced", err)
	}
	s.again(t)
	diff(t, "journal", s.journal(t, id, 0), []string{"1:one"})
	s.append(t, id, &head, "two")
	diff(t, "journal", s.journal(t, id, 0), []string{"1:one", "2:two"})
}

// The commit that covers entries removes them; the numbers go on.
func testJournalTrimming(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	s.append(t, id, &head, "one", "two", "three")
	c := next(id, head, cell("x", "1"))
	c.JournalTo = 2
	s.commit(t, c)
	head.Seq, head.Epoch = c.Seq, c.Epoch
	s.append(t, id, &head, "four")
	s.again(t)
	diff(t, "journal", s.journal(t, id, 2), []string{"3:three", "4:four"})
	if err := s.ReadJournal(t.Context(), id, 1, func(checkpoint.JournalEntry) error { return nil }); err == nil {
		t.Error("entry 2 is trimmed, and a reader that needs it was told nothing")
	}
	head = s.acquire(t, id)
	c = next(id, head)
	c.JournalTo = 4
	s.commit(t, c)
	s.again(t)
	diff(t, "journal", s.journal(t, id, 4), []string{})
	if head = s.acquire(t, id); head.Journal != 4 {
		t.Errorf("the journal goes on after %d, want 4", head.Journal)
	}
	s.append(t, id, &head, "five")
	diff(t, "journal", s.journal(t, id, 4), []string{"5:five"})
}

// A commit in flight does not keep the journal from growing: the two have numbers of their own.
func testJournalBesideCommits(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	done := make(chan error, 1)
	h := head
	go func() {
		for range 50 {
			c := next(id, h, cell("x", fmt.Sprint(h.Seq)))
			if err := s.Commit(t.Context(), c); err != nil {
				done <- err
				return
			}
			h.Seq, h.Epoch = c.Seq, c.Epoch
		}
		done <- nil
	}()
	for range 50 {
		s.append(t, id, &head, "entry")
	}
	if err := <-done; err != nil {
		t.Fatalf("commit: %v", err)
	}
	if got := len(s.journal(t, id, 0)); got != 50 {
		t.Errorf("%d entries, want 50", got)
	}
	if after := s.acquire(t, id); after.Seq != 50 || after.Journal != 50 {
		t.Errorf("head: %+v", after)
	}
}

// M30: rows and state are committed together, or neither is.
func testRows(t *testing.T, s *subject) {
	id := graph("a")
	head := s.acquire(t, id)
	rows := func(table string, upsert bool, list ...[]boundary.Value) []checkpoint.SinkRows {
		return []checkpoint.SinkRows{{
			Table: checkpoint.Table{Output: "out", Name: table, Columns: []string{"id", "word"}, Upsert: upsert,
				Conflict: []string{"id"}}, Rows: list,
		}}
	}
	row := func(n int64, word string) []boundary.Value {
		return []boundary.Value{boundary.Int(n), boundary.String(word)}
	}
	if s.tables == nil {
		c := next(id, head, cell("x", "1"))
		c.Rows = rows("t", false, row(1, "one"))
		if err := s.Commit(t.Context(), c); !errors.Is(err, checkpoint.ErrNoTables) {
			t.Errorf("a commit with rows: %v, want ErrNoTables", err)
		}
		diff(t, "cells", s.cells(t, id), map[string]string{})
		return
	}
	table, read := s.tables(t, s.Store)
	c := next(id, head, cell("x", "1"))
	c.Rows = rows(table, false, row(1, "one"), row(2, "two"))
	s.commit(t, c)
	head.Seq, head.Epoch = c.Seq, c.Epoch
	diff(t, "rows", read(), []string{"1 one", "2 two"})
	stale := next(id, checkpoint.Head{Fence: head.Fence + 1, Seq: head.Seq}, cell("x", "late"))
	stale.Rows = rows(table, false, row(3, "late"))
	if err := s.Commit(t.Context(), stale); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a commit with another fence: %v, want ErrFenced", err)
	}
	c = next(id, head, cell("x", "2"))
	c.Rows = rows(table, true, row(2, "zwei"), row(4, "vier"), row(4, "four"))
	s.commit(t, c)
	head.Seq, head.Epoch = c.Seq, c.Epoch
	diff(t, "rows", read(), []string{"1 one", "2 zwei", "4 four"})
	c = next(id, head, cell("x", "3"))
	c.Rows = rows(table, false, row(5, "five"), row(1, "again"), row(6, "six"))
	var refused *checkpoint.RowError
	if err := s.Commit(t.Context(), c); !errors.As(err, &refused) || refused.Sink != 0 || refused.Row != 1 {
		t.Errorf("a row that violates the table's key: %v, want a RowError of row 1", err)
	}
	diff(t, "rows", read(), []string{"1 one", "2 zwei", "4 four"})
	diff(t, "cells", s.cells(t, id), map[string]string{"node x ": "2"})
	c.Rows = rows(table, false, row(5, "five"), row(6, "six")) // the same commit without it
	s.commit(t, c)
	diff(t, "rows", read(), []string{"1 one", "2 zwei", "4 four", "5 five", "6 six"})
}
