package expression

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/graphd/graphd/internal/expression/library"
)

// What other languages have, and how it is said here: people write what they know.

// functionOf is the function that is meant by a name of another language, "" when that is none.
func functionOf(name string) string {
	switch strings.ToLower(name) {
	case "size", "length", "strlen", "cardinality":
		return "len"
	case "avg", "average":
		return "mean"
	case "str", "tostring", "text", "to_string":
		return "string"
	case "parseint", "toint", "integer", "to_int":
		return "int"
	case "parsefloat", "tofloat", "number", "double", "to_float":
		return "float"
	case "moving_average", "rolling_avg", "sma":
		return "rolling_mean"
	case "rolling_std", "stddev", "std", "stdev":
		return "rolling_stddev"
	case "prev", "previous", "last_value":
		return "lag"
	case "ewma":
		return "ema"
	case "timestamp", "to_timestamp", "parse_time", "datetime":
		return "date"
	case "uppercase", "toupper", "ucase":
		return "upper"
	case "lowercase", "tolower", "lcase":
		return "lower"
	case "strip":
		return "trim"
	}
	return ""
}

// foldElsewhere is the fold that is meant by a name of another language, "" when that is none. Aggregates have names
// of their own: avg is mean in both, and std is one of many events here.
func foldElsewhere(name string) string {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "avg", "average":
		return "mean"
	case "std", "stdev", "stddevsamp", "deviation":
		return "stddev"
	case "argmax", "maxof":
		return "max_by"
	case "argmin", "minof":
		return "min_by"
	case "percentile", "percentilecont", "pct", "approxpercentile", "p50", "p75", "p90", "p95", "p99", "p999":
		return "quantile"
	case "uniq", "unique", "nunique", "approxdistinct", "approxcountdistinct", "cardinality":
		return "distinct"
	case "countunique", "uniqexact", "distinctcount":
		return "count_distinct"
	case "arrayagg", "listagg", "grouparray", "tolist", "list":
		return "collect"
	case "topk", "topn", "largest":
		return "top"
	case "size", "length", "len", "n":
		return "count"
	case "total":
		return "sum"
	case "firstvalue", "earliest":
		return "first"
	case "lastvalue", "latest", "newest":
		return "last"
	}
	return ""
}

// insteadOf is what is written here in place of a function of another language, "" when nobody knows.
func insteadOf(name string) string {
	switch strings.ToLower(name) {
	case "exists", "defined", "isset", "is_defined", "has", "notnull", "isnotnull", "is_not_null":
		return "write x != nil"
	case "isnull", "is_null", "isnil", "is_nil", "missing", "empty":
		return "write x == nil"
	case "coalesce", "ifnull", "nvl", "default", "if_null", "or_else":
		return "write a ?? b"
	case "iif", "iff", "cond", "choose":
		return "write condition ? a : b"
	case "substr", "substring", "slice", "mid":
		return "write text[from:to]"
	case "pow", "power":
		return "write a ** b"
	case "mod":
		return "write a % b"
	case "starts_with", "startswith", "hasprefix":
		return "write a startsWith b"
	case "ends_with", "endswith", "hassuffix":
		return "write a endsWith b"
	case "includes", "strpos", "contains":
		return "write a contains b, or x in list"
	case "count_distinct", "countdistinct", "distinct", "nunique":
		return "of a list write len(uniq(list)); of events it is an aggregate of a window"
	case "quantile", "percentile", "top", "collect", "min_by", "max_by":
		return "it is an aggregate of a window"
	case "regexp", "regex", "regexp_match", "match":
		return `write a matches "pattern"`
	}
	return ""
}

// wordInstead is what is written here in place of a token of another language that could not be read, "" when
// nobody knows.
func wordInstead(token string) string {
	switch strings.ToLower(strings.Trim(token, `"`)) {
	case "=":
		return "write == to compare"
	case "is":
		return "write == nil or != nil"
	case "like", "ilike", "rlike":
		return `write contains, startsWith or matches "pattern"`
	case "between":
		return "write a <= x and x <= b"
	case "when", "then", "case":
		return "write condition ? a : b"
	case "contains", "startswith", "endswith", "matches":
		return "it stands between two texts, as in a contains b"
	}
	return ""
}

// causes checks that what cause() is compared with is one.
func (v *validator) causes(n *ast.BinaryNode) {
	if n.Operator != "==" && n.Operator != "!=" && n.Operator != "in" {
		return
	}
	asked := func(n ast.Node) bool {
		call, ok := n.(*ast.CallNode)
		if !ok {
			return false
		}
		id, ok := call.Callee.(*ast.IdentifierNode)
		return ok && id.Value == library.Cause && !v.known(id.Value)
	}
	switch {
	case asked(n.Left):
		v.isCause(n.Right)
	case asked(n.Right):
		v.isCause(n.Left)
	}
}

func (v *validator) isCause(n ast.Node) {
	switch n := n.(type) {
	case *ast.ArrayNode:
		for _, one := range n.Nodes {
			v.isCause(one)
		}
	case *ast.StringNode:
		if all := library.Causes(); !slices.Contains(all, n.Value) {
			v.fail(n, CodeUnknownName, causeOf(n.Value), "no epoch has the cause %.64q; there are %s", n.Value,
				strings.Join(all, ", "))
		}
	}
}

// causeOf is the cause that is meant by a word.
func causeOf(word string) string {
	switch strings.ToLower(word) {
	case "timer", "every", "cadence", "schedule", "interval", "clock":
		return "tick"
	case "timeout", "wait", "max-wait":
		return "max_wait"
	case "event", "arrival", "input", "data", "any", "all", "trigger":
		return "criteria"
	case "fire", "manual", "operator", "forced":
		return "force"
	}
	return nearest(word, library.Causes())
}
