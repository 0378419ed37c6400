// Package elsewhere knows what other languages have, and how it is said in expressions: people write what they know.
package elsewhere

import "strings"

// Function is the function that is meant by a name of another language, "" when that is none.
func Function(name string) string {
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

// Fold is the fold that is meant by a name of another language, "" when that is none. Aggregates have names
// of their own: avg is mean in both, and std is one of many events here.
func Fold(name string) string {
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

// Instead is what is written here in place of a function of another language, "" when nobody knows.
func Instead(name string) string {
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

// Word is what is written here in place of a token of another language that could not be read, "" when
// nobody knows.
func Word(token string) string {
	switch strings.ToLower(strings.Trim(token, `"`)) {
	case "=":
		return "write == to compare"
	case "is":
		return "write == nil or != nil"
	case "like", "ilike", "rlike":
		return `write contains, startsWith or matches "pattern"`
	case "between":
		return "write a <= x and x <= b"
	case "when", "then", "case", "if", "else", "elif":
		return "write condition ? a : b"
	case "contains", "startswith", "endswith", "matches":
		return "it stands between two texts, as in a contains b"
	}
	return ""
}

// Unclosed is where a text begins that has no end, with what it begins with.
func Unclosed(text string) (at int, quote string) {
	for i := 0; i < len(text); i++ {
		c := text[i : i+1]
		switch {
		case quote == "" && strings.HasPrefix(text[i:], "//"):
			i += len(strings.SplitAfterN(text[i:], "\n", 2)[0]) - 1
		case quote == "" && strings.Contains("\"'`", c):
			at, quote = i, c
		case c == quote:
			quote = ""
		case quote == "" || quote == "`":
		case c == `\`:
			i++
		case c == "\n":
			return at, quote
		}
	}
	return at, quote
}
