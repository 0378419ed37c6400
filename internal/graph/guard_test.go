package graph

import (
	"fmt"
	"github.com/graphd/graphd/internal/node/nodetest"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

type guardCase struct {
	guard        string
	a, b, n      any // nil: absent
	holds, waits bool
	code         string
}

// needs are the inputs that the guard's text reads plainly.
func (c *guardCase) needs() (inputs []int) {
	for i, name := range []string{"a", "b"} {
		if strings.Contains(c.guard, name+" ") && !strings.Contains(c.guard, name+" ??") || c.guard == name {
			inputs = append(inputs, i)
		}
	}
	return inputs
}

// M8: the guard sees the cut's inputs and the nodes' committed values.
func TestGuard(t *testing.T) {
	t.Parallel()
	h := start(t, "a b", "nodes: { n: { expr: a, on_error: skip } }\n")
	if ok, waiting, err := h.plan.GuardHolds(h.st, &h.e, &Asking{}); !ok || waiting || err != nil {
		t.Errorf("no guard: got %v %v %v, want it to hold", ok, waiting, err)
	}
	if needs := h.plan.GuardNeeds(); needs != nil {
		t.Errorf("no guard: needs %v", needs)
	}
	const text = "graph: g\naccumulators: { a: {}, b: {} }\nnodes: { n: { expr: b } }\nreactor: { when: any, guard: " +
		"'%s' }\n"
	for _, c := range []guardCase{
		{guard: "a > 1", waits: true},
		{guard: "a > 1", a: 1},
		{guard: "a > 1", a: 2, holds: true},
		{guard: "a > n", a: 2, n: 1, holds: true},
		{guard: "a > n", n: 1, waits: true},
		{guard: "a > n", a: 2}, // only an epoch could give n a value: nothing to wait for
		{guard: "(b ?? 5) > 3", holds: true},
		{guard: "a > 1 || b > 1", a: 2, holds: true},
		{guard: "a > 1 && b > 1", a: 2, waits: true},
		{guard: "1 / a > 0", a: 0, code: expression.CodeNotFinite},
		{guard: "a", a: 3, code: expression.CodeTypeError},
	} {
		g := parse(t, fmt.Sprintf(text, c.guard))
		plan, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
		if err := diagnostics.Err(); err != nil {
			t.Fatal(err)
		}
		value := func(x any) boundary.Value {
			if x == nil {
				return boundary.Value{}
			}
			v, err := boundary.FromAny(x)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		st := plan.NewState()
		st.cells[0] = value(c.n)
		e := &Epoch{Inputs: []boundary.Value{value(c.a), value(c.b)}, Versions: make([]uint64, 2), Stamp: 1}
		if got, want := plan.GuardNeeds(), c.needs(); !slices.Equal(got, want) {
			t.Errorf("%s: needs %v, want %v", c.guard, got, want)
		}
		holds, waits, err := plan.GuardHolds(st, e, &Asking{})
		code := ""
		if err != nil {
			code = err.Code
			if err.Node != -1 || err.Name != "guard" {
				t.Errorf("%s: got error of %q, want the guard's", c.guard, err.Name)
			}
		}
		if holds != c.holds || waits != c.waits || code != c.code {
			t.Errorf("%s with a=%v b=%v n=%v: got %v %v %q, want %v %v %q", c.guard, c.a, c.b, c.n, holds, waits, code,
				c.holds, c.waits, c.code)
		}
	}
}
