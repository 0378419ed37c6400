package rules

import (
	"cmp"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// Order compares two values of kinds that have an order: numbers, strings,
// times, durations. what names the operation in the fault.
func Order(what string, a, b boundary.Value) (int, *Fault) {
	switch ak, bk := a.Kind(), b.Kind(); {
	case isNumber(a) && isNumber(b):
		return orderNumbers(a, b), nil
	case ak != bk:
	case ak == boundary.KindString:
		s, _ := a.AsString()
		t, _ := b.AsString()
		return strings.Compare(s, t), nil
	case ak == boundary.KindTime, ak == boundary.KindDuration:
		i, _ := nanos(a, ak)
		j, _ := nanos(b, bk)
		return cmp.Compare(i, j), nil
	}
	return 0, Mismatch(what, a, b)
}

// orderNumbers compares exactly, also an int with a float.
func orderNumbers(a, b boundary.Value) int {
	i, aInt := a.AsInt()
	j, bInt := b.AsInt()
	f, _ := a.AsFloat()
	g, _ := b.AsFloat()
	switch {
	case aInt && bInt:
		return cmp.Compare(i, j)
	case aInt:
		return orderIntFloat(i, g)
	case bInt:
		return -orderIntFloat(j, f)
	}
	return cmp.Compare(f, g)
}

// orderIntFloat compares without rounding i, which a float may not hold.
func orderIntFloat(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := int64(f) // towards zero
	if c := cmp.Compare(i, whole); c != 0 {
		return c
	}
	return cmp.Compare(0, f-float64(whole))
}

// In is the operator in: an element of a list, a field of an object. Nothing is
// in null.
func In(a, b boundary.Value) (bool, *Fault) {
	switch b.Kind() {
	case boundary.KindNull:
		return false, nil
	case boundary.KindList:
		for item := range b.Items() {
			if boundary.Equal(a, Present(item)) {
				return true, nil
			}
		}
		return false, nil
	case boundary.KindObject:
		if name, ok := a.AsString(); ok {
			return !b.Field(name).IsAbsent(), nil
		}
	}
	return false, Mismatch("in", a, b)
}
