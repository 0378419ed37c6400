package accumulator

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/spec"
)

// Boundaries that are done with make room for the next, which have nothing of them; those
// that are not are left alone, whichever array a fold puts them in.
func TestReuse(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]spec.Accumulator{
		"passthrough": {},
		"batch":       {Kind: "batch", Config: batch.Declared{Size: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCore(t, a)
			for round := range 5 {
				for i := range 10 * (1 + round*round*10) { // more than one array holds
					ev := pushed(fmt.Sprintf(`{"n":%d}`, i))
					if round == 0 {
						ev.Origin = "a letter"
					}
					c.Add(at(0), ev, false)
				}
				h := take(t, c)
				if len(h.Boundaries) == 0 {
					t.Fatal("nothing is complete")
				}
				if b := &h.Boundaries[0]; round > 0 && b.Origin != "" {
					t.Errorf("round %d: %+v has something of an earlier one", round, b)
				}
				want := fmt.Sprint(values(h))
				for range 2 { // a boundary of them waits for Drain: nothing may be reused
					c.Add(at(0), pushed(`{"n":-1}`), false)
				}
				c.Recycle()
				if got := fmt.Sprint(values(h)); got != want {
					t.Errorf("round %d: what was handed over has become %s", round, got)
				}
				rest := take(t, c)
				if got := values(rest); len(got) == 0 {
					t.Error("what waited is gone")
				}
				c.Recycle()
			}
		})
	}
	c := newCore(t, spec.Accumulator{})
	c.p.spoils = false
	c.Add(at(0), pushed(`{"n":1}`), false)
	one := &take(t, c).Boundaries[0]
	c.Recycle()
	c.Add(at(0), pushed(`{"n":2}`), false)
	if two := &take(t, c).Boundaries[0]; one != two {
		t.Error("the memory of what is done with is not used again")
	}
	c.p.spoils = true
	c.Recycle()
	if two := one.Value.String(); two != `"spoiled"` {
		t.Errorf("who has kept a boundary that is used again reads %s", two)
	}
}
