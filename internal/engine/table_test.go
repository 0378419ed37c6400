package engine

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

const tableGraph = `graph: g
accumulators:
  payments: { strategy: sequential }
  merchants: { table: { key: event.m }, emit: { risk: event.risk } }
reactor: { key: card }
nodes: { n: { expr: '[payments.n, merchants[payments.m]?.risk]' } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

// M3, M11, M28: a table is looked up live, goes through a restart, answers for one row, and is given for
// one epoch by an operator and for no longer.
func TestTableLive(t *testing.T) {
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tableLive(t, tableGraph+"durability: { mode: "+mode+" }\n") })
		})
	}
}

func tableLive(t *testing.T, graph string) {
	store := memstore.New()
	g := api.Ref{Tenant: "default", Name: "g"}
	node := func(b *bed, want string) {
		t.Helper()
		st, err := b.e.State(t.Context(), g, `"c"`)
		if err != nil || string(st.Nodes["n"]) != want {
			t.Fatalf("got %s (%v), want %s", st.Nodes["n"], err, want)
		}
	}
	row := func(b *bed, key, want string) {
		t.Helper()
		d, err := b.e.Accumulator(t.Context(), g, "merchants", key)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(d.Row); string(got) != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	b := newBed(t, store, &scripted{})
	b.apply(graph, "g")
	b.push("g", "merchants", `{"m":"a","risk":5}`, `{"m":"b","risk":2}`, `{"m":"b"}`)
	b.push("g", "payments", `{"card":"c","m":"a","n":1}`)
	node(b, `[1,5]`)
	row(b, `"a"`, `{"key":"a","found":true,"value":{"risk":5},"rows":2}`)
	row(b, `"x"`, `{"key":"x","found":false,"value":null,"rows":2}`)
	b.push("g", "merchants", `{"m":"a","risk":7}`)
	b.close()

	b = newBed(t, store, &scripted{})
	synctest.Wait()
	b.push("g", "payments", `{"card":"c","m":"a","n":2}`)
	node(b, `[2,7]`)
	given := api.FireRequest{Mode: "with", Key: json.RawMessage(`"c"`), Cache: map[string]json.RawMessage{
		"merchants": json.RawMessage(`{"a":{"risk":1}}`), "payments": json.RawMessage(`{"card":"c","m":"a","n":3}`),
	}}
	if _, err := b.e.Fire(t.Context(), g, given); err == nil {
		t.Error("a table was replaced")
	}
	aside := false
	given.Replace = &aside
	if r, err := b.e.Fire(t.Context(), g, given); err != nil || string(r.Outputs["o"]) != `[3,1]` {
		t.Errorf("fired with a table: %+v (%v)", r, err)
	}
	node(b, `[2,7]`)
	s, err := b.e.Graph(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Accumulators {
		if n := a.Counters; a.Name == "merchants" && (n.Received != 4 || n.Consumed != 4 || a.Keys == nil ||
			a.Keys.Count != 2) {
			t.Errorf("the books of the table: %+v", a)
		}
	}
	if _, err = b.e.Accumulator(t.Context(), g, "payments", `"a"`); err == nil {
		t.Error("a row of what is no table was looked up")
	}
	b.close()
}
