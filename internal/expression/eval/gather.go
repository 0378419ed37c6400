package eval

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// groupBy is an object of the lists of elements with the same key. A field's
// name is a string, so keys that are numbers, bools or times are written as one.
func (l *loop) groupBy(e *Env) boundary.Value {
	list, ok := l.list(e)
	if !ok {
		return boundary.Value{}
	}
	var keys Fields
	var groups [][]boundary.Value
	if !l.each(e, list, func(item, key boundary.Value) bool {
		switch key.Kind() {
		case boundary.KindNull, boundary.KindList, boundary.KindObject:
			e.Fail(l.at, rules.CodeTypeError, "groupBy cannot group by %s", key.Kind())
			return false
		}
		g := keys.at(PlainText(key))
		if g == len(groups) {
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], item)
		return true
	}) {
		return boundary.Value{}
	}
	for i, g := range groups {
		if keys.values[i] = e.List(l.at, g); keys.values[i].IsAbsent() {
			return boundary.Value{}
		}
	}
	return e.Object(l.at, &keys)
}

// sortBy sorts by the predicate; elements with equal keys keep their order.
func (l *loop) sortBy(e *Env, order value) boundary.Value {
	list, ok := l.list(e)
	if !ok {
		return boundary.Value{}
	}
	var items, keys []boundary.Value
	if !l.each(e, list, func(item, key boundary.Value) bool {
		items, keys = append(items, item), append(keys, key)
		return true
	}) {
		return boundary.Value{}
	}
	direction := "asc"
	if order != nil {
		v := order(e)
		if v.IsAbsent() {
			return v
		}
		direction, _ = v.AsString() // another kind is no order either
	}
	return e.Sorted(l.at, "sortBy", items, keys, direction)
}

// reduce folds the elements into #acc, which starts as the first of them when
// nothing else is given.
func (l *loop) reduce(e *Env, start value) boundary.Value {
	list, ok := l.list(e)
	if !ok {
		return boundary.Value{}
	}
	var acc boundary.Value
	if start != nil {
		if acc = start(e); acc.IsAbsent() {
			return acc
		}
	}
	i := 0
	for item := range list.Items() {
		if acc.IsAbsent() {
			acc = rules.Present(item)
			i++
			continue
		}
		// A predicate within the predicate has a frame of its own, so that this one stays.
		e.vars[l.acc] = acc
		if !l.enter(e, item, i) {
			return boundary.Value{}
		}
		if acc = l.body.val(e); acc.IsAbsent() {
			return acc
		}
		i++
	}
	if acc.IsAbsent() {
		e.Fail(l.at, rules.CodeInvalidArgument, "reduce of an empty list needs a third argument to start with")
	}
	return acc
}

// Sorted sorts items by keys, which may be the items themselves, "asc" or
// "desc". Items with equal keys keep their order.
func (e *Env) Sorted(at Site, name string, items, keys []boundary.Value, direction string) boundary.Value {
	if direction != "asc" && direction != "desc" {
		return e.Fail(at, rules.CodeInvalidArgument, `%s: the order must be "asc" or "desc"`, name)
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
	if k := v.Kind(); k == boundary.KindTime || k == boundary.KindDuration {
		return strings.Trim(s, `"`)
	}
	return s
}
