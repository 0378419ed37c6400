// Package redealtest holds a store to what is said of dealing the keys of a graph anew.
package redealtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// redealt is a store with a graph of two shards, whose keys are about to be dealt to three.
type redealt struct {
	checkpoint.Store
	ids   [3]checkpoint.ID
	heads [3]checkpoint.Head
}

func newRedealt(t *testing.T, s checkpoint.Store) *redealt {
	r := &redealt{Store: s}
	for i := range r.ids {
		r.ids[i] = checkpoint.ID{Tenant: "default", Graph: "g", Shard: i}
		r.heads[i] = r.acquire(t, i)
		if i == 2 {
			continue
		}
		c := next(r.ids[i], r.heads[i], cell("x", fmt.Sprint(i)), cell("y", fmt.Sprint(i)))
		c.Epoch = 1
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		r.heads[i].Seq, r.heads[i].Epoch = c.Seq, c.Epoch
	}
	if _, err := s.PutDeclaration(t.Context(), declaration("old"), 0); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *redealt) acquire(t *testing.T, shard int) checkpoint.Head {
	t.Helper()
	head, err := r.Acquire(t.Context(), r.ids[shard])
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// next is a commit that follows on head.
func next(id checkpoint.ID, head checkpoint.Head, cells ...checkpoint.Cell) *checkpoint.Commit {
	return &checkpoint.Commit{ID: id, Fence: head.Fence, Seq: head.Seq + 1, Epoch: head.Epoch, At: at(), Cells: cells,
		Meta: []byte("meta"), KeepFirings: 1000, Tried: true, Proven: true}
}

func cell(name, data string) checkpoint.Cell {
	return checkpoint.Cell{Kind: "node", Name: name, Data: []byte(data)}
}

func declaration(text string) checkpoint.Declaration {
	return checkpoint.Declaration{Tenant: "default", Graph: "g", Text: text, Origin: "api", Updated: at()}
}

func at() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }

// change moves the cell y of each of the two shards to the third.
func (r *redealt) change() *checkpoint.Redeal {
	d := &checkpoint.Redeal{Declaration: declaration("new"), IfRevision: 1}
	for i := range r.ids {
		c := next(r.ids[i], r.heads[i], checkpoint.Cell{Kind: "node", Name: "y"})
		if i == 2 {
			c = next(r.ids[i], r.heads[i], cell("y", "01"))
		}
		d.Commits = append(d.Commits, c)
	}
	return d
}

// is holds that the store has the old deal or the new one, as a whole.
func (r *redealt) is(t *testing.T, what string, changed bool) {
	t.Helper()
	text := "old"
	want := []map[string]string{{"x": "0", "y": "0"}, {"x": "1", "y": "1"}, {}}
	if changed {
		text, want = "new", []map[string]string{{"x": "0"}, {"x": "1"}, {"y": "01"}}
	}
	for i := range r.ids {
		got := map[string]string{}
		if err := r.Load(t.Context(), r.ids[i], func(c checkpoint.Cell) error {
			got[c.Name] = string(c.Data)
			return nil
		}); err != nil || !maps.Equal(got, want[i]) {
			t.Errorf("%s: shard %d has %v, want %v; %v", what, i, got, want[i], err)
		}
	}
	all, err := r.Declarations(t.Context())
	if err != nil || len(all) != 1 || all[0].Text != text {
		t.Errorf("%s: declarations %+v, %v", what, all, err)
	}
}

// Test is M54: a graph's keys are dealt anew as a whole or not at all: under all fences, with the declaration that
// says so. again closes the store and opens what it has kept.
func Test(t *testing.T, s checkpoint.Store, again func() checkpoint.Store) {
	r := newRedealt(t, s)
	for i := range r.ids {
		stale := r.change()
		stale.Commits[i].Fence--
		if _, err := s.Redeal(t.Context(), stale); !errors.Is(err, checkpoint.ErrFenced) ||
			errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("a stale fence of shard %d: %v", i, err)
		}
		r.is(t, "a stale fence", false)
		stale = r.change()
		stale.Commits[i].Seq++
		if _, err := s.Redeal(t.Context(), stale); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("a commit of shard %d that does not follow: %v", i, err)
		}
		r.is(t, "a commit that does not follow", false)
	}
	conflict := r.change()
	conflict.IfRevision = 7
	if _, err := s.Redeal(t.Context(), conflict); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("another revision: %v", err)
	}
	r.is(t, "another revision", false)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Redeal(gone, r.change()); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
	r.is(t, "a context that is done", false)
	for range 2 { // attempts that are in the ledger are of shards that are no more
		if _, err := s.Attempt(t.Context(), r.ids[1], r.heads[1].Fence, 2); err != nil {
			t.Fatal(err)
		}
	}
	revision, err := s.Redeal(t.Context(), r.change())
	if err != nil || revision != 2 {
		t.Fatalf("revision %d, %v", revision, err)
	}
	s = again()
	r.Store = s
	r.is(t, "applied", true)
	if _, err := s.Redeal(t.Context(), r.change()); err == nil {
		t.Error("it was applied twice")
	}
	for i := range r.ids {
		head := r.acquire(t, i)
		if head.Attempts != 0 || head.UncleanStarts != 1 || head.Seq != r.heads[i].Seq+1 {
			t.Errorf("shard %d after it: %+v", i, head)
		}
	}
	revisions, err := s.Revisions(t.Context(), r.ids[0].Whole())
	if err != nil || len(revisions) != 2 {
		t.Errorf("revisions %+v, %v", revisions, err)
	}
}
