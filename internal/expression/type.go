package expression

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/types"
	"github.com/graphd/graphd/internal/boundary"
)

// Type is what is known of a value before it is there. It guides the check of
// an expression and nothing else: evaluation goes by the values themselves.
// Every type includes null, since any field may be missing. A Type is
// immutable; the zero Type is Any.
type Type struct {
	kind   boundary.Kind // KindAbsent: anything
	elem   *Type         // of a list, or a row of a table
	keys   []Type        // of the parts of a table's key, where they are known
	fields map[string]Type
	open   bool // an object may have more fields than these
	words  []string
}

// Any is the type of which nothing is known.
func Any() Type { return Type{} }

// Of is the type of a kind. Of(KindList) is a list of anything, Of(KindObject)
// an open object, Of(KindAbsent) is Any.
func Of(kind boundary.Kind) Type {
	switch kind {
	case boundary.KindList:
		return ListOf(Any())
	case boundary.KindObject:
		return ObjectOf(nil, true)
	}
	return Type{kind: kind}
}

// ListOf is the type of lists of elem.
func ListOf(elem Type) Type { return Type{kind: boundary.KindList, elem: &elem} }

// ObjectOf is the type of objects with the given fields. An open object may
// have others, of any type; reading an unknown field of a closed one is an error.
// The map is copied.
func ObjectOf(fields map[string]Type, open bool) Type {
	return Type{kind: boundary.KindObject, fields: maps.Clone(fields), open: open}
}

// OfValue is the type of a value at hand, such as a constant of the graph:
// objects are closed.
func OfValue(v boundary.Value) Type {
	switch v.Kind() {
	case boundary.KindList:
		elem, first := Any(), true
		for item := range v.Items() {
			if t := OfValue(item); first {
				elem, first = t, false
			} else {
				elem = unify(elem, t)
			}
		}
		return ListOf(elem)
	case boundary.KindObject:
		fields := make(map[string]Type, v.Len())
		for name, f := range v.Fields() {
			fields[name] = OfValue(f)
		}
		return Type{kind: boundary.KindObject, fields: fields}
	}
	return Type{kind: v.Kind()}
}

// Kind is the kind of its values; KindAbsent when anything is possible.
func (t Type) Kind() boundary.Kind { return t.kind }

// IsAny reports whether nothing is known.
func (t Type) IsAny() bool { return t.kind == boundary.KindAbsent }

// Words are the texts that a schema lists as its values; they are told, and nothing is checked by them.
func (t Type) Words() []string { return t.words }

// Elem is the type of a list's elements or a table's rows; Any for everything else.
func (t Type) Elem() Type {
	if t.elem == nil {
		return Any()
	}
	return *t.elem
}

// Open reports whether an object may have fields that are not listed.
func (t Type) Open() bool { return t.kind == boundary.KindObject && t.open }

// Field is the type of a field; false when values of this type cannot have it.
func (t Type) Field(name string) (Type, bool) {
	if t.IsAny() {
		return Any(), true
	}
	if f, ok := t.fields[name]; ok {
		return f, true
	}
	return Any(), t.Open()
}

// Fields are the names of an object's known fields, sorted.
func (t Type) Fields() []string { return slices.Sorted(maps.Keys(t.fields)) }

// Equal reports whether two types are the same.
func (t Type) Equal(u Type) bool {
	if t.kind != u.kind || t.open != u.open {
		return false
	}
	if t.kind == boundary.KindList || t.kind == boundary.KindTable {
		return t.Elem().Equal(u.Elem())
	}
	return maps.EqualFunc(t.fields, u.fields, Type.Equal)
}

// String is how the type is written in messages: "int", "list of string",
// "{ask: float, bid: float, …}".
func (t Type) String() string {
	switch t.kind {
	case boundary.KindAbsent:
		return "any"
	case boundary.KindList:
		if t.Elem().IsAny() {
			return "list"
		}
		return "list of " + t.Elem().String()
	case boundary.KindTable:
		return "table of " + t.Elem().String()
	case boundary.KindObject:
		if len(t.fields) == 0 && t.open {
			return "object"
		}
		parts := make([]string, 0, len(t.fields)+1)
		for _, name := range t.Fields() {
			parts = append(parts, name+": "+t.fields[name].String())
		}
		if t.open {
			parts = append(parts, "…")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return t.kind.String()
}

// isNumber reports whether the values are numbers. The type float goes for
// every number: whether one is an int is up to the value.
func (t Type) isNumber() bool { return t.kind == boundary.KindInt || t.kind == boundary.KindFloat }

// Either is the type of values that are of one of two types.
func Either(a, b Type) Type { return unify(a, b) }

// unify is the type of a value that is either of two.
func unify(a, b Type) Type {
	switch {
	case a.kind == boundary.KindNull:
		return b
	case b.kind == boundary.KindNull:
		return a
	case a.isNumber() && b.isNumber() && a.kind != b.kind:
		return Of(boundary.KindFloat)
	case a.kind != b.kind:
		return Any()
	case a.kind == boundary.KindList:
		return ListOf(unify(a.Elem(), b.Elem()))
	case a.kind == boundary.KindObject:
		// A field that only one side has may be missing, which every type allows.
		fields := maps.Clone(a.fields)
		if fields == nil {
			fields = make(map[string]Type, len(b.fields))
		}
		for name, f := range b.fields {
			if g, both := fields[name]; both {
				f = unify(f, g)
			}
			fields[name] = f
		}
		return Type{kind: boundary.KindObject, fields: fields, open: a.open || b.open}
	}
	if !slices.Equal(a.words, b.words) {
		a.words = nil
	}
	return a
}

// checked is the type in the checker's words. Of a name that is null so far,
// such as a default, the checker had better expect anything.
func (t Type) checked() types.Type {
	switch t.kind {
	case boundary.KindBool:
		return types.Bool
	case boundary.KindInt:
		return types.Int
	case boundary.KindFloat:
		return types.Float64
	case boundary.KindString:
		return types.String
	case boundary.KindTime:
		return types.TypeOf(time.Time{})
	case boundary.KindDuration:
		return types.TypeOf(time.Duration(0))
	case boundary.KindList, boundary.KindTable: // see tables.go
		return types.Array(t.Elem().checked())
	case boundary.KindObject:
		m := make(types.Map, len(t.fields)+1)
		for name, f := range t.fields {
			m[name] = f.checked()
		}
		if t.open {
			m[types.Extra] = types.Any
		}
		return m
	}
	return types.Any
}

// fromNature is the type the checker found for a node.
func fromNature(n nature.Nature) Type {
	switch {
	case n.Nil:
		return Of(boundary.KindNull)
	case n.IsBool():
		return Of(boundary.KindBool)
	case n.IsInteger:
		return Of(boundary.KindInt)
	case n.IsFloat:
		return Of(boundary.KindFloat)
	case n.IsString():
		return Of(boundary.KindString)
	case n.IsTime():
		return Of(boundary.KindTime)
	case n.IsDuration():
		return Of(boundary.KindDuration)
	case n.IsArray():
		var cache *nature.Cache
		return ListOf(fromNature(n.Elem(cache)))
	case n.IsMap():
		if n.TypeData == nil || !n.Strict && len(n.Fields) == 0 {
			return ObjectOf(nil, true)
		}
		fields := make(map[string]Type, len(n.Fields))
		for name, f := range n.Fields {
			fields[name] = fromNature(f)
		}
		return Type{kind: boundary.KindObject, fields: fields, open: !n.Strict}
	}
	return Any()
}
