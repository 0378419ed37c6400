package expression

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// The rules once more, on plain Go values and with exact arithmetic, for the oracle.

func oracleGet(v, key any) (any, error) {
	switch v := v.(type) {
	case []any:
		i, ok := key.(int)
		if !ok {
			return nil, fault(CodeTypeError)
		}
		if i < 0 {
			i += len(v)
		}
		if i < 0 || i >= len(v) {
			return nil, fault(CodeOutOfRange)
		}
		return v[i], nil
	case map[string]any:
		if name, ok := key.(string); ok {
			return v[name], nil
		}
	}
	return nil, fault(CodeTypeError)
}

func oracleUnary(op string, x any) (any, error) {
	switch x.(type) {
	case int, float64:
		if op == "+" {
			return x, nil
		}
		if x == 0.0 {
			return math.Copysign(0, -1), nil
		}
		return oracleBinary("*", -1, x)
	}
	return nil, fault(CodeTypeError)
}

// exact is a number without rounding.
func exact(x any) (*big.Rat, bool) {
	switch x := x.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(x)), true
	case float64:
		return new(big.Rat).SetFloat64(x), true
	}
	return nil, false
}

func asFloat(x any) float64 {
	if i, ok := x.(int); ok {
		return float64(i)
	}
	return x.(float64)
}

func oracleBinary(op string, a, b any) (any, error) {
	switch op {
	case "==":
		return oracleEqual(a, b), nil
	case "!=":
		return !oracleEqual(a, b), nil
	case "<", "<=", ">", ">=":
		c, err := oracleOrder(a, b)
		return op[0] == '<' && c < 0 || op[0] == '>' && c > 0 || len(op) == 2 && c == 0, err
	case "in":
		return oracleIn(a, b)
	case "contains", "startsWith", "endsWith", "matches":
		return oracleText(op, a, b)
	case "..":
		return oracleRange(a, b)
	}
	i, aInt := a.(int)
	j, bInt := b.(int)
	_, aNum := exact(a)
	_, bNum := exact(b)
	switch {
	case aInt && bInt && op != "/" && op != "**" && op != "^":
		x, y, r := big.NewInt(int64(i)), big.NewInt(int64(j)), new(big.Int)
		switch op {
		case "+":
			r.Add(x, y)
		case "-":
			r.Sub(x, y)
		case "*":
			r.Mul(x, y)
		case "%":
			if j == 0 {
				return nil, fault(CodeNotFinite)
			}
			r.Rem(x, y)
		}
		if !r.IsInt64() {
			return nil, fault(CodeNotFinite)
		}
		return int(r.Int64()), nil
	case aNum && bNum && op != "%":
		f, g := asFloat(a), asFloat(b)
		r := map[string]float64{"+": f + g, "-": f - g, "*": f * g, "/": f / g, "**": math.Pow(f, g),
			"^": math.Pow(f, g)}[op]
		if math.IsNaN(r) || math.IsInf(r, 0) {
			return nil, fault(CodeNotFinite)
		}
		return r, nil
	}
	if s, ok := a.(string); ok && op == "+" {
		if t, ok := b.(string); ok {
			return s + t, nil
		}
	}
	return oracleTime(op, a, b)
}

func oracleTime(op string, a, b any) (any, error) {
	t, aTime := a.(time.Time)
	u, bTime := b.(time.Time)
	d, aSpan := a.(time.Duration)
	s, bSpan := b.(time.Duration)
	n, span := a, s
	if aSpan {
		n, span = b, d
	}
	x, isNum := exact(n)
	ns := new(big.Int)
	isTime := false
	big64 := func(i int64) *big.Int { return big.NewInt(i) }
	switch {
	case op == "-" && aTime && bTime:
		ns.Sub(big64(t.UnixNano()), big64(u.UnixNano()))
	case op == "-" && aTime && bSpan:
		ns.Sub(big64(t.UnixNano()), big64(int64(s)))
		isTime = true
	case op == "+" && aTime && bSpan:
		ns.Add(big64(t.UnixNano()), big64(int64(s)))
		isTime = true
	case op == "+" && aSpan && bTime:
		ns.Add(big64(u.UnixNano()), big64(int64(d)))
		isTime = true
	case op == "+" && aSpan && bSpan:
		ns.Add(big64(int64(d)), big64(int64(s)))
	case op == "-" && aSpan && bSpan:
		ns.Sub(big64(int64(d)), big64(int64(s)))
	case op == "*" && (aSpan || bSpan) && isNum:
		if f, ok := n.(float64); ok {
			r := float64(span) * f
			if r >= 1<<63 || r < -1<<63 || r != r {
				return nil, fault(CodeNotFinite)
			}
			return time.Duration(r), nil
		}
		ns.Mul(big64(int64(span)), x.Num())
	default:
		return nil, fault(CodeTypeError)
	}
	if !ns.IsInt64() {
		return nil, fault(CodeNotFinite)
	}
	if isTime {
		return time.Unix(0, ns.Int64()).UTC(), nil
	}
	return time.Duration(ns.Int64()), nil
}

func oracleEqual(a, b any) bool {
	x, aNum := exact(a)
	y, bNum := exact(b)
	if aNum && bNum {
		return x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, oracleEqual)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !oracleEqual(v, w) {
				return false
			}
		}
		return true
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func oracleOrder(a, b any) (int, error) {
	x, aNum := exact(a)
	y, bNum := exact(b)
	if aNum && bNum {
		return x.Cmp(y), nil
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), nil
		}
	case time.Time:
		if b, ok := b.(time.Time); ok {
			return a.Compare(b), nil
		}
	case time.Duration:
		if b, ok := b.(time.Duration); ok {
			return big.NewInt(int64(a)).Cmp(big.NewInt(int64(b))), nil
		}
	}
	return 0, fault(CodeTypeError)
}

func oracleIn(a, b any) (any, error) {
	switch b := b.(type) {
	case nil:
		return false, nil
	case []any:
		return slices.ContainsFunc(b, func(x any) bool { return oracleEqual(a, x) }), nil
	case map[string]any:
		if name, ok := a.(string); ok {
			_, ok := b[name]
			return ok, nil
		}
	}
	return nil, fault(CodeTypeError)
}

func oracleText(op string, a, b any) (any, error) {
	s, aText := a.(string)
	t, bText := b.(string)
	if !(aText || a == nil) || !(bText || b == nil) {
		return nil, fault(CodeTypeError)
	}
	if !aText || !bText {
		return false, nil
	}
	switch op {
	case "contains":
		return strings.Contains(s, t), nil
	case "startsWith":
		return strings.HasPrefix(s, t), nil
	case "endsWith":
		return strings.HasSuffix(s, t), nil
	}
	ok, err := regexp.MatchString(t, s)
	if err != nil {
		return nil, fault(CodeInvalidArgument)
	}
	return ok, nil
}

func oracleRange(a, b any) (any, error) {
	i, ok := a.(int)
	j, ok2 := b.(int)
	if !ok || !ok2 {
		return nil, fault(CodeTypeError)
	}
	if n := new(big.Int).Sub(big.NewInt(int64(j)), big.NewInt(int64(i))); n.Cmp(big.NewInt(1<<20-1)) > 0 {
		return nil, fault(CodeLimitExceeded)
	}
	out := []any{}
	for k := i; k <= j; k++ {
		if out = append(out, k); k == math.MaxInt64 {
			break
		}
	}
	return out, nil
}

func oracleSlice(args ...any) (any, error) {
	chars := false
	var items []any
	switch v := args[0].(type) {
	case string:
		chars = true
		for _, r := range v {
			items = append(items, r)
		}
	case []any:
		items = v
	}
	from, to := 0, len(items)
	for k, bound := range []*int{&from, &to} {
		if !args[3+k].(bool) {
			continue
		}
		i, ok := args[1+k].(int)
		if !ok {
			return nil, fault(CodeTypeError)
		}
		if i < 0 {
			i += len(items)
		}
		*bound = min(max(i, 0), len(items))
	}
	if _, isList := args[0].([]any); !isList && !chars {
		return nil, fault(CodeTypeError)
	}
	items = slices.Clone(items[min(from, to):to])
	if !chars {
		return append([]any{}, items...), nil
	}
	var b strings.Builder
	for _, r := range items {
		b.WriteRune(r.(rune))
	}
	return b.String(), nil
}

// oracleAdd is a step of sum; the total is nil before the first.
func oracleAdd(args ...any) (any, error) {
	total, x := args[0], args[1]
	_, isNum := exact(x)
	if _, isSpan := x.(time.Duration); !isNum && !isSpan {
		return nil, fault(CodeTypeError)
	}
	if total == nil {
		return x, nil
	}
	return oracleBinary("+", total, x)
}

func oracleSort(args ...any) (any, error) {
	items, keys := args[0].([]any), args[1].([]any)
	order, _ := args[2].(string)
	if order != "asc" && order != "desc" {
		return nil, fault(CodeInvalidArgument)
	}
	out := []any{}
	var places []int
	for i := range items {
		// Insertion sort: the place before the first one that comes after.
		at := len(places)
		for at > 0 {
			c, err := oracleOrder(keys[i], keys[places[at-1]])
			if err != nil {
				return nil, err
			}
			if order == "asc" && c >= 0 || order == "desc" && c <= 0 {
				break
			}
			at--
		}
		places = slices.Insert(places, at, i)
	}
	for _, p := range places {
		out = append(out, items[p])
	}
	return out, nil
}

func oracleGroup(args ...any) (any, error) {
	groups := map[string]any{}
	for i, key := range args[1].([]any) {
		v, err := boundary.FromAny(key)
		if err != nil {
			return nil, err
		}
		name := strings.Trim(string(v.AppendJSON(nil)), `"`)
		if s, ok := key.(string); ok {
			name = s
		}
		list, _ := groups[name].([]any)
		groups[name] = append(list, args[0].([]any)[i])
	}
	return groups, nil
}
