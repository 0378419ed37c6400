package graph

import (
	"bytes"
	"fmt"
	"github.com/graphd/graphd/internal/node/nodetest"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

const cellsYAML = `
nodes:
  v: { expr: a }
  gone: { after: r.yes, expr: a }
  r: { route: { yes: a == "yes" } }
outputs:
  o: { from: v, sink: { drop: {} }, emit: on_change }
  e: { from: v, sink: { drop: {} } }
`

// M28: a state is the sum of its cells; restored, it goes on as if nothing had been.
func TestCellsRestoreTheState(t *testing.T) {
	t.Parallel()
	for _, value := range []any{nil, true, 7, 1.5, "yes", []any{1, "x"}, map[string]any{"k": nil}} {
		h := start(t, "a*", cellsYAML)
		h.set("a", value).fire()
		restored := h.plan.NewState()
		for i := range h.plan.Cells() {
			if err := h.plan.DecodeCell(restored, i, h.plan.EncodeCell(h.st, i)); err != nil {
				t.Fatal(err)
			}
		}
		if restored.Stamp() != h.st.Stamp() || !slices.EqualFunc(restored.cells, h.st.cells, boundary.Equal) {
			t.Fatalf("got %v at %d, want %v at %d", restored.cells, restored.stamp, h.st.cells, h.st.stamp)
		}
		h.st = restored
		h.fire().emits("")
		for i, n := range h.plan.Nodes() {
			if got := h.r.Node(i).Status; got != Idle {
				t.Errorf("%s is %v after the restart, want idle", n.Name, got)
			}
		}
		h.set("a", 99).fire().emits("o=99 e=99")
	}
}

// A node without a cell runs once more, and so does what rests on it; its outputs
// that emit on change know what they sent.
func TestMissingCell(t *testing.T) {
	t.Parallel()
	h := start(t, "a", "nodes: { one: { expr: a }, two: { expr: 'one ?? 0' }, three: { expr: a } }\n"+
		"outputs: { o: { from: two, sink: { drop: {} }, emit: on_change } }\n")
	h.set("a", 5).fire()
	old := h.st
	h.st = h.plan.NewState()
	for i, c := range h.plan.Cells() {
		if c.Name == "one" {
			continue
		}
		if err := h.plan.DecodeCell(h.st, i, h.plan.EncodeCell(old, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range h.plan.Nodes() {
		if got, want := h.plan.Fresh(h.st, i), n.Name == "one"; got != want {
			t.Errorf("%s: got fresh %v, want %v", n.Name, got, want)
		}
	}
	h.fire().want("one ran 5; two cut_off 5; three idle 5").emits("")
	if h.plan.Fresh(h.st, 0) || !h.plan.Fresh(h.plan.NewState(), 0) {
		t.Error("a node is fresh until the first commit and not after")
	}
	h.fire().want("one idle 5; two idle 5")
}

// A first run ticks even when nothing comes of it: others may hold what an earlier
// plan had computed.
func TestFirstRunTicksAbsence(t *testing.T) {
	t.Parallel()
	h := start(t, "a", `
nodes:
  one: { expr: a.x }
  bad: { expr: 1 / a.y, on_error: skip }
  kept: { expr: 1 / a.y, on_error: last_good }
  of_one: { expr: 'one ?? 0' }
  of_bad: { expr: 'bad ?? 0' }
  of_kept: { expr: 'kept ?? 0' }
`)
	h.set("a", map[string]any{"x": 5, "y": 1}).fire().want("of_one ran 5; of_bad ran 1; of_kept ran 1")
	old := h.st
	h.st = h.plan.NewState()
	for i, c := range h.plan.Cells() {
		if c.Kind == NodeCell && !strings.HasPrefix(c.Name, "of_") {
			continue
		}
		if err := h.plan.DecodeCell(h.st, i, h.plan.EncodeCell(old, i)); err != nil {
			t.Fatal(err)
		}
	}
	// The value that a graph's new version gets from its cache is another one, with no version to say so.
	v, err := boundary.FromAny(map[string]any{"y": 0})
	if err != nil {
		t.Fatal(err)
	}
	h.e.Inputs[0] = v
	h.fire().want("one ran null; bad failed; kept failed; of_one ran 0; of_bad ran 0; of_kept ran 0")
	h.st = h.plan.NewState()
	for i := range h.plan.Cells() {
		if err := h.plan.DecodeCell(h.st, i, h.plan.EncodeCell(old, i)); err != nil {
			t.Fatal(err)
		}
	}
	h.st.fresh().Set(h.nodes["one"])
	h.st.cells[h.nodes["one"]] = boundary.Value{}
	h.e.Inputs[0] = boundary.Value{}
	h.fire().want("one skipped; of_one ran 0; of_bad idle 1")
}

// M33: over a changed declaration the values of nodes that compute the same are
// kept; the others run anew, and what rests on them hears of it.
func TestCellsOfAnotherPlan(t *testing.T) {
	t.Parallel()
	const rest = `
vars: { f: %s }
nodes:
  same: { expr: a + 1 }
  factor: { expr: a * vars.f }
  other: { expr: a %s 1 }
  gated: { after: r.%s, expr: a }
  r: { route: { yes: true, no: true } }
  last: { expr: other + same, priority: %s }
`
	old := start(t, "a", fmt.Sprintf(rest, "2", "*", "yes", "low"))
	old.set("a", 5).fire().want(`same ran 6; factor ran 10; other ran 5; gated ran 5; r ran "yes"; last ran 11`)
	h := start(t, "a", fmt.Sprintf(rest, "3", "-", "no", "high"))
	h.e = old.e
	for i, cell := range old.plan.Cells() {
		if err := h.plan.DecodeCell(h.st, slices.Index(h.plan.Cells(), cell),
			old.plan.EncodeCell(old.st, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range h.plan.Nodes() {
		want := slices.Contains([]string{"factor", "other", "gated"}, n.Name)
		if got := h.plan.Fresh(h.st, i); got != want {
			t.Errorf("%s: got fresh %v, want %v", n.Name, got, want)
		}
	}
	h.fire().want(`same idle 6; factor ran 15; other ran 4; gated skipped; r idle "yes"; last ran 10`)
}

// A checkpoint writes what changed and the stamp.
func TestTouched(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", `
nodes: { x: { expr: a }, y: { expr: b }, z: { expr: 'a > 0' } }
outputs:
  o: { from: x, sink: { drop: {} }, emit: on_change }
  p: { from: y, sink: { drop: {} } }
`)
	names := func() string {
		var names []byte
		for _, i := range touched(&h.r) {
			c := h.plan.Cells()[i]
			names = append(names, string(c.Kind)+":"+c.Name+" "...)
		}
		return string(bytes.TrimSpace(names))
	}
	for _, c := range []struct {
		a, b any
		want string
	}{
		{1, 1, "node:x node:y node:z output:o stamp:"},
		{2, nil, "node:x output:o stamp:"},
		{2, nil, "stamp:"},
		{nil, 3, "node:y stamp:"},
	} {
		if c.a != nil {
			h.set("a", c.a)
		}
		if c.b != nil {
			h.set("b", c.b)
		}
		if h.fire(); names() != c.want {
			t.Errorf("epoch %d: got %q, want %q", h.e.Number, names(), c.want)
		}
	}
}

// What is not a cell is refused, and leaves the state as it was.
func TestDecodeCellRefusesDamage(t *testing.T) {
	t.Parallel()
	h := start(t, "a", cellsYAML)
	h.set("a", "some text").fire()
	for i, c := range h.plan.Cells() {
		good := h.plan.EncodeCell(h.st, i)
		bad := [][]byte{nil, {}, {cellFormat}, {cellFormat + 1, 0}, append(slices.Clone(good), 0), {cellFormat, 0xff}}
		for n := range good {
			bad = append(bad, good[:n])
		}
		for _, data := range bad {
			st := h.plan.NewState()
			if err := h.plan.DecodeCell(st, i, data); err == nil {
				t.Errorf("%s %s: %x was accepted", c.Kind, c.Name, data)
			}
			if st.stamp != 0 || st.fresh() != nil {
				t.Errorf("%s %s: %x changed the state", c.Kind, c.Name, data)
			}
		}
	}
}

func TestCommitOfAnotherStatePanics(t *testing.T) {
	t.Parallel()
	h := start(t, "a", cellsYAML)
	h.set("a", 1).run()
	defer func() {
		if recover() == nil {
			t.Error("the commit was taken")
		}
	}()
	h.plan.Commit(h.plan.NewState(), &h.r)
}

func TestStateIsSmall(t *testing.T) {
	h := start(t, "a", "nodes: { x: { expr: a }, y: { expr: a }, z: { expr: a } }\n")
	if got := h.st.Size(); got > 48+3*24 {
		t.Errorf("an empty state of three nodes takes %d bytes", got)
	}
	// M13: a million keys are a million of these.
	if got := testing.AllocsPerRun(100, func() { h.plan.NewState() }); got > 2 {
		t.Errorf("a new state takes %v allocations, want 2", got)
	}
}

// FuzzDecodeNode feeds any bytes to the checkpoint reader: it refuses them or takes
// a value that it writes and reads again unchanged, and that an epoch can run on.
func FuzzDecodeNode(f *testing.F) {
	g := parse(f, "graph: g\naccumulators: { a: {} }\nreactor: { when: any }\n"+cellsYAML)
	plan, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		f.Fatal(err)
	}
	st, r := plan.NewState(), &Result{}
	for k, v := range []any{"yes", 1, map[string]any{"x": []any{1.5, nil, true}}} {
		x, err := boundary.FromAny(v)
		if err != nil {
			f.Fatal(err)
		}
		e := &Epoch{Inputs: []boundary.Value{x}, Versions: []uint64{uint64(2*k + 1)}, Stamp: uint64(2*k + 2)}
		plan.Run(st, e, r)
		plan.Commit(st, r)
		for i := range plan.Cells() {
			f.Add(uint8(i), plan.EncodeCell(st, i))
		}
	}
	f.Fuzz(func(t *testing.T, cell uint8, data []byte) {
		i := int(cell) % len(plan.Cells())
		st := plan.NewState()
		if err := plan.DecodeCell(st, i, data); err != nil {
			return
		}
		again := plan.NewState()
		if err := plan.DecodeCell(again, i, plan.EncodeCell(st, i)); err != nil {
			t.Fatalf("what was decoded from %x does not encode: %v", data, err)
		}
		if again.stamp != st.stamp || !slices.EqualFunc(again.cells, st.cells, boundary.Equal) {
			t.Fatalf("got %v, want %v", again.cells, st.cells)
		}
		r := &Result{}
		plan.Run(st, &Epoch{Inputs: make([]boundary.Value, 1), Versions: []uint64{1 << 62}, Stamp: 1<<62 + 1}, r)
		plan.Commit(st, r)
	})
}
