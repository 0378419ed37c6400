package expression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// memoryScope has the value x, the key k and the time t of a step.
var memoryScope = Scope{Clock: true, Memory: true, Names: []Name{{"x", Any()}, {"k", Any()}, {"t", Any()}}}

// stepped is a program with memory, driven step by step.
type stepped struct {
	t   testing.TB
	p   *Program
	env Env
}

func newStepped(t testing.TB, text string) *stepped {
	t.Helper()
	p, err := Compile(text, memoryScope)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &stepped{t: t, p: p, env: Env{Memories: p.NewMemories(nil)}}
}

func (s *stepped) step(in memoryStep) string {
	s.env.Values = []boundary.Value{in.x, boundary.Int(in.k), boundary.Time(in.at)}
	s.env.Now = in.at
	v, err := s.p.Eval(&s.env)
	if err != nil {
		return "error " + err.(*EvalError).Code
	}
	return v.String()
}

func (s *stepped) conclude(keep bool) {
	for _, m := range s.env.Memories {
		m.Conclude(keep)
	}
}

// restart goes on from the memories' checkpoint.
func (s *stepped) restart() {
	fresh := s.p.NewMemories(nil)
	for i, m := range fresh {
		if err := m.Restore(s.env.Memories[i].AppendBinary(nil)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.env.Memories = fresh
}

type memoryStep struct {
	x  boundary.Value
	k  int64
	at time.Time
}

// memoryOracle computes a function anew from all that it was given.
type memoryOracle func(all []memoryStep) string

func number(f float64) string { return boundary.Float(f).String() }

// windowOf is what is in a window at the last step: the newest n, or those younger than d.
func windowOf(all []memoryStep, n int, d time.Duration) []boundary.Value {
	var in []boundary.Value
	for i := len(all) - 1; i >= 0; i-- {
		old := d > 0 && !all[i].at.After(all[len(all)-1].at.Add(-d))
		if old || n > 0 && len(in) == n {
			break
		}
		if !all[i].x.IsNull() {
			in = append(in, all[i].x)
		}
	}
	return in
}

func floats(vs []boundary.Value) []float64 {
	out := make([]float64, len(vs))
	for i, v := range vs {
		out[i], _ = v.AsFloat()
	}
	return out
}

func rolled(n int, d time.Duration, f func(in []float64) string) memoryOracle {
	return func(all []memoryStep) string { return f(floats(windowOf(all, n, d))) }
}

func meanOf(in []float64) float64 {
	sum := 0.0
	for _, f := range in {
		sum += f
	}
	return sum / float64(len(in))
}

// noneOr is null for fewer than least values.
func noneOr(least int, f func(in []float64) float64) func(in []float64) string {
	return func(in []float64) string {
		if len(in) < least {
			return "null"
		}
		return number(f(in))
	}
}

// given are the values that are not null.
func given(all []memoryStep) []memoryStep {
	var out []memoryStep
	for _, s := range all {
		if !s.x.IsNull() {
			out = append(out, s)
		}
	}
	return out
}

var memoryOracles = map[string]memoryOracle{
	"ema(x, 0.25)":           averageOracle(func(time.Duration) float64 { return 0.25 }),
	"ema(x, 7)":              averageOracle(func(time.Duration) float64 { return 0.25 }),
	`ema(x, duration("1m"))`: averageOracle(func(d time.Duration) float64 { return 1 - math.Pow(0.5, d.Minutes()) }),
	"lag(x)":                 lagOracle(1),
	"lag(x, 3)":              lagOracle(3),
	"delta(x)": func(all []memoryStep) string {
		g := given(all)
		if len(g) < 2 || all[len(all)-1].x.IsNull() {
			return "null"
		}
		a, _ := g[len(g)-1].x.AsFloat()
		b, _ := g[len(g)-2].x.AsFloat()
		return number(a - b)
	},
	"rate(x)":             rateOracle,
	"rate(x, t)":          rateOracle,
	"rolling_count(x, 5)": rolled(5, 0, func(in []float64) string { return number(float64(len(in))) }),
	`rolling_count(x, duration("90s"))`: rolled(0, 90*time.Second, func(in []float64) string {
		return number(float64(len(in)))
	}),
	"rolling_sum(x, 5)": rolled(5, 0, func(in []float64) string {
		return number(meanOf(append(in, 0)) * float64(len(in)+1))
	}),
	"rolling_mean(x, 20)":                rolled(20, 0, noneOr(1, meanOf)),
	`rolling_mean(x, duration("5m"), t)`: rolled(0, 5*time.Minute, noneOr(1, meanOf)),
	"rolling_min(x, 6)": rolled(6, 0, noneOr(1, func(in []float64) float64 {
		return extremeOf(in, math.Min)
	})),
	`rolling_max(x, duration("100s"))`: rolled(0, 100*time.Second, noneOr(1, func(in []float64) float64 {
		return extremeOf(in, math.Max)
	})),
	"rolling_stddev(x, 8)": rolled(8, 0, noneOr(2, func(in []float64) float64 {
		m, sum := meanOf(in), 0.0
		for _, f := range in {
			sum += (f - m) * (f - m)
		}
		return math.Sqrt(sum / float64(len(in)-1))
	})),
	`dedupe(k, duration("2m"))`: func(all []memoryStep) string {
		first := map[int64]time.Time{}
		fresh := false
		for _, s := range all {
			at, there := first[s.k]
			if fresh = !there || !at.After(s.at.Add(-2*time.Minute)); fresh {
				first[s.k] = s.at
			}
		}
		return fmt.Sprint(fresh)
	},
}

func extremeOf(in []float64, f func(a, b float64) float64) float64 {
	out := in[0]
	for _, x := range in {
		out = f(out, x)
	}
	return out
}

func averageOracle(weight func(passed time.Duration) float64) memoryOracle {
	return func(all []memoryStep) string {
		g := given(all)
		if len(g) == 0 {
			return "null"
		}
		avg, _ := g[0].x.AsFloat()
		for i := 1; i < len(g); i++ {
			x, _ := g[i].x.AsFloat()
			avg += weight(g[i].at.Sub(g[i-1].at)) * (x - avg)
		}
		return number(avg)
	}
}

func lagOracle(n int) memoryOracle {
	return func(all []memoryStep) string {
		if len(all) <= n {
			return "null"
		}
		return all[len(all)-1-n].x.String()
	}
}

func rateOracle(all []memoryStep) string {
	g := given(all)
	if len(g) < 2 || all[len(all)-1].x.IsNull() {
		return "null"
	}
	a, b := g[len(g)-1], g[len(g)-2]
	if !a.at.After(b.at) {
		return "null"
	}
	x, _ := a.x.AsFloat()
	y, _ := b.x.AsFloat()
	return number((x - y) / a.at.Sub(b.at).Seconds())
}

// Every function with memory gives what a computation from all of the past gives, and the
// very same bits when evaluations are taken back and when it goes on from a checkpoint (M21, M28).
func TestMemoryAgainstThePast(t *testing.T) {
	t.Parallel()
	for text, oracle := range memoryOracles {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				r := rand.New(rand.NewPCG(seed, 11))
				plain, shaken := newStepped(t, text), newStepped(t, text)
				var all []memoryStep
				at := noon
				for range 150 {
					if r.IntN(4) > 0 {
						at = at.Add(time.Duration(r.IntN(60_000)) * time.Millisecond)
					}
					s := memoryStep{x: randomNumber(r), k: int64(r.IntN(6)), at: at}
					if r.IntN(3) == 0 { // an epoch that fails
						shaken.step(memoryStep{
							x: randomNumber(r), k: int64(r.IntN(6)),
							at: at.Add(time.Duration(r.IntN(200)) * time.Second),
						})
						shaken.conclude(false)
					}
					if r.IntN(10) == 0 {
						shaken.restart()
					}
					all = append(all, s)
					got, again := plain.step(s), shaken.step(s)
					plain.conclude(true)
					shaken.conclude(true)
					if got != again {
						t.Fatalf("seed %d, step %d: %s, and after taking back and restarting %s", seed, len(all), got,
							again)
					}
					if want := oracle(all); !near(got, want) {
						t.Fatalf("seed %d, step %d of x=%s: got %s, want %s", seed, len(all), s.x, got, want)
					}
				}
			}
		})
	}
}

func randomNumber(r *rand.Rand) boundary.Value {
	switch r.IntN(8) {
	case 0:
		return boundary.Null()
	case 1, 2:
		return boundary.Float(r.NormFloat64() * 1e3)
	}
	return boundary.Int(int64(r.IntN(40) - 20))
}

// near compares two results; numbers within a relative error of 1e-9.
func near(a, b string) bool {
	if a == b {
		return true
	}
	var x, y float64
	if _, err := fmt.Sscan(a, &x); err != nil {
		return false
	}
	if _, err := fmt.Sscan(b, &y); err != nil {
		return false
	}
	return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y))
}

// Sums of ints are exact and tell when they do not fit; a window that is misused says so.
func TestMemoryEdges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		xs   []any
		want string
	}{
		{
			"rolling_sum(x, 3)", []any{
				math.MaxInt64, 1, -2, 5,
			}, "9223372036854775807 error:not_finite 9223372036854775805 error:not_finite",
		},
		{"rolling_sum(x, 2)", []any{1, 2.5, 1, 1}, "1 3.5 3.5 2"},
		{"rolling_sum(x, 2)", []any{nil, 3, nil}, "0 3 3"},
		{"rolling_max(x, 2)", []any{"b", "a", "c", "a", "a"}, `"b" "b" "c" "c" "a"`},
		{"rolling_max(x, 2)", []any{1, "a"}, "1 error:type_error"},
		{"rolling_mean(x, 0)", []any{1}, "error:invalid_argument"},
		{"rolling_mean(x, 100001)", []any{1}, "error:invalid_argument"},
		{`rolling_mean(x, x > 1 ? duration("1m") : 2)`, []any{1, 2}, "1 error:invalid_argument"},
		{"rolling_mean(x, 2, t)", []any{1}, "error:invalid_argument"},
		{"lag(x, 0)", []any{1}, "error:invalid_argument"},
		{"ema(x, 0)", []any{1}, "error:invalid_argument"},
		{"rate(x)", []any{1, 5}, "null null"}, // at the same instant
		{"delta(x)", []any{1, math.MinInt64}, "null error:not_finite"},
		{`dedupe(x, duration("0s"))`, []any{1}, "error:invalid_argument"},
		{`dedupe(x, duration("1s"))`, []any{1, 1.0, "1", true, true}, "true false true true false"},
		{"x > 2 ? lag(x) : nil", []any{3, 1, 4, 5}, "null null 3 4"},
		{"[lag(x), lag(x, 2)]", []any{1, 2, 3}, "[null,null] [1,null] [2,1]"},
	} {
		s := newStepped(t, tt.text)
		var got []string
		for _, x := range tt.xs {
			v, err := boundary.FromAny(x)
			if err != nil {
				t.Fatal(err)
			}
			out := s.step(memoryStep{x: v, at: noon})
			s.conclude(!strings.HasPrefix(out, "error"))
			got = append(got, strings.ReplaceAll(out, "error ", "error:"))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s over %v:\n got %s\nwant %s", tt.text, tt.xs, strings.Join(got, " "), tt.want)
		}
	}
}

// What one call remembers is bounded.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`rolling_mean(x, duration("1h"))`, `rolling_min(x, duration("1h"))`, `dedupe(x, duration("1h"))`,
	} {
		s := newStepped(t, text)
		out := ""
		for i := 0; i <= 100_000 && out != "error limit_exceeded"; i++ {
			out = s.step(memoryStep{x: boundary.Int(int64(i)), at: noon})
			s.conclude(true)
		}
		if out != "error limit_exceeded" {
			t.Errorf("%s: the last of 100,001 values gives %s", text, out)
		}
	}
}

// Functions with memory stand where there is a memory for them, and nowhere else.
func TestMemoryPlaces(t *testing.T) {
	t.Parallel()
	plain := Scope{Names: memoryScope.Names}
	for _, text := range []string{"lag(x)", "1 + ema(x, 3)"} {
		if _, err := Compile(text, plain); err == nil || err.(*Error).Code != CodeNotAllowed {
			t.Errorf("%s where nothing is remembered: %v", text, err)
		}
	}
	if _, err := Compile("map([1, 2], lag(#))", memoryScope); err == nil || err.(*Error).Code != CodeNotAllowed {
		t.Errorf("for every element of a list: %v", err)
	}
	p, err := Compile("lag(x)", memoryScope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(&Env{Values: make([]boundary.Value, 3), Now: noon}); err == nil {
		t.Error("a program with memory ran without one")
	}
}

// A checkpoint's bytes that are not a memory's are refused, and nothing panics.
func FuzzMemoryRestore(f *testing.F) {
	var programs []*stepped
	for text := range memoryOracles {
		s := newStepped(f, text)
		for i := range 5 {
			s.step(memoryStep{x: boundary.Int(int64(i)), k: int64(i), at: noon})
			s.conclude(true)
		}
		f.Add(s.env.Memories[0].AppendBinary(nil))
		programs = append(programs, s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range programs {
			m := s.p.NewMemories(nil)
			if err := m[0].Restore(data); err != nil {
				continue
			}
			again := s.p.NewMemories(nil)
			if err := again[0].Restore(m[0].AppendBinary(nil)); err != nil {
				t.Fatalf("%s: what was restored cannot be restored: %v", s.p.Text(), err)
			}
		}
	})
}

// The examples of functions with memory on the user's page do what the page says.
func TestDocsMemory(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(userPage)
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, block := range regexp.MustCompile("(?s)```steps\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			text, rest, ok := strings.Cut(strings.TrimSpace(line), " over ")
			xs, want, ok2 := strings.Cut(rest, "=>")
			if !ok || !ok2 {
				t.Errorf("%q is not of the form: expression over values => results", line)
				continue
			}
			examples++
			s := newStepped(t, strings.TrimSpace(text))
			var got []string
			for i, x := range strings.Split(xs, ",") {
				v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode([]byte(strings.TrimSpace(x)))
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				got = append(got, s.step(memoryStep{x: v, at: noon.Add(time.Duration(i) * time.Second)}))
				s.conclude(true)
			}
			if g := strings.Join(got, ", "); g != strings.TrimSpace(want) {
				t.Errorf("%s\n got %s\nwant %s", strings.TrimSpace(text), g, strings.TrimSpace(want))
			}
		}
	}
	if examples < 10 {
		t.Errorf("found %d examples on the page, want 10 and more", examples)
	}
}
