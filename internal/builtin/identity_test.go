package builtin_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/spec"
)

// M33: positions belong to a source's identity. A change of these fields, and of no others,
// makes a graph that goes on after an update begin to read anew.
func TestIdentityOfSources(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"websocket": nil, // what is pushed has no position
		"http":      nil,
		"file":      {"Format", "Path"}, // the same bytes read in another way are other events
		"generator": {"Expr", "Seed"},   // a position is the number of an event, however fast and many they come
		// A position names its topic and partition, and brokers move: neither topics nor brokers count.
		"kafka": {"Format"},
		// A position is the digest of what that URL answered, or tells the rows of that statement.
		"poll":             {"After", "Connection", "HTTP", "Key", "SQL"},
		"websocket_client": {"URL"},
		"graph":            {"Name", "Output"},
		"follow":           {"Name", "Output"},
		"audit":            {"Chain"}, // a position is the number of an entry of it
		"go":               {"Name.Name"},
	}
	kinds := new(builtin.Kinds).Declared().Sources
	if len(kinds) != len(want) {
		t.Errorf("the table has %d kinds, there are %d", len(want), len(kinds))
	}
	for _, k := range kinds {
		if got := identifying(k.Default(), spec.SourceConfig.Identity); !slices.Equal(got, want[k.Name()]) {
			t.Errorf("%s: %q make another source, want %q", k.Name(), got, want[k.Name()])
		}
	}
}

// M33 for what is folded: an open batch goes on under another interval.
func TestIdentityOfFolds(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"batch": {"Key", "Size"}, "state": {"Keep"},
		"fold": {
			"Init.Expr", "Init.Fields", "Init.Fields.Expr", "Init.Fields.Name", "Key",
			"Step.Expr", "Step.Fields", "Step.Fields.Expr", "Step.Fields.Name",
		},
		"go":    {"Key", "Name", "Options"}, // and emit; not the version, see 0101
		"table": {"Key"},                    // and emit
		"join":  {"Sides.Names", "Sides.On"},
		"window": {"Aggregate", "Aggregate.Expr", "Aggregate.Name", "Count", "CountEvery", "Every", "Gap",
			"Key", "Size"},
	}
	kinds := new(builtin.Kinds).Declared().Accumulators
	if len(kinds) != len(want) {
		t.Errorf("the table has %d kinds, there are %d", len(want), len(kinds))
	}
	for _, k := range kinds {
		if got := identifying(k.Default(), foldIdentity); !slices.Equal(got, want[k.Name()]) {
			t.Errorf("%s: %q make another fold, want %q", k.Name(), got, want[k.Name()])
		}
	}
}

// M33 for nodes: stores hold these numbers beside a node's value and what it remembers, so they
// stay what they are, whatever becomes of the code.
func TestIdentityOfNodes(t *testing.T) {
	t.Parallel()
	called := func([]string, []boundary.Value) (boundary.Value, error) { return boundary.Null(), nil }
	kinds := &builtin.Kinds{Functions: map[string]gofunc.Function{"f": called}}
	u := parsed(t, kinds, `graph: g
accumulators: { a: { strategy: latest } }
vars: { k: 3 }
nodes:
  plain: { expr: a.x + 1 }
  pick: { route: { high: 'ema(a.x, 2) > vars.k', low: true } }
  more: { expr: 'ema(a.x, 3) + vars.k', after: pick.high }
  own: { go: { name: f }, inputs: [a, more], after: plain }
outputs: { o: { from: own, sink: { drop: {} } } }
`)
	want := map[string]uint64{
		"plain": 0xae24f82b82ae01a1,
		"pick":  0x2fdfb5ccda332cb0,
		"more":  0x2f271459f94196d7,
		"own":   0x6c7d091a4ec04caf,
	}
	for i, n := range u.Plan.Nodes() {
		if got := u.Plan.Print(i); got != want[n.Name] {
			t.Errorf("%s: got %#x, want %#x", n.Name, got, want[n.Name])
		}
	}
}

// foldIdentity is what the state of a kind's fold belongs to.
func foldIdentity(c spec.AccumulatorConfig) string {
	return (&spec.Accumulator{Kind: "k", Config: c}).Identity()
}

// identifying are the fields of a configuration that move its identity.
func identifying[C any](config C, identity func(C) string) []string {
	c := reflect.New(reflect.TypeOf(config)).Elem()
	moved := map[string]bool{}
	for range 2 { // as it is by default, and with every field set
		w := walker{hash: func() string { return identity(c.Interface().(C)) }, moved: moved, seen: map[string]bool{}}
		w.walk(c, "")
		fill(c)
	}
	maps.DeleteFunc(moved, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(moved))
}
