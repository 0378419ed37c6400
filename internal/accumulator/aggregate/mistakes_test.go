package aggregate

import (
	"strings"
	"testing"
)

// A mistake in an aggregate says how the function is written, or which one is meant.
func TestCompileMistakesSayWhatToWrite(t *testing.T) {
	t.Parallel()
	inner, outer, env := scopes()
	for text, want := range map[string]string{
		"top(event.x, 1)":            "top takes 3 arguments here, got 2; write top(x, by, k)",
		"count(event)":               "count takes no argument here, got 1; write count()",
		"max_by(event.x)":            "max_by takes 2 arguments here, got 1; write max_by(x, by)",
		"quantile(event.x)":          "quantile takes 2 arguments here, got 1; write quantile(x, q)",
		"distinct()":                 "distinct takes 1 or 2 arguments here, got 0; write distinct(x[, exact])",
		"collect(event, 0)":          "as its second argument, how many it keeps; write collect(x, limit)",
		"countDistinct(event.x)":     "unknown function countDistinct (did you mean count_distinct?)",
		"1 + COUNT()":                "unknown function COUNT (did you mean count?)",
		"top_k(event, event.x, 3)":   "unknown function top_k (did you mean top?)",
		"avg(event.x)":               "unknown function avg (did you mean mean?)",
		"p99(event.x)":               "unknown function p99 (did you mean quantile?)",
		"median(event.x)":            "median is of a list; of events it is quantile(x, 0.5)",
		"median([count(), 3])":       "",
		"frobnicate(event.x)":        "unknown function frobnicate",
		"sum(amount)":                "unknown name amount; known here: event, meta, vars (did you mean event.amount?)",
		"percentile(event.x, 0.9)":   "unknown function percentile (did you mean quantile?)",
		"sum(uperr(event.x))":        "unknown function uperr (did you mean upper?)",
		"sum(size(event.x))":         "unknown function size (did you mean len?)",
		"event.x":                    "such as last(event)",
		"count() + abs(event.x)":     "event is of one event, and an aggregate of many",
		"roun(mean(event.x))":        "unknown function roun (did you mean round?)",
		"isnull(max(event.x))":       "write x == nil",
		"sum(event.x) + evnt":        "unknown name evnt",
		"abs(count(), 1)":            "abs takes one argument, got 2; write abs(x)",
		"split(last(event.x))":       "write split(text, separator[, most])",
		"last(event.at).Format()":    "write .Format(layout[, zone])",
		"count_distinct(event.x, 0)": "up to how many it counts; write count_distinct(x[, limit])",
	} {
		var c Calls
		_, err := c.Compile(text, inner, outer, env, 2)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for name, f := range folds {
		args, ok := strings.CutPrefix(f.Usage, name+"(")
		needed, all, _ := strings.Cut(strings.TrimSuffix(args, ")"), "[")
		count := strings.Count(needed, ",") + min(len(needed), 1)
		if most := count + strings.Count(all, ","); !ok || count != f.Min || most != f.Max {
			t.Errorf("%s takes %d to %d arguments, and is shown as %s", name, f.Min, f.Max, f.Usage)
		}
	}
}
