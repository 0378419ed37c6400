package library

import (
	"strings"

	"github.com/graphd/graphd/internal/expression/eval"
)

// usages are the functions that take more than one argument, as they are written: what stands in brackets may be left
// out, and a call with "…" takes any number.
var usages = [...]string{
	"min(x, y, …)", "max(x, y, …)", "mean(x, y, …)", "median(x, y, …)",
	"bitand(a, b)", "bitor(a, b)", "bitxor(a, b)", "bitnand(a, b)", "bitshl(a, by)", "bitshr(a, by)", "bitushr(a, by)",
	"trim(text[, characters])", "trimPrefix(text[, prefix])", "trimSuffix(text[, suffix])",
	"split(text, separator[, most])", "splitAfter(text, separator[, most])", "replace(text, old, new[, most])",
	"repeat(text, times)", "join(list[, separator])", "indexOf(text, part)", "lastIndexOf(text, part)",
	"hasPrefix(text, prefix)", "hasSuffix(text, suffix)", "captures(text, pattern)",
	"take(list, n)", "concat(list, list, …)", `sort(list[, "desc"])`, "get(list or object, key)",
	`date(text or number[, layout or unit[, zone]])`,
	"ema(x, weight)", "lag(x[, n])", "rate(x[, time])", "dedupe(x, duration[, time])",
	"rolling_count(x, width[, time])", "rolling_sum(x, width[, time])", "rolling_mean(x, width[, time])",
	"rolling_stddev(x, width[, time])", "rolling_min(x, width[, time])", "rolling_max(x, width[, time])",
	".AddDate(years, months, days)", ".Format(layout[, zone])",
}

// one are the methods with an argument beside the receiver, by what it is.
var one = map[string]string{
	".Add": "duration", ".Sub": "time", ".Before": "time", ".After": "time", ".Equal": "time",
	".Truncate": "duration", ".Round": "duration",
}

// Usage is how a call of a function is written, for messages: split(text, separator[, most]).
func Usage(f *eval.Function) string {
	for _, u := range usages {
		if strings.HasPrefix(u, f.Name+"(") {
			return u
		}
	}
	least, most := f.Arguments()
	method := strings.HasPrefix(f.Name, ".")
	switch {
	case method && least < most:
		return f.Name + "([zone])"
	case method:
		return f.Name + "(" + one[f.Name] + ")"
	case most == 0:
		return f.Name + "()"
	}
	return f.Name + "(x)"
}
