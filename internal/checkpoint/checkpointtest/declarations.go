package checkpointtest

import (
	"errors"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

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
			_, next, err := s.DeadLetters(t.Context(), id, checkpoint.LetterQuery{Query: q})
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
	garbage := []string{"0", "latest", "....", "%00", "\x00", "-1", cursors["firings"] + "A", cursors["firings"][1:],
		string(make([]byte, 1<<20))}
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
		if got != step.want || errors.Is(err, checkpoint.ErrConflict) != (step.want == 0) ||
			(err == nil) != (step.want != 0) {
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
		if got, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph},
			-1); err != nil || got != want {
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
	if head.Instance == old.Instance || head.Incarnation != 1 || head.Epoch != 0 || head.Seq != 0 ||
		head.Attempts != 0 || len(head.Meta) != 0 {
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
	if err := s.Load(t.Context(), id, func(checkpoint.Cell) error {
		return nil
	}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("load: %v, want ErrNotFound", err)
	}
}
