package checkpointtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/audit/audittest"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/keystest"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/memberstest"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/passtest"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/redealtest"
)

// Harness makes stores for [Run].
type Harness struct {
	// Open returns a new, empty store, which the suite closes.
	Open func(t *testing.T) checkpoint.Store
	// Reopen closes s and opens what it has kept. Nil for a store that keeps nothing.
	Reopen func(t *testing.T, s checkpoint.Store) checkpoint.Store
	// Rows makes a table with "id" (an integer, unique) and "word", and reads it: rows as "id word". Nil: no tables.
	Rows func(t *testing.T, s checkpoint.Store) (table string, read func() []string)
}

// Run holds a store to the contract of package checkpoint, and looks at what is committed after Reopen too.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		test func(t *testing.T, s *subject)
	}{
		{"acquire", testAcquire},
		{"attempts", testAttempts},
		{"absolve", testAbsolve},
		{"own", testOwn},
		{"shards", testShards},
		{"redeal", func(t *testing.T, s *subject) { redealtest.Test(t, s.Store, s.anew(t)) }},
		{"unclean starts", testUncleanStarts},
		{"commit", testCommit},
		{"commit copies", testCommitCopies},
		{"fencing", testFencing},
		{"sequence", testSequence},
		{"relinquish", testRelinquish},
		{"cells", testCells},
		{"big cells", testBigCells},
		{"load", testLoad},
		{"concurrent graphs", testConcurrentGraphs},
		{"concurrent owners", testConcurrentOwners},
		{"tenants", testTenants},
		{"context", testContext},
		{"history ring", testHistoryRing},
		{"history pages", testHistoryPages},
		{"history of one epoch", testFiring},
		{"dead letters", testDeadLetters},
		{"dead letter pages", testDeadLetterPages},
		{"dead letters that are chosen", testChosenLetters},
		{"dead letter retention", testRetention},
		{"recovery events", testRecoveryEvents},
		{"recovery event retention", testRecoveryRetention},
		{"cursors", testCursors},
		{"audit", func(t *testing.T, s *subject) { audittest.Run(t, s.Store, func() audit.Log { return s.again(t) }) }},
		{"declarations", testDeclarations},
		{"revisions", testRevisions},
		{"revisions of a deleted graph", testRevisionsDeleted},
		{"deletion", testDeletion},
		{"outbox", testOutbox},
		{"outbox pages", testOutboxPages},
		{"outbox fencing", testOutboxFencing},
		{"journal", testJournal},
		{"journal fencing", testJournalFencing},
		{"journal trimming", testJournalTrimming},
		{"journal beside commits", testJournalBesideCommits},
		{"keys of pushes", func(t *testing.T, s *subject) { keystest.Test(t, s.Store, s.anew(t)) }},
		{"rows", testRows},
		{"tokens", testTokens},
		{"passes", func(t *testing.T, s *subject) { passtest.Test(t, s.Store, s.again) }},
		{"members", func(t *testing.T, s *subject) { memberstest.Test(t, s.Store) }},
		{"closed", testClosed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &subject{Store: h.Open(t), reopen: h.Reopen, tables: h.Rows}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test.test(t, s)
		})
	}
}

// subject is the store under test, with what tests say often.
type subject struct {
	checkpoint.Store
	reopen func(t *testing.T, s checkpoint.Store) checkpoint.Store
	tables func(t *testing.T, s checkpoint.Store) (string, func() []string)
}

// again closes and opens the store, if that is possible.
func (s *subject) again(t *testing.T) checkpoint.Store {
	t.Helper()
	if s.reopen != nil {
		s.Store = s.reopen(t, s.Store)
	}
	return s.Store
}

func (s *subject) anew(t *testing.T) func() checkpoint.Store {
	return func() checkpoint.Store { s.again(t); return s.Store }
}

func (s *subject) acquire(t *testing.T, id checkpoint.ID) checkpoint.Head {
	t.Helper()
	head, err := s.Acquire(t.Context(), id)
	if err != nil {
		t.Fatalf("acquire %s: %v", id, err)
	}
	return head
}

func (s *subject) commit(t *testing.T, c *checkpoint.Commit) {
	t.Helper()
	if err := s.Commit(t.Context(), c); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// cells is the state of a graph, by "kind name key".
func (s *subject) cells(t *testing.T, id checkpoint.ID) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := s.Load(t.Context(), id, func(c checkpoint.Cell) error {
		name := c.Kind + " " + c.Name + " " + c.Key
		if _, twice := got[name]; twice {
			t.Errorf("cell %q was visited twice", name)
		}
		if c.Data == nil {
			t.Errorf("cell %q has nil data", name)
		}
		got[name] = string(c.Data)
		return nil
	})
	if err != nil {
		t.Fatalf("load %s: %v", id, err)
	}
	return got
}

func (s *subject) firings(t *testing.T, id checkpoint.ID) []checkpoint.Firing {
	t.Helper()
	items, next, err := s.Firings(t.Context(), id, checkpoint.Query{Limit: 1000})
	if err != nil || next != "" {
		t.Fatalf("firings of %s: next %q, %v", id, next, err)
	}
	return items
}

func (s *subject) letters(t *testing.T, id checkpoint.ID) []checkpoint.DeadLetter {
	t.Helper()
	items, next, err := s.DeadLetters(t.Context(), id,
		checkpoint.LetterQuery{Query: checkpoint.Query{Limit: 1000}})
	if err != nil || next != "" {
		t.Fatalf("dead letters of %s: next %q, %v", id, next, err)
	}
	return items
}

func graph(name string) checkpoint.ID { return checkpoint.ID{Tenant: "default", Graph: name} }

// next is a commit that follows on head, one epoch further.
func next(id checkpoint.ID, head checkpoint.Head, cells ...checkpoint.Cell) *checkpoint.Commit {
	return &checkpoint.Commit{
		ID: id, Fence: head.Fence, Seq: head.Seq + 1, Epoch: head.Epoch + 1, At: at(int(head.Seq) + 1),
		Meta: fmt.Appendf(nil, "meta %d", head.Seq+1), Cells: cells, KeepFirings: 1000,
	}
}

// advance commits and moves the head on.
func (s *subject) advance(t *testing.T, id checkpoint.ID, head *checkpoint.Head, cells ...checkpoint.Cell) {
	t.Helper()
	c := next(id, *head, cells...)
	s.commit(t, c)
	head.Seq, head.Epoch, head.At, head.Meta = c.Seq, c.Epoch, c.At, c.Meta
}

// at is a moment with nanoseconds, in a zone, as a caller may pass it.
func at(second int) time.Time {
	return time.Date(2026, 11, 20, 10, 0, second, 123456789, time.FixedZone("", 3600))
}

func cell(name, data string) checkpoint.Cell {
	return checkpoint.Cell{Kind: "node", Name: name, Data: []byte(data)}
}

func firing(incarnation, epoch int64) checkpoint.Firing {
	return checkpoint.Firing{Incarnation: incarnation, Epoch: epoch, Data: fmt.Appendf(nil, `{"epoch":%d}`, epoch)}
}

func letter(n int) checkpoint.DeadLetter {
	return checkpoint.DeadLetter{
		ID: fmt.Sprintf("letter-%06d", n), At: at(n), Accumulator: "orderbook", Stage: "decode", Code: "invalid_json",
		Reason: "unexpected end", Epoch: int64(n), Position: "f:12", Events: 1, Payload: []byte("{"), Attempts: 1,
	}
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
