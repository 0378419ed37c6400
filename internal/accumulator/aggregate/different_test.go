package aggregate

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// M3: count_distinct is the size of a set, up to its limit and across restarts and copies; one more than the limit is
// no number, whichever it is.
func TestM3CountDistinctIsExact(t *testing.T) {
	t.Parallel()
	inner, outer, env := scopes()
	var c Calls
	r, err := c.Compile("count_distinct(event, 5000)", inner, outer, env, 2)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		set, cells := map[int64]bool{}, make([]Cell, c.Len())
		eval := func() (boundary.Value, error) { return c.Eval(r, cells, &expression.Env{}, outerOf(t)) }
		for range 20_000 {
			x := rng.Int64N(6000)
			if len(set) == 5000 && !set[x] {
				continue
			}
			set[x] = true
			c.Add(cells, 0, []boundary.Value{boundary.Int(x)})
			if rng.IntN(500) > 0 {
				continue
			}
			if got, err := eval(); err != nil || got.String() != boundary.Int(int64(len(set))).String() {
				t.Fatalf("seed %d: %v (%v), want %d", seed, got, err, len(set))
			}
			kept := c.Append(nil, cells)
			fresh := make([]Cell, c.Len())
			if rest, err := c.Decode(kept, fresh); err != nil || len(rest) > 0 {
				t.Fatalf("seed %d: decoded with %d left: %v", seed, len(rest), err)
			}
			if !bytes.Equal(c.Append(nil, fresh), kept) {
				t.Fatalf("seed %d: what is decoded is another", seed)
			}
			if before := cells; rng.IntN(2) == 0 {
				cells = fresh
			} else {
				cells = Clone(before)
				c.Add(cells, 0, []boundary.Value{boundary.Int(x)})
				if !bytes.Equal(c.Append(nil, before), kept) {
					t.Fatalf("seed %d: a copy shares what is written to", seed)
				}
			}
		}
		if len(set) < 5000 {
			t.Fatalf("seed %d: only %d values", seed, len(set))
		}
		c.Add(cells, 0, []boundary.Value{boundary.String("one more")})
		c.Add(cells, 0, []boundary.Value{boundary.Int(1)})
		if got, err := eval(); err == nil {
			t.Errorf("seed %d: %v of more than may be counted", seed, got)
		}
		fresh := make([]Cell, c.Len())
		if _, err := c.Decode(c.Append(nil, cells), fresh); err != nil {
			t.Fatal(err)
		}
		cells = fresh
		if got, err := eval(); err == nil {
			t.Errorf("seed %d: %v of more than may be counted, after a restart", seed, got)
		}
	}
}
