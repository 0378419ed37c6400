package rules

import (
	"unicode/utf8"

	"github.com/graphd/graphd/internal/boundary"
)

// Field is v.name. A field that an object does not have is null.
func Field(v boundary.Value, name string) (boundary.Value, *Fault) {
	switch v.Kind() {
	case boundary.KindObject:
		return Present(v.Field(name)), nil
	case boundary.KindNull:
		return boundary.Value{}, fault(CodeTypeError, "cannot read %s of null; use ?.%s to read it as null", name, name)
	}
	return boundary.Value{}, fault(CodeTypeError, "cannot read %s of %s", name, v.Kind())
}

// Element is v[key]: an element of a list, counted from the end when negative,
// or a field of an object.
func Element(v, key boundary.Value) (boundary.Value, *Fault) {
	switch v.Kind() {
	case boundary.KindList:
		i, ok := key.AsInt()
		if !ok {
			break
		}
		n := int64(v.Len())
		if i < -n || i >= n {
			return boundary.Value{}, fault(CodeOutOfRange, "index %d is out of range: the list has %d elements", i, n)
		}
		if i < 0 {
			i += n
		}
		return Present(v.Index(int(i))), nil
	case boundary.KindObject:
		if name, ok := key.AsString(); ok {
			return Present(v.Field(name)), nil
		}
	case boundary.KindNull:
		return boundary.Value{}, fault(CodeTypeError, "cannot read an element of null; use ?.[ ] to read it as null")
	}
	return boundary.Value{}, fault(CodeTypeError, "cannot read element %s of %s", key.Kind(), v.Kind())
}

// Row is the row of a table with a key; found is false when there is none. Of null there never is.
func Row(table, key boundary.Value) (row boundary.Value, found bool, f *Fault) {
	switch key.Kind() {
	case boundary.KindNull:
		return row, false, nil
	case boundary.KindObject, boundary.KindDuration:
		return row, false, fault(CodeTypeError, "a table is asked for a key, and this is %s", key.Kind())
	}
	if rows, ok := table.AsTable(); ok {
		if row, found = rows.Row(key); !found {
			f = Known(table)
		}
	}
	return row, found, f
}

// Known is the fault of a table of which nothing is known: it is as of a time too long ago.
func Known(table boundary.Value) *Fault {
	if rows, ok := table.AsTable(); ok && boundary.Forgotten(rows) {
		return fault(CodeForgotten, "the event is older than all that is kept of what the table was; raise its "+
			"max_versions, or look up the newest rows with as_of: now")
	}
	return nil
}

// Slice is v[from:to] of a list, or of a string by its characters; v[from:]
// when there is no to. Bounds beyond an end mean that end; negative ones count
// from the end.
func Slice(v boundary.Value, from, to int64, hasTo bool) (boundary.Value, *Fault) {
	s, isText := v.AsString()
	var n int64
	switch {
	case isText:
		n = int64(utf8.RuneCountInString(s))
	case v.Kind() == boundary.KindList:
		n = int64(v.Len())
	default:
		return boundary.Value{}, fault(CodeTypeError, "cannot slice %s", v.Kind())
	}
	if !hasTo {
		to = n
	}
	from, to = clamp(from, n), clamp(to, n)
	from = min(from, to)
	if isText {
		return boundary.String(s[ByteOffset(s, int(from)):ByteOffset(s, int(to))]), nil
	}
	items := make([]boundary.Value, 0, to-from)
	i := int64(0)
	for item := range v.Items() {
		if i >= to {
			break
		}
		if i >= from {
			items = append(items, Present(item))
		}
		i++
	}
	return boundary.List(items), nil
}

// clamp is where the bound i of a slice of n elements lies.
func clamp(i, n int64) int64 {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

// ByteOffset turns a place in characters into one in bytes.
func ByteOffset(text string, characters int) int {
	for i := range text {
		if characters <= 0 {
			return i
		}
		characters--
	}
	return len(text)
}
