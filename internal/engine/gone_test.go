package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M52: a graph that another daemon has deleted with its state is not begun anew where that is not heard of yet: the
// state that it would get is nobody's, and the next graph of the name would be found to have it. Applied again it runs.
func TestM52WhatIsDeletedElsewhereIsNotBegunAnew(t *testing.T) {
	for _, kept := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, id := memstore.New(), checkpoint.ID{Tenant: "default", Graph: "g"}
			b := newBed(t, store, &scripted{})
			defer b.close()
			const doc = "graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n" +
				"outputs: { o: { from: n, sink: { drop: {} } } }\ndurability: { every_epochs: 1 }\n"
			b.apply(doc, "g")
			b.push("g", "a", "1")
			time.Sleep(time.Minute)
			if err := store.DeleteDeclaration(t.Context(), id, !kept); err != nil {
				t.Fatal(err)
			}
			b.push("g", "a", "2") // its commit is the one that finds out, where the state is gone
			time.Sleep(time.Minute)
			heads, err := store.ShardHeads(t.Context(), id)
			has := len(heads) > 0 && len(heads[0].Meta) > 0
			if err != nil || has != kept {
				t.Errorf("it has a state: %v, and had been deleted with it: %v; %+v, %v", has, !kept, heads, err)
			}
			if kept {
				return
			}
			if s := b.summary("g"); s.Health != "starting" {
				t.Errorf("%s %+v", s.Health, s.HealthReason)
			}
			decl := checkpoint.Declaration{Tenant: "default", Graph: "g", Text: doc, Origin: "api"}
			if _, err := store.PutDeclaration(t.Context(), decl, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if s := b.summary("g"); s.Health != "live" {
				t.Errorf("applied again: %s %+v", s.Health, s.HealthReason)
			}
		})
	}
}
