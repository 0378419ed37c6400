package graph

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/node/nodetest"
	"github.com/graphd/graphd/internal/spec"
)

// harness drives one plan as the reactor does, for one key.
type harness struct {
	t     *testing.T
	plan  *Plan
	st    *State
	r     Result
	e     Epoch
	names map[string]int // inputs
	nodes map[string]int
	// shuffle, when set, has epochs driven by two workers instead of inline.
	shuffle *rand.Rand
}

// touched are the cells that committing a result changes.
func touched(r *Result) (cells []int) {
	marks := make([]bool, len(r.plan.cells))
	r.Touch(marks)
	for i, marked := range marks {
		if marked {
			cells = append(cells, i)
		}
	}
	return cells
}

// parse reads a declaration that has no mistakes.
func parse(t testing.TB, text string) *spec.Graph {
	t.Helper()
	g, diagnostics := spec.Parse([]byte(text), nodetest.Kinds(), spec.Options{File: "test.yaml"})
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	return g
}

// inputsOf are the declaration's accumulators, of any type.
func inputsOf(g *spec.Graph) []Input {
	var inputs []Input
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		inputs = append(inputs, Input{Name: a.Name, Type: expression.Any(), Event: a.Strategy == "sequential"})
	}
	return inputs
}

// start compiles nodes and outputs over the inputs a, b and c; a name with a star
// is sequential.
func start(t *testing.T, inputs, rest string) *harness {
	t.Helper()
	text := "graph: g\nreactor: { when: any }\naccumulators:\n"
	for name := range strings.FieldsSeq(inputs) {
		strategy := "latest"
		if strings.HasSuffix(name, "*") {
			name, strategy = name[:len(name)-1], "sequential"
		}
		text += fmt.Sprintf("  %s: { strategy: %s }\n", name, strategy)
	}
	g := parse(t, text+rest)
	plan, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, plan: plan, st: plan.NewState(), names: map[string]int{}, nodes: map[string]int{}}
	for i, in := range plan.Inputs() {
		h.names[in.Name] = i
	}
	for i, n := range plan.Nodes() {
		h.nodes[n.Name] = i
	}
	h.e.Inputs = make([]boundary.Value, len(h.names))
	h.e.Versions = make([]uint64, len(h.names))
	h.e.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return h
}

// set puts a value in the cache of an input.
func (h *harness) set(name string, x any) *harness {
	h.t.Helper()
	v, err := boundary.FromAny(x)
	if err != nil {
		h.t.Fatal(err)
	}
	h.e.Stamp++
	h.e.Inputs[h.names[name]], h.e.Versions[h.names[name]] = v, h.e.Stamp
	return h
}

// run runs an epoch without committing it.
func (h *harness) run() *harness {
	h.e.Number++
	h.e.Stamp++
	if h.shuffle != nil {
		e := h.e
		driveShuffled(h.shuffle, h.plan, h.st, &e, &h.r, nil)
		return h
	}
	h.plan.Run(h.st, &h.e, &h.r)
	return h
}

// fire runs an epoch and commits it.
func (h *harness) fire() *harness {
	h.t.Helper()
	if h.run(); h.r.Err != nil {
		h.t.Fatalf("epoch %d failed: %v", h.e.Number, h.r.Err)
	}
	h.plan.Commit(h.st, &h.r)
	return h
}

// want checks what nodes did, as "name status value" with the value as JSON,
// nothing for absent, separated by semicolons.
func (h *harness) want(nodes string) *harness {
	h.t.Helper()
	for line := range strings.SplitSeq(nodes, ";") {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(parts) == 2 {
			parts = append(parts, "")
		}
		n := h.r.Node(h.nodes[parts[0]])
		got := n.Status.String() + " "
		if !n.Value.IsAbsent() {
			got += n.Value.String()
		}
		if want := parts[1] + " " + parts[2]; got != want {
			h.t.Errorf("epoch %d, node %s: got %q, want %q", h.e.Number, parts[0], got, want)
		}
	}
	return h
}

// emits checks what outputs sent out, as "name=value name=value".
func (h *harness) emits(want string) *harness {
	h.t.Helper()
	var got []string
	for _, e := range h.r.Emitted {
		got = append(got, h.plan.Outputs()[e.Output].Name+"="+e.Value.String())
	}
	if s := strings.Join(got, " "); s != want {
		h.t.Errorf("epoch %d: emitted %q, want %q", h.e.Number, s, want)
	}
	return h
}

// fails checks the code and node of the error that ended the epoch.
func (h *harness) fails(code, node string) *harness {
	h.t.Helper()
	if h.r.Err == nil || h.r.Err.Code != code || h.r.Err.Name != node {
		h.t.Fatalf("epoch %d: got error %v, want %s of %s", h.e.Number, h.r.Err, code, node)
	}
	return h
}
