package expression

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// The closures and the oracle agree on every semantics row.
func TestOracleAgreesOnTable(t *testing.T) {
	t.Parallel()
	w := worldOf(t, false)
	for _, row := range semantics {
		if row.want == "!limit_exceeded" || strings.Contains(row.text, "null.x ?? 4") {
			continue // the machine has no such limits
		}
		compareWithOracle(t, row.text, w.scope, []*Env{w.env()})
	}
}

// Random expressions over random values: the closures, with and without slots,
// and the oracle give the same value of the same kind or the same error (M15, M21).
func TestOracleAgrees(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("EXPR_SEED"), 10, 64); err == nil {
		seed = s
	}
	n := 5_000
	if testing.Short() {
		n = 1_000
	}
	compiled, failed, results := 0, 0, map[string]int{}
	for i := range n {
		g := &generator{rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		scope := g.scope()
		text := g.any(1 + g.rand.IntN(3))
		envs := []*Env{g.env(scope), g.env(scope), g.env(scope)}
		outs, ok := compareWithOracle(t, text, scope, envs)
		if t.Failed() {
			t.Fatalf("EXPR_SEED=%d, expression %d: %s", seed, i, text)
		}
		if !ok {
			failed++
			continue
		}
		compiled++
		for _, o := range outs {
			results[o]++
		}
	}
	t.Logf("EXPR_SEED=%d: %d compiled, %d did not; results %v", seed, compiled, failed, results)
	if compiled < n/2 || results["value"] < compiled {
		t.Fatalf("the generator makes too few expressions that work: %d of %d compiled, results %v", compiled, n,
			results)
	}
}

// compareWithOracle evaluates text in each environment in every way.
func compareWithOracle(t *testing.T, text string, scope Scope, envs []*Env) (outs []string, compiled bool) {
	t.Helper()
	o, err := newOracle(text, scope)
	p, perr := Compile(text, scope)
	if ce, ok := errors.AsType[*Error](perr); ok {
		if err == nil && isEvalCode(ce.Code) { // a constant that cannot be evaluated
			if _, code, _ := o.eval(envs[0]); code != "!"+ce.Code {
				t.Errorf("%s\ncompiling: %s\n   oracle: %s", text, ce.Code, code)
			}
		}
		return nil, false
	}
	if err != nil {
		t.Errorf("%s\noracle does not compile: %v", text, err)
		return nil, true
	}
	bound, _ := Compile(text, scope)
	for i := range scope.Names {
		bound.Bind(i, boundary.NewShape("a", "b", "x", "n", "nope"))
	}
	for _, env := range envs {
		want, code, err := o.eval(env)
		if err != nil {
			t.Errorf("%s\noracle: %v\nvalues %v", text, err, env.Values)
			continue
		}
		if code == "" {
			code = "value"
		}
		outs = append(outs, code)
		for name, p := range map[string]*Program{"closures": p, "with slots": bound} {
			got, err := p.Eval(env)
			if gotCode := codeOf(err); gotCode != code || !same(got, want) {
				t.Errorf("%s\n%10s: %v %s (%v)\n    oracle: %v %s\n values: %v", text, name, got, gotCode, err, want,
					code, env.Values)
			}
		}
	}
	return outs, true
}

func isEvalCode(code string) bool {
	switch code {
	case CodeTypeError, CodeNotFinite, CodeOutOfRange, CodeInvalidArgument:
		return true
	}
	return false
}

func codeOf(err error) string {
	if err == nil {
		return "value"
	}
	if ee, ok := errors.AsType[*EvalError](err); ok {
		return "!" + ee.Code
	}
	return "!absent"
}

// same is equality that tells an int from a float.
func same(a, b boundary.Value) bool {
	if a.Kind() != b.Kind() || !boundary.Equal(a, b) {
		return false
	}
	switch a.Kind() {
	case boundary.KindList:
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
	case boundary.KindObject:
		for name, f := range a.Fields() {
			if !same(f, b.Field(name)) {
				return false
			}
		}
	}
	return true
}

// generator makes expressions and values that go together more often than not.
type generator struct{ rand *rand.Rand }

func (g *generator) pick(from ...string) string { return from[g.rand.IntN(len(from))] }

// names by the kind of value that they mostly have.
var generatorNames = map[string]boundary.Kind{
	"i": boundary.KindInt, "j": boundary.KindInt, "f": boundary.KindFloat, "s": boundary.KindString,
	"b": boundary.KindBool,
	"l": boundary.KindList, "o": boundary.KindObject, "p": boundary.KindObject, "t": boundary.KindTime,
	"d": boundary.KindDuration,
}

func (g *generator) scope() Scope {
	s := Scope{Clock: true, Epoch: true, Arrives: func(int) bool { return true }}
	for _, name := range []string{"i", "j", "f", "s", "b", "l", "o", "p", "t", "d"} {
		typ := Any()
		if name != "o" && name != "p" && g.rand.IntN(4) == 0 {
			typ = Of(generatorNames[name])
		}
		s.Names = append(s.Names, Name{name, typ})
	}
	return s
}

func (g *generator) env(s Scope) *Env {
	env := &Env{Now: noon, Epoch: 3, Cause: g.pick("criteria", "force")}
	shape := boundary.NewShape("a", "b", "x", "n", "nope")
	for _, n := range s.Names {
		v := g.value(generatorNames[n.Name], 2)
		switch {
		case g.rand.IntN(40) == 0:
			v = boundary.Value{}
		case g.rand.IntN(40) == 0:
			v = boundary.Null()
		case g.rand.IntN(40) == 0 && n.Type.IsAny():
			v = g.value(boundary.KindBool+boundary.Kind(g.rand.IntN(9)), 1)
		case n.Name == "o" && g.rand.IntN(2) == 0:
			raw := v.AppendJSON(nil)
			decoded, err := boundary.NewDecoder(shape, boundary.Limits{}).Decode(raw)
			if err != nil {
				panic(err)
			}
			v = decoded
		}
		env.Values = append(env.Values, v)
		env.Fresh = append(env.Fresh, g.rand.IntN(2) == 0)
	}
	return env
}

// value makes a value of a kind, often at an edge.
func (g *generator) value(k boundary.Kind, depth int) boundary.Value {
	switch k {
	case boundary.KindNull:
		return boundary.Null()
	case boundary.KindBool:
		return boundary.Bool(g.rand.IntN(2) == 0)
	case boundary.KindInt:
		edges := []int64{0, 1, -1, 2, 3, 7, 10, 4, 5, 6, 12, 100, 1000, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1,
			1 << 53, 1<<53 + 1, 3037000500}
		return boundary.Int(edges[g.rand.IntN(len(edges))])
	case boundary.KindFloat:
		edges := []float64{0, 1, -1, 0.5, 2.5, -7.25, 1.5, 3, 4.75, 100.125, 1e300, math.MaxFloat64, -math.MaxFloat64,
			5e-324, 1 << 53, 1 << 63, -(1 << 63), 3}
		return boundary.Float(edges[g.rand.IntN(len(edges))])
	case boundary.KindString:
		return boundary.String(g.pick("", "a", "b", "héllo", "x", "12", "2.5", "1h"))
	case boundary.KindTime:
		return boundary.Time(noon.Add(time.Duration(g.rand.Int64N(1 << 50))))
	case boundary.KindDuration:
		return boundary.Duration([]time.Duration{
			0, time.Second, -time.Minute, time.Hour, math.MaxInt64, math.MinInt64,
		}[g.rand.IntN(6)])
	}
	kinds := []boundary.Kind{boundary.KindInt, boundary.KindInt, boundary.KindFloat, boundary.KindInt}
	if k == boundary.KindObject {
		kinds = []boundary.Kind{boundary.KindInt, boundary.KindList, boundary.KindString, boundary.KindNull}
	}
	items := make([]boundary.Value, len(kinds))
	for i, kind := range kinds {
		if g.rand.IntN(6) == 0 {
			kind = boundary.KindNull + boundary.Kind(g.rand.IntN(9))
		}
		if depth == 0 && kind >= boundary.KindList {
			kind = boundary.KindInt
		}
		items[i] = g.value(kind, depth-1)
	}
	if k == boundary.KindList {
		return boundary.List(items[:g.rand.IntN(5)])
	}
	if g.rand.IntN(4) == 0 {
		items[g.rand.IntN(4)] = boundary.Value{}
	}
	return boundary.Object(boundary.NewShape("a", "b", "x", "n"), items)
}

// any is an expression of any kind.
func (g *generator) any(depth int) string {
	switch g.rand.IntN(8) {
	case 0, 1:
		return g.number(depth)
	case 2, 3:
		return g.truth(depth)
	case 4:
		return g.text(depth)
	case 5:
		return g.list(depth)
	case 6:
		return g.time(depth)
	}
	return g.other(depth)
}

// leafOr is a leaf at the bottom, and now and then an expression of another kind.
func (g *generator) leafOr(depth int, leaf []string, f func() string) string {
	if depth <= 0 {
		return g.pick(leaf...)
	}
	if g.rand.IntN(50) == 0 {
		return "(" + g.other(depth-1) + ")"
	}
	return f()
}

func (g *generator) number(depth int) string {
	leaf := []string{"i", "j", "f", "o.a", "p.a", "1", "2", "3", "2.5", "-1", "9223372036854775807", "o?.a",
		"(p.n ?? 1)", "l[0]", "len(s)"}
	return g.leafOr(depth, leaf, func() string {
		switch g.rand.IntN(14) {
		case 0, 1, 2, 3, 4:
			return fmt.Sprintf("(%s %s %s)", g.number(depth-1), g.pick("+", "-", "*", "/", "+", "-", "*", "/", "%",
				"**"), g.number(depth-1))
		case 5:
			return fmt.Sprintf("-(%s)", g.number(depth-1))
		case 6:
			return fmt.Sprintf("%s(%s)", g.pick("abs", "floor", "ceil", "round", "int", "float"), g.number(depth-1))
		case 7:
			return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), g.number(depth-1), g.number(depth-1))
		case 8:
			return fmt.Sprintf("(%s ? %s : %s)", g.truth(depth-1), g.number(depth-1), g.number(depth-1))
		case 9:
			return fmt.Sprintf("(%s ?? %s)", g.number(0), g.number(depth-1))
		case 10:
			return fmt.Sprintf("sum(%s, %s)", g.list(depth-1), g.inner(depth-1))
		case 11:
			return fmt.Sprintf("reduce(%s, #acc + %s, %s)", g.list(depth-1), g.inner(depth-1), g.number(0))
		case 12:
			return fmt.Sprintf("%s(%s, %s)", g.pick("count", "findIndex", "findLastIndex"), g.list(depth-1),
				g.innerTruth(depth-1))
		}
		return fmt.Sprintf("(let v%d = %s; v%d + %s)", depth, g.number(depth-1), depth, g.number(depth-1))
	})
}

// inner is a number inside of a predicate.
func (g *generator) inner(depth int) string {
	if depth <= 0 || g.rand.IntN(2) == 0 {
		return g.pick("#", "#", "#", "1", "i", "(# ?? 0)", ".a", "#?.x")
	}
	return fmt.Sprintf("(%s %s %s)", g.inner(depth-1), g.pick("+", "-", "*", "/"),
		g.pick(g.inner(depth-1), g.number(depth-1)))
}

func (g *generator) innerTruth(depth int) string {
	return fmt.Sprintf("%s %s %s", g.inner(depth), g.pick("==", "!=", "<", ">=", ">"), g.inner(depth))
}

func (g *generator) truth(depth int) string {
	leaf := []string{"b", "true", "false", "o.a == nil", "i == f", "(b ?? false)", "i > 2", "f <= o.a", "i != nil",
		"nil == p?.a",
		"(o.b ?? l) == nil", "fresh(i)", "fresh(o)", `cause() == "force"`}
	return g.leafOr(depth, leaf, func() string {
		switch g.rand.IntN(10) {
		case 0, 1:
			return fmt.Sprintf("(%s %s %s)", g.number(depth-1), g.pick("<", "<=", ">", ">=", "==", "!="),
				g.number(depth-1))
		case 2, 3:
			return fmt.Sprintf("(%s %s %s)", g.truth(depth-1), g.pick("and", "or", "&&", "||", "=="), g.truth(depth-1))
		case 4:
			return fmt.Sprintf("not (%s)", g.truth(depth-1))
		case 5:
			return fmt.Sprintf("(%s %s %s)", g.text(depth-1), g.pick("==", "<", "contains", "startsWith", "endsWith",
				"matches", "!="), g.text(depth-1))
		case 6:
			return fmt.Sprintf("(%s %s %s)", g.any(depth-1), g.pick("in", "not in"), g.pick(g.list(depth-1), "o", "p"))
		case 7:
			return fmt.Sprintf("%s(%s, %s)", g.pick("all", "any", "none", "one"), g.list(depth-1),
				g.innerTruth(depth-1))
		case 8:
			return fmt.Sprintf("(%s %s %s)", g.any(depth-1), g.pick("==", "!="), g.any(depth-1))
		}
		return fmt.Sprintf("(%s %s %s)", g.time(depth-1), g.pick("<", ">=", "=="), g.time(depth-1))
	})
}

func (g *generator) text(depth int) string {
	leaf := []string{"s", `"a"`, `"héllo"`, `""`, "o.x", `p["a"]`}
	return g.leafOr(depth, leaf, func() string {
		switch g.rand.IntN(5) {
		case 0:
			return fmt.Sprintf("(%s + %s)", g.text(depth-1), g.text(depth-1))
		case 1:
			return fmt.Sprintf("%s(%s)", g.pick("upper", "lower", "trim"), g.text(depth-1))
		case 2:
			return fmt.Sprintf("(%s ? %s : %s)", g.truth(depth-1), g.text(depth-1), g.text(depth-1))
		case 3:
			return fmt.Sprintf("(%s)[%s:%s]", g.text(depth-1), g.pick("", "1", "-2", g.number(0)),
				g.pick("", "2", "-1"))
		}
		return fmt.Sprintf("string(%s)", g.any(depth-1))
	})
}

func (g *generator) list(depth int) string {
	leaf := []string{"l", "[1, 2, 3]", "o.b", "(p.b ?? [])", "[]", "1..3", "[i, f]"}
	return g.leafOr(depth, leaf, func() string {
		switch g.rand.IntN(9) {
		case 0:
			return fmt.Sprintf("[%s, %s]", g.any(depth-1), g.any(depth-1))
		case 1:
			return fmt.Sprintf("filter(%s, %s)", g.list(depth-1), g.innerTruth(depth-1))
		case 2:
			body := g.pick("%s", "{a: %s}", `{"b": %s, (string(#)): 1}`)
			return fmt.Sprintf("map(%s, "+body+")", g.list(depth-1), g.inner(depth-1))
		case 3:
			return fmt.Sprintf("sortBy(%s, %s, %s)", g.list(depth-1), g.inner(depth-1), g.pick(`"asc"`, `"desc"`))
		case 4:
			return fmt.Sprintf("(%s)[%s:%s]", g.list(depth-1), g.pick("", "1", "-2"), g.pick("", "2", "i"))
		case 5:
			return fmt.Sprintf("map(%s, {let w%d = #; sum(%s, # + w%d)})", g.list(depth-1), depth, g.list(depth-1),
				depth)
		case 6:
			return fmt.Sprintf("%s(%s)", g.pick("uniq", "reverse", "sort", "flatten"), g.list(depth-1))
		case 7:
			return fmt.Sprintf("concat(%s, %s)", g.list(depth-1), g.list(depth-1))
		}
		return fmt.Sprintf("(%s ? %s : %s)", g.truth(depth-1), g.list(depth-1), g.list(depth-1))
	})
}

func (g *generator) time(depth int) string {
	leaf := []string{"t", "d", "now()", `duration("90s")`, "t?.Hour()"}
	return g.leafOr(depth, leaf, func() string {
		return fmt.Sprintf("(%s %s %s)", g.time(depth-1), g.pick("+", "-", "*"),
			g.pick(g.time(depth-1), g.number(depth-1)))
	})
}

// other makes objects, accesses and whatever else there is.
func (g *generator) other(depth int) string {
	leaf := []string{"o", "p", "nil", "o.x", "p?.a", "o.a.b", "o?.nope?.b", "p.b[0]", "l[i]", "p.nope", "i", "s",
		"o?.n?.x.y"}
	if depth <= 0 {
		return g.pick(leaf...)
	}
	switch g.rand.IntN(7) {
	case 0:
		return fmt.Sprintf(`{a: %s, "b": %s, (%s): %s}`, g.any(depth-1), g.any(depth-1), g.text(0), g.any(depth-1))
	case 1:
		return fmt.Sprintf("(%s)%s", g.other(depth-1), g.pick(".a", "?.a", "[0]", `["x"]`, ".a?.b.c", "?.[0]",
			"?.b[1]"))
	case 2:
		return fmt.Sprintf("(%s ?? %s ?? %s)", g.other(0), g.other(0), g.any(depth-1))
	case 3:
		return fmt.Sprintf("%s(%s, %s)", g.pick("find", "findLast"), g.list(depth-1), g.innerTruth(depth-1))
	case 4:
		return fmt.Sprintf("groupBy(%s, %s)", g.list(depth-1), g.inner(depth-1))
	case 5:
		return fmt.Sprintf("(%s ? %s : %s)", g.truth(depth-1), g.any(depth-1), g.any(depth-1))
	}
	return fmt.Sprintf("(%s; %s)", g.any(depth-1), g.any(depth-1))
}
