package engine

import (
	"encoding/json"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
)

// TestCostOfAGraph: what a graph costs is counted by graph and tenant, over updates, and forgotten with the graph.
func TestCostOfAGraph(t *testing.T) {
	t.Parallel()
	b := limitedBed(t, Config{Quotas: quota.NewBook(nil)})
	defer b.close()
	doc := "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a + 1 } }\n" +
		"outputs: { o: { from: n, sink: { drop: {} } } }\n"
	cost := func(tenant string) api.Cost {
		t.Helper()
		s, err := b.e.Graph(t.Context(), api.Ref{Tenant: tenant, Name: "g"})
		if err != nil {
			t.Fatal(err)
		}
		return s.Cost
	}
	for _, tenant := range []string{"default", "acme"} {
		if _, err := b.e.Apply(t.Context(), api.Ref{Tenant: tenant, Name: "g"}, []byte(doc), api.Change{}); err != nil {
			t.Fatal(err)
		}
	}
	events := []json.RawMessage{[]byte("1"), []byte("22"), []byte("333")}
	if _, err := b.e.Push(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "a", events); err != nil {
		t.Fatal(err)
	}
	if _, err := b.e.Checkpoint(t.Context(), api.Ref{Tenant: "default", Name: "g"}); err != nil {
		t.Fatal(err)
	}
	own, other := cost("default"), cost("acme")
	if own.EventBytes != 6 || own.StoredBytes == 0 || own.BusySeconds <= 0 || other.EventBytes != 0 {
		t.Errorf("the cost is %+v, and of the other tenant's %+v", own, other)
	}
	apply := func(doc string) {
		t.Helper()
		g := api.Ref{Tenant: "default", Name: "g"}
		if _, err := b.e.Apply(t.Context(), g, []byte(doc), api.Change{}); err != nil {
			t.Fatal(err)
		}
	}
	apply(doc + "history: { keep: 7 }\n")
	if now := cost("default"); now.EventBytes != 6 || now.BusySeconds < own.BusySeconds {
		t.Errorf("after an update it is %+v", now)
	}
	if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "g"}, true); err != nil {
		t.Fatal(err)
	}
	apply(doc)
	if now := cost("default"); now.EventBytes != 0 {
		t.Errorf("a graph made anew has cost %+v", now)
	}
}
