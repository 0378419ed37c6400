package engine

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

const rekeyedGraph = `graph: g
accumulators:
  a:
    source: { file: { path: in.ndjson } }
    emit: { id: event.id, x: event.x }
    strategy: sequential
reactor: { key: id, shards: 2 }
nodes: { n: { expr: '[key, a.x]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

// M54, M13: where events have another key as many shards have to be dealt anew too: each has read up to a place of its
// own, and what one has not read is another's by then. Each event of a source is in the books once.
func TestM54AnotherKeyIsDealtAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := &tap{more: make(chan struct{})}, &breaking{Store: memstore.New()}
		b := newShardedOf(t, store, &scripted{source: s.source})
		with := func(was, is string) string { return strings.Replace(rekeyedGraph, was, is, 1) }
		byX := with("key: id", "key: x")
		b.apply(rekeyedGraph, "g")
		s.give(40)
		for doc, anew := range map[string]bool{
			byX:                                  true,
			with("id: event.id", "id: event.x"):  true,
			with("a:", "a:\n    key: event.x"):   true,
			with("x: event.x", "x: event.x + 1"): false,
			with("reactor:", "  b: { key: event.y }\nreactor:"): false, // of what is new nothing is read
		} {
			dry, err := b.e.Apply(t.Context(), shardedRef, []byte(doc), api.Change{DryRun: true})
			if said := strings.Contains(strings.Join(dry.Diff, "\n"), "dealt anew: "); err != nil || said != anew {
				t.Errorf("%s\n%q, %v", doc, dry.Diff, err)
			}
		}
		holds := func(what string, events int64) {
			t.Helper()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			sum := b.summary("g")
			a := sum.Accumulators[0].Counters
			if sum.Health != "live" || sum.Keys.Shards != 2 || sum.Keys.Count != 20 || a.Received != events ||
				a.Consumed != events {
				t.Errorf("%s: %s %+v, keys %+v, books %+v", what, sum.Health, sum.HealthReason, sum.Keys, a)
			}
		}
		s.give(40)
		store.unknown = true
		if _, err := b.e.Apply(t.Context(), shardedRef, []byte(byX), api.Change{}); err == nil {
			t.Fatal("a change that was lost was told to be there")
		}
		holds("lost on the way", 80)
		store.unknown, store.late = false, true
		if _, err := b.e.Apply(t.Context(), shardedRef, []byte(byX), api.Change{}); err != nil {
			t.Fatal(err)
		}
		store.late = false
		s.give(20)
		holds("applied", 100)
		b.close()

		// Found at a start it is refused, for who has read what is not known then; nothing is lost.
		start := func(doc string) {
			t.Helper()
			redeclare(t, store, doc)
			b = newShardedOf(t, store, &scripted{source: s.source})
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if sum := b.summary("g"); sum.HealthReason == nil || sum.HealthReason.Code != "dealt_otherwise" ||
				!strings.Contains(sum.HealthReason.Detail, "apply the graph as it was") {
				t.Errorf("%s %+v", sum.Health, sum.HealthReason)
			}
		}
		defer func() { b.close() }()
		apply := func(doc string) {
			t.Helper()
			if _, err := b.e.Apply(t.Context(), shardedRef, []byte(doc), api.Change{}); err != nil {
				t.Fatal(err)
			}
			s.give(20)
		}
		start(rekeyedGraph)
		apply(byX)
		holds("as it was", 120)
		apply(rekeyedGraph)
		holds("and then anew", 140)
		b.close()

		// So it is with one that is declared without shards by now.
		start(strings.Replace(byX, ", shards: 2", "", 1))
		apply(rekeyedGraph)
		holds("with its shards", 160)
	})
}

// unsaid is a store whose heads do not say by what keys are dealt, as those that earlier releases have written.
type unsaid struct {
	checkpoint.Store
	now bool
}

func (u *unsaid) ShardHeads(ctx context.Context, graph checkpoint.ID) ([]checkpoint.ShardHead, error) {
	heads, err := u.Store.ShardHeads(ctx, graph)
	for i := range heads {
		if u.now {
			heads[i].Meta = bytes.Replace(heads[i].Meta, []byte("dealt_by_keys"), []byte("another"), 1)
		}
	}
	return heads, err
}

// M54, M29: another key is dealt anew from the first moment after a reset too, and where the store does not say yet by
// what the keys are dealt that it has.
func TestM54AnotherKeyAfterAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := &tap{more: make(chan struct{})}, &unsaid{Store: memstore.New()}
		b := newShardedOf(t, store, &scripted{source: s.source})
		defer b.close()
		b.apply(rekeyedGraph, "g")
		s.give(40)
		time.Sleep(2 * time.Second)
		byX := strings.Replace(rekeyedGraph, "key: id", "key: x", 1)
		anew := func(what, doc string) {
			t.Helper()
			res, err := b.e.Apply(t.Context(), shardedRef, []byte(doc), api.Change{})
			if err != nil || !strings.Contains(strings.Join(res.Diff, "\n"), "dealt anew: ") {
				t.Errorf("%s: %q, %v", what, res.Diff, err)
			}
			synctest.Wait()
			sum := b.summary("g")
			if a := sum.Accumulators[0].Counters; sum.Health != "live" || a.Received != 40 || a.Consumed != 40 {
				t.Errorf("%s: %s %+v, books %+v", what, sum.Health, sum.HealthReason, a)
			}
		}
		if _, err := b.e.Reset(t.Context(), shardedRef, "g", "test"); err != nil {
			t.Fatal(err)
		}
		anew("after a reset", byX)
		time.Sleep(2 * time.Second)
		store.now = true
		anew("of an earlier release", rekeyedGraph)
	})
}
