package checkpointtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

func (s *subject) put(t *testing.T, d checkpoint.Declaration) {
	t.Helper()
	if _, err := s.PutDeclaration(t.Context(), d, 0); err != nil {
		t.Fatalf("put: %v", err)
	}
}

// numbers are the revisions that a store keeps of a graph, newest first.
func (s *subject) numbers(t *testing.T, id checkpoint.ID) (numbers []int64) {
	t.Helper()
	all, err := s.Revisions(t.Context(), id)
	if err != nil {
		t.Fatalf("revisions: %v", err)
	}
	for i := range all {
		numbers = append(numbers, all[i].Revision)
	}
	return numbers
}

// testRevisions: what was applied can be read again, the newest of it, and who did it.
func testRevisions(t *testing.T, s *subject) {
	id := graph("a")
	by := checkpoint.Author{Token: "ci", Agent: "graphd/1 \x00", Host: "127.0.0.1"}
	doc := checkpoint.Declaration{
		Tenant: id.Tenant, Graph: id.Graph, Text: "# one\ngraph: a\n", Origin: "file:/g/a.yaml", Updated: at(1), By: by,
		Change: "made",
	}
	s.put(t, doc)
	s.put(t, checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph, Text: "two", Origin: "api", Updated: at(2)})
	s.put(t, checkpoint.Declaration{Tenant: "another", Graph: "a", Text: "another"})
	if _, err := s.PutDeclaration(t.Context(), doc, 1); !errors.Is(err, checkpoint.ErrConflict) {
		t.Fatalf("put over a revision of before: %v", err)
	}
	s.again(t)
	doc.Revision, doc.Updated = 1, at(1).UTC()
	got, err := s.Revision(t.Context(), id, 1)
	if err != nil {
		t.Fatalf("revision: %v", err)
	}
	got.By.Agent = doc.By.Agent // a store may put another sign in the place of one that it cannot hold
	diff(t, "revision", got, doc)
	list, err := s.Revisions(t.Context(), id)
	if err != nil || len(list) != 2 {
		t.Fatalf("revisions: %+v, %v", list, err)
	}
	doc.Text, list[1].By.Agent = "", doc.By.Agent
	diff(t, "revisions", list, []checkpoint.Declaration{
		{Tenant: id.Tenant, Graph: id.Graph, Revision: 2, Origin: "api", Updated: at(2).UTC()}, doc,
	})
	for _, missing := range []int64{0, 3, -1} {
		if _, err := s.Revision(t.Context(), id, missing); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("revision %d: %v, want ErrNotFound", missing, err)
		}
	}
	for n := 3; n <= checkpoint.KeepRevisions+2; n++ {
		s.put(t, checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph, Text: fmt.Sprint(n)})
	}
	kept := s.numbers(t, id)
	if len(kept) != checkpoint.KeepRevisions || kept[0] != checkpoint.KeepRevisions+2 || kept[len(kept)-1] != 3 {
		t.Errorf("%d revisions are kept: %v", len(kept), kept)
	}
	another := checkpoint.ID{Tenant: "another", Graph: "a"}
	diff(t, "revisions of another tenant's graph", s.numbers(t, another), []int64{1})
}

// testRevisionsDeleted (M32): the history of a graph goes with its state, and stays with it.
func testRevisionsDeleted(t *testing.T, s *subject) {
	id := graph("a")
	doc := checkpoint.Declaration{Tenant: id.Tenant, Graph: id.Graph, Text: "x"}
	s.put(t, doc)
	if err := s.DeleteDeclaration(t.Context(), id, false); err != nil {
		t.Fatalf("delete: %v", err)
	}
	diff(t, "kept revisions", s.numbers(t, id), []int64{1})
	s.put(t, doc)
	s.again(t)
	diff(t, "revisions of a graph that came back", s.numbers(t, id), []int64{2, 1})
	if err := s.DeleteDeclaration(t.Context(), id, true); err != nil {
		t.Fatalf("delete: %v", err)
	}
	s.put(t, doc)
	diff(t, "revisions of a new graph of the name", s.numbers(t, id), []int64{3})
}
