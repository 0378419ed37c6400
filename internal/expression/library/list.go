package library

import (
	"hash/maphash"
	"maps"
	"math/bits"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

var listFunctions = []eval.Function{
	fixed("first", varies, func(_ *env, _ site, args []value) value { return rules.Present(args[0].Index(0)) }, list),
	fixed("last", varies, func(_ *env, _ site, args []value) value {
		return rules.Present(args[0].Index(args[0].Len() - 1))
	}, list),
	fixed("take", boundary.KindList, func(e *env, at site, args []value) value {
		return e.Slice(at, args[0], 0, max(integer(args[1]), 0), true)
	}, list, eval.Int),
	fixed("reverse", boundary.KindList, reverse, list),
	ranged("concat", 1, eval.Many, boundary.KindList, concat, list),
	fixed("flatten", boundary.KindList, func(e *env, at site, args []value) value {
		all, ok := flatten(e, at, nil, args[0])
		if !ok {
			return absent()
		}
		return e.List(at, all)
	}, list),
	fixed("uniq", boundary.KindList, uniq, list),
	ranged("sort", 1, 2, boundary.KindList, sort, list, text),
}

var objectFunctions = []eval.Function{
	fixed("get", varies, get, eval.Null|list|object, eval.Null|eval.Int|text),
	fixed("keys", boundary.KindList, eachField(func(name string, _ value) value {
		return boundary.String(name)
	}), object),
	fixed("values", boundary.KindList, eachField(func(_ string, v value) value { return v }), object),
	fixed("toPairs", boundary.KindList, eachField(func(name string, v value) value {
		return boundary.List([]value{boundary.String(name), v})
	}), object),
	fixed("fromPairs", boundary.KindObject, fromPairs, list),
}

// items copies the elements of a list.
func items(e *env, at site, v value) ([]value, bool) {
	var all []value
	for item := range v.Items() {
		all = append(all, rules.Present(item))
	}
	return all, e.Room(at, len(all))
}

func reverse(e *env, at site, args []value) value {
	all, ok := items(e, at, args[0])
	if !ok {
		return absent()
	}
	slices.Reverse(all)
	return boundary.List(all)
}

func concat(e *env, at site, args []value) value {
	var all []value
	for _, a := range args {
		more, ok := items(e, at, a)
		if !ok || !e.Room(at, len(all)+len(more)) {
			return absent()
		}
		all = append(all, more...)
	}
	return e.List(at, all)
}

// flatten appends the elements of v, and those of the lists in it, to all.
func flatten(e *env, at site, all []value, v value) ([]value, bool) {
	for item := range v.Items() {
		// Counted one by one, so that empty lists in lists do not come for nothing.
		if !e.Charge(at, 1) {
			return nil, false
		}
		if item.Kind() != boundary.KindList {
			all = append(all, rules.Present(item))
			continue
		}
		var ok bool
		if all, ok = flatten(e, at, all, item); !ok {
			return nil, false
		}
	}
	return all, len(all) <= eval.MaxItems || e.Room(at, len(all))
}

func sort(e *env, at site, args []value) value {
	all, ok := items(e, at, args[0])
	if !ok {
		return absent()
	}
	direction := "asc"
	if len(args) == 2 {
		direction = str(args[1])
	}
	return e.Sorted(at, "sort", all, all, direction)
}

// uniq keeps the first of equal elements.
func uniq(e *env, at site, args []value) value {
	var out []value
	seen := make(map[uint64][]int) // places in out, by hash
next:
	for item := range args[0].Items() {
		item = rules.Present(item)
		if !e.Charge(at, 1+eval.Weight(item)) {
			return absent()
		}
		h := hash(item)
		for _, i := range seen[h] {
			if boundary.Equal(item, out[i]) {
				continue next
			}
		}
		seen[h] = append(seen[h], len(out))
		out = append(out, item)
	}
	return boundary.List(out)
}

var seed = maphash.MakeSeed()

// hash is the same for equal values: an int and the float it equals, objects in
// whatever order of their fields.
func hash(v value) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	switch v.Kind() {
	case boundary.KindInt, boundary.KindFloat:
		f, _ := v.AsFloat()
		maphash.WriteComparable(&h, f) // 0 and -0 alike
	case boundary.KindList:
		for item := range v.Items() {
			maphash.WriteComparable(&h, hash(item))
		}
	case boundary.KindObject:
		sum := uint64(0)
		for name, f := range v.Fields() {
			sum += maphash.String(seed, name) ^ bits.RotateLeft64(hash(f), 1)
		}
		return sum
	default:
		maphash.WriteComparable(&h, v.Kind())
		h.WriteString(eval.PlainText(v))
	}
	return h.Sum64()
}

// get is an element or field, null when there is none.
func get(_ *env, _ site, args []value) value {
	v, key := args[0], args[1]
	if name, ok := key.AsString(); ok {
		return rules.Present(v.Field(name))
	}
	i, ok := key.AsInt()
	if !ok || v.Kind() != boundary.KindList {
		return boundary.Null()
	}
	if i < 0 {
		i += int64(v.Len())
	}
	return rules.Present(v.Index(int(i)))
}

// eachField is a list of what f makes of an object's fields, in the order of their names.
func eachField(f func(name string, v value) value) call {
	return func(e *env, at site, args []value) value {
		fields := make(map[string]value)
		for name, v := range args[0].Fields() {
			fields[name] = v
		}
		if !e.Room(at, len(fields)) {
			return absent()
		}
		out := make([]value, 0, len(fields))
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			out = append(out, f(name, fields[name]))
		}
		return e.List(at, out)
	}
}

func fromPairs(e *env, at site, args []value) value {
	var fields eval.Fields
	for pair := range args[0].Items() {
		if pair.Kind() != boundary.KindList || pair.Len() != 2 {
			return e.Fail(at, rules.CodeTypeError, "fromPairs needs a list of lists of two: a name and a value")
		}
		name, ok := pair.Index(0).AsString()
		if !ok {
			return e.Fail(at, rules.CodeTypeError, "the name of a field must be string, got %s",
				rules.Present(pair.Index(0)).Kind())
		}
		fields.Set(name, rules.Present(pair.Index(1)))
		if !e.Charge(at, 1) {
			return absent()
		}
	}
	return e.Object(at, &fields)
}
