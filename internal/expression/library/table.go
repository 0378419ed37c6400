package library

import (
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
)

// What keys() and values() of a table are called once it is known to be one. Nobody can write these.
const (
	TableKeys   = "keys of table"
	TableValues = "values of table"
)

var tableFunctions = []eval.Function{
	fixed(eval.RowKey, varies, func(_ *env, _ site, args []value) value { return args[0] }, eval.Anything),
	fixed(TableKeys, boundary.KindList, eachRow(func(key boundary.Key, _ value) value { return key.Value() }),
		eval.Anything|eval.Table),
	fixed(TableValues, boundary.KindList, eachRow(func(_ boundary.Key, row value) value { return row }),
		eval.Anything|eval.Table),
}

// eachRow is a list of what f makes of a table's rows, in the order of their keys.
func eachRow(f func(key boundary.Key, row value) value) call {
	return func(e *env, at site, args []value) value {
		rows, ok := args[0].AsTable()
		if !ok {
			return boundary.List(nil)
		}
		if !e.Knows(at, args[0]) || !e.Room(at, rows.Len()) {
			return absent()
		}
		all := make(map[boundary.Key]value, rows.Len())
		for key, row := range rows.All() {
			all[key] = row
		}
		out := make([]value, 0, len(all))
		for _, key := range slices.Sorted(maps.Keys(all)) {
			out = append(out, f(key, all[key]))
		}
		// What a row holds is the table's and not made here: only that it is looked at is counted.
		return boundary.List(out)
	}
}
