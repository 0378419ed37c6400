package aggregate

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

// M3: cells that were joined are what one cell is that has taken in all events, and the later ones stay as they are.
func TestM3JoinedIsTheWhole(t *testing.T) {
	t.Parallel()
	inner, outer, env := scopes()
	texts := []string{"count()", "sum(event)", "mean(event)", "min(event)", "max(event)", "min_by(event, event % 7)",
		"max_by(event, event % 7)", "first(event)", "last(event)", "stddev(event)", "quantile(event, 0.3)",
		"distinct(event)", "distinct(event, 3)", "collect(event, 5)", "top(event, event % 7, 4)",
		"count_distinct(event)", "count_distinct(event, 3)"}
	var c Calls
	var results []*Result
	for _, text := range texts {
		r, err := c.Compile(text, inner, outer, env, 2)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := rng.IntN(12)
		if seed%50 == 49 {
			n = 2000 // distinct counts no more exactly
		}
		cut := rng.IntN(n + 1)
		all, parts := make([]Cell, c.Len()), [2][]Cell{make([]Cell, c.Len()), make([]Cell, c.Len())}
		for i := range n {
			v := boundary.Int(int64(rng.IntN(40)) - 20)
			switch rng.IntN(5) {
			case 0:
				v = boundary.Float(float64(rng.IntN(100)))
			case 1:
				v = boundary.Null()
			}
			if n > 100 {
				v = boundary.Int(int64(i))
			}
			env.Values[0] = v
			args := make([]boundary.Value, len(c.Args()))
			for k, x := range c.Args() {
				got, err := x.Eval(env)
				if err != nil {
					got = boundary.Null() // null % 7
				}
				args[k] = got
			}
			at := int64(i) * 10
			c.Add(all, at, args)
			c.Add(parts[boolInt(i >= cut)], at, args)
		}
		later := c.Append(nil, parts[1])
		c.Join(parts[0], parts[1])
		for i, r := range results {
			want, werr := c.Eval(r, all, env, env.Values[2:3])
			got, gerr := c.Eval(r, parts[0], env, env.Values[2:3])
			if !alike(got, want) || fmt.Sprint(gerr) != fmt.Sprint(werr) {
				t.Errorf("seed %d, %s of %d and %d events: %v (%v), want %v (%v)",
					seed, texts[i], cut, n-cut, got, gerr, want, werr)
			}
		}
		if !bytes.Equal(c.Append(nil, parts[1]), later) {
			t.Errorf("seed %d: the later cells are others", seed)
		}
		joined := c.Append(nil, parts[0])
		c.Join(parts[0], parts[1])
		if n > cut && bytes.Equal(c.Append(nil, parts[0]), joined) {
			t.Errorf("seed %d: joining again changed nothing", seed)
		}
		if !bytes.Equal(c.Append(nil, parts[1]), later) {
			t.Errorf("seed %d: what was joined is shared with the later cells", seed)
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// alike compares numbers to the precision of another order of adding.
func alike(a, b boundary.Value) bool {
	x, ok := a.AsFloat()
	y, also := b.AsFloat()
	if ok && also {
		return math.Abs(x-y) <= 1e-9*math.Max(1, math.Abs(y))
	}
	return boundary.Equal(a, b) || a.String() == b.String()
}
