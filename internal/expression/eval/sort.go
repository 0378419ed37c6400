package eval

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// Sorted sorts items by keys, which may be the items themselves, "asc" or
// "desc". Items with equal keys keep their order.
func (e *Env) Sorted(at Site, name string, items, keys []boundary.Value, direction string) boundary.Value {
	if direction != "asc" && direction != "desc" {
		return e.Fail(at, CodeInvalidArgument, `%s: the order must be "asc" or "desc"`, name)
	}
	places := make([]int, len(items))
	for i := range places {
		places[i] = i
	}
	failed := false
	slices.SortStableFunc(places, func(i, j int) int {
		if failed || !e.Charge(at, 1) {
			failed = true
			return 0
		}
		c, ok := e.Order(at, name, keys[i], keys[j])
		failed = !ok
		if direction == "desc" {
			return -c
		}
		return c
	})
	if failed {
		return boundary.Value{}
	}
	out := make([]boundary.Value, len(items))
	for i, p := range places {
		out[i] = items[p]
	}
	return e.List(at, out)
}

// PlainText is a value as text: a string as it is, everything else as it is
// written in JSON, times and durations without the quotes.
func PlainText(v boundary.Value) string {
	if s, ok := v.AsString(); ok {
		return s
	}
	s := string(v.AppendJSON(nil))
	if isTemporal(v) {
		return strings.Trim(s, `"`)
	}
	return s
}
