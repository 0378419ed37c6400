package expression

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// exactOf is the sum of numbers, and that of their sizes, without rounding.
func exactOf(in []boundary.Value) (sum, sizes *big.Float) {
	sum, sizes = new(big.Float).SetPrec(3000), new(big.Float).SetPrec(3000)
	for _, v := range in {
		x := new(big.Float).SetPrec(3000)
		if i, ok := v.AsInt(); ok {
			x.SetInt64(i)
		} else {
			f, _ := v.AsFloat()
			x.SetFloat64(f)
		}
		sum.Add(sum, x)
		sizes.Add(sizes, x.Abs(x))
	}
	return sum, sizes
}

// M21: whatever has been in a window, its sum and mean are those of what is in it now, within
// the rounding of a computation from that alone; a restart and epochs that fail change no bit.
func TestRollingSumsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	sizes := []float64{1e100, 1e300, 1e16, 1, 1, 1, 0.1, 1e-9, 1e-200}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		width := 1 + r.IntN(12)
		texts := []string{fmt.Sprintf("rolling_sum(x, %d)", width), fmt.Sprintf("rolling_mean(x, %d)", width),
			`rolling_sum(x, duration("1m"))`, `rolling_mean(x, duration("1m"))`}
		text := texts[seed%4]
		plain, shaken := newStepped(t, text), newStepped(t, text)
		var all []memoryStep
		at := noon
		for range 120 {
			at = at.Add(time.Duration(r.IntN(25)) * time.Second)
			x := boundary.Float(r.NormFloat64() * sizes[r.IntN(len(sizes))])
			switch r.IntN(6) {
			case 0:
				x = boundary.Int(r.Int64N(1 << 50))
			case 1:
				x = boundary.Null()
			}
			s := memoryStep{x: x, at: at}
			if r.IntN(3) == 0 {
				shaken.step(memoryStep{x: boundary.Float(1e120), at: at})
				shaken.conclude(false)
			}
			if r.IntN(5) == 0 {
				shaken.restart()
			}
			all = append(all, s)
			got, again := plain.step(s), shaken.step(s)
			plain.conclude(true)
			shaken.conclude(true)
			if got != again {
				t.Fatalf("seed %d: %s, and shaken %s", seed, got, again)
			}
			in := windowOf(all, width, 0)
			if strings.Contains(text, "duration") {
				in = windowOf(all, 0, time.Minute)
			}
			if len(in) == 0 {
				continue
			}
			want, bound := exactOf(in)
			if strings.Contains(text, "mean") {
				n := big.NewFloat(float64(len(in))).SetPrec(3000)
				want.Quo(want, n)
				bound.Quo(bound, n)
			}
			value, ok := new(big.Float).SetPrec(3000).SetString(got)
			if !ok {
				t.Fatalf("%s gives %s", text, got)
			}
			off := value.Sub(value, want)
			if off.Abs(off).Cmp(bound.Mul(bound, big.NewFloat(0x1p-48))) > 0 {
				t.Fatalf("seed %d, step %d: %s is %s, want %s", seed, len(all), text, got, want.Text('g', 20))
			}
		}
	}
	s := newStepped(t, "rolling_sum(x, 3)")
	var got []string
	for _, x := range []float64{1e100, 1, 2, 3, 4} {
		got = append(got, s.step(memoryStep{x: boundary.Float(x), at: noon}))
		s.conclude(true)
	}
	if fmt.Sprint(got[3:]) != "[6 9]" {
		t.Errorf("after 1e100 has left: %s", got)
	}
}

// M21: the deviation of large values that lie close together is that of their differences.
func TestRollingStddevOfLargeValues(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]boundary.Value{
		"2^52": boundary.Float(1 << 52), "ints at 2^52": boundary.Int(1 << 52), "ints at 2^62": boundary.Int(1 << 62),
		"ints at -2^62": boundary.Int(-1 << 62), "1e9 with thirds": boundary.Float(1e9),
	} {
		r := rand.New(rand.NewPCG(7, 7))
		s := newStepped(t, "rolling_stddev(x, 7)")
		var all []memoryStep
		for range 60 {
			var x boundary.Value
			if i, ok := base.AsInt(); ok {
				x = boundary.Int(i + r.Int64N(8))
			} else {
				f, _ := base.AsFloat()
				x = boundary.Float(f + float64(r.IntN(8)))
			}
			all = append(all, memoryStep{x: x, at: noon})
			got := s.step(all[len(all)-1])
			s.conclude(true)
			in := windowOf(all, 7, 0)
			if len(in) < 2 {
				continue
			}
			n := new(big.Float).SetPrec(3000).SetInt64(int64(len(in)))
			mean, _ := exactOf(in)
			mean.Quo(mean, n)
			squares := new(big.Float).SetPrec(3000)
			for _, v := range in {
				d, _ := exactOf([]boundary.Value{v})
				d.Sub(d, mean)
				squares.Add(squares, d.Mul(d, d))
			}
			variance, _ := squares.Quo(squares, n.Sub(n, big.NewFloat(1))).Float64()
			if want := math.Sqrt(variance); !near(got, number(want)) {
				t.Fatalf("%s: %v: got %s, want %v", name, in, got, want)
			}
		}
	}
}

// dedupe takes values of every kind: null is never new, objects are equal whatever the order
// of their fields; time does not go back, also when nothing is remembered any more.
func TestDedupeOfEverything(t *testing.T) {
	t.Parallel()
	s := newStepped(t, `dedupe(x, duration("1m"), t)`)
	for i, c := range []struct {
		after time.Duration
		json  string
		want  string
	}{
		{0, `null`, "false"}, {0, `null`, "false"}, {0, `{"a":1,"b":[2]}`, "true"}, {
			time.Second, `{"b":[2.0],"a":1.0}`, "false",
		},
		{0, `{"a":1}`, "true"}, {0, `[{"a":1}]`, "true"}, {0, `[{"a":1}]`, "false"}, {0, `[null]`, "true"},
		{0, `"null"`, "true"},
		{2 * time.Minute, `null`, "false"},            // everything is forgotten
		{0, `{"a":1}`, "true"},                        // counts as after two minutes
		{2*time.Minute + 30*time.Second, `1`, "true"}, //
		{time.Minute, `{"a":1}`, "false"},             // so does this
		{2*time.Minute + 59*time.Second, `{"a":1}`, "false"},
		{0, `null`, "false"},
		{3 * time.Minute, `{"a":1}`, "true"},
	} {
		v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode([]byte(c.json))
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			s.restart()
		}
		if got := s.step(memoryStep{x: v, at: noon.Add(c.after)}); got != c.want {
			t.Errorf("step %d, %s: got %s, want %s", i, c.json, got, c.want)
		}
		s.conclude(true)
	}
}

// A memory of the release before, which does not say what time it saw last nor how far its
// sums are to be trusted, is read.
func TestMemoryOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	s := newStepped(t, "rolling_sum(x, 2)")
	old := "\x01\x06\x00\x00\x04" + strings.Repeat("\x00", 16) // two floats in the window, and a sum of 0
	for i, f := range []float64{1, 2} {
		old += string(boundary.Float(f).AppendBinary([]byte{byte(2 * (i + 2))}))
	}
	if err := s.env.Memories[0].Restore([]byte(old)); err != nil {
		t.Fatal(err)
	}
	if got := s.step(memoryStep{x: boundary.Float(5), at: noon}); got != "7" {
		t.Errorf("got %s, want 2 and 5, summed anew", got)
	}
}
