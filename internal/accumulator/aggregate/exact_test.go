package aggregate

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// M21: large values that lie close together have the deviation of their differences, and
// sums and means do not remember what cancels out; all against a computation without rounding.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	exact := func(v boundary.Value) *big.Float {
		if i, ok := v.AsInt(); ok {
			return new(big.Float).SetPrec(3000).SetInt64(i)
		}
		f, _ := v.AsFloat()
		return new(big.Float).SetPrec(3000).SetFloat64(f)
	}
	float, whole := boundary.Float, boundary.Int
	for name, values := range map[string][]boundary.Value{
		"2^52":             {float(1 << 52), float(1<<52 + 1), float(1<<52 + 2), float(1<<52 + 1), float(1<<52 + 5)},
		"ints at 2^62":     {whole(1 << 62), whole(1<<62 + 1), whole(1<<62 + 3), whole(1<<62 + 3)},
		"ints at -2^62":    {whole(-1 << 62), whole(-1<<62 + 1), whole(-1<<62 + 3)},
		"both ends":        {whole(math.MaxInt64), whole(math.MinInt64), whole(0)},
		"cancelling":       {float(1e100), float(1), float(-1e100), float(2), float(0.5)},
		"ints and floats":  {whole(1 << 60), float(0.25), whole(-1 << 60), float(0.5)},
		"an outlier first": {float(1e16), float(1), float(2), float(3)},
		"small":            {float(1e-120), float(3e-120), float(2e-120)},
	} {
		var c Calls
		inner, outer, env := scopes()
		for _, fn := range []string{"sum", "mean", "stddev"} {
			r, err := c.Compile(fn+"(event)", inner, outer, env, 2)
			if err != nil {
				t.Fatal(err)
			}
			cells, once := make([]Cell, c.Len()), make([]Cell, c.Len())
			for i, v := range values {
				c.Add(cells, int64(i), []boundary.Value{v})
				fresh := make([]Cell, c.Len()) // as after a restart
				if _, err := c.Decode(c.Append(nil, cells), fresh); err != nil {
					t.Fatal(err)
				}
				cells = fresh
				c.Add(once, int64(i), []boundary.Value{v})
			}
			if !bytes.Equal(c.Append(nil, cells), c.Append(nil, once)) {
				t.Errorf("%s: restarts change the cells", name)
			}
			v, err := c.Eval(r, cells, &expression.Env{}, outerOf(t))
			if err != nil {
				if fn != "sum" || !strings.HasPrefix(name, "ints at") { // those do not fit
					t.Errorf("%s of %s: %v", fn, name, err)
				}
				continue
			}
			n := exact(whole(int64(len(values))))
			want, squares := exact(whole(0)), exact(whole(0))
			for _, x := range values {
				want.Add(want, exact(x))
			}
			mean := new(big.Float).Quo(want, n)
			for _, x := range values {
				d := exact(x)
				d.Sub(d, mean)
				squares.Add(squares, d.Mul(d, d))
			}
			switch fn {
			case "mean":
				want = mean
			case "stddev":
				want = squares.Sqrt(squares.Quo(squares, n.Sub(n, exact(whole(1)))))
			}
			got, _ := v.AsFloat()
			if w, _ := want.Float64(); math.Abs(got-w) > 1e-12*math.Abs(w) {
				t.Errorf("%s of %s is %v, want %v", fn, name, got, w)
			}
		}
	}
}
