package eventschema

import (
	"encoding/json"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
)

// quick admits events by the keywords that nearly every schema is made of,
// without turning the value into maps first. It only ever says yes: whatever it does
// not admit goes to the full validator, which decides and explains.
type quick struct {
	types    []string // empty: any
	required []string
	fields   []quickField
	items    *quick
	min, max *float64
}

type quickField struct {
	name   string
	schema *quick
}

// newQuick is nil when the schema says anything that quick does not know.
func newQuick(doc any) *quick {
	m, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	q := &quick{}
	for key, v := range m {
		if !q.take(key, v) {
			return nil
		}
	}
	// One order for all runs: a map's is not.
	slices.SortFunc(q.fields, func(a, b quickField) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return q
}

// take adds one keyword and reports whether it is understood in full.
func (q *quick) take(key string, v any) (ok bool) {
	switch key {
	case "$schema":
		// Every draft agrees on the keywords below but for the oldest, whose "required" may be a boolean.
		return true
	case "title", "description", "default", "examples", "$comment":
		return true
	case "type":
		if s, isString := v.(string); isString {
			q.types = []string{s}
			return true
		}
		q.types, ok = stringList(v)
		return ok
	case "required":
		q.required, ok = stringList(v)
		return ok
	case "minimum":
		q.min, ok = number(v)
		return ok
	case "maximum":
		q.max, ok = number(v)
		return ok
	case "items":
		q.items = newQuick(v)
		return q.items != nil
	case "properties":
		fields, isMap := v.(map[string]any)
		for name, f := range fields {
			s := newQuick(f)
			if s == nil {
				return false
			}
			q.fields = append(q.fields, quickField{name, s})
		}
		return isMap
	case "additionalProperties":
		b, isBool := v.(bool)
		return isBool && b
	}
	return false
}

func stringList(v any) ([]string, bool) {
	list, ok := v.([]any)
	out := make([]string, len(list))
	for i, e := range list {
		s, isString := e.(string)
		out[i], ok = s, ok && isString
	}
	return out, ok
}

func number(v any) (*float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	f, err := n.Float64()
	return &f, err == nil
}

func (q *quick) admits(v boundary.Value) bool {
	kind := v.Kind()
	if len(q.types) > 0 && !slices.ContainsFunc(q.types, func(t string) bool { return isType(t, kind) }) {
		return false
	}
	switch kind {
	case boundary.KindInt, boundary.KindFloat:
		if q.min == nil && q.max == nil {
			return true
		}
		// Rounding to a float keeps the order: what is strictly beyond the rounded bound
		// is beyond the bound. What is not is the full validator's.
		f, _ := v.AsFloat()
		return (q.min == nil || f > *q.min) && (q.max == nil || f < *q.max)
	case boundary.KindList:
		if q.items != nil {
			for item := range v.Items() {
				if !q.items.admits(item) {
					return false
				}
			}
		}
	case boundary.KindObject:
		return q.admitsFields(v)
	case boundary.KindNull, boundary.KindBool, boundary.KindString:
	default: // times and durations: what they are as JSON is the full validator's to judge
		return false
	}
	return true
}

func (q *quick) admitsFields(v boundary.Value) bool {
	for _, name := range q.required {
		if v.Field(name).IsAbsent() {
			return false
		}
	}
	for _, f := range q.fields {
		if field := v.Field(f.name); !field.IsAbsent() && !f.schema.admits(field) {
			return false
		}
	}
	return true
}

// isType reports whether every value of the kind is of the schema's type. A float that
// happens to be integral is left to the full validator.
func isType(t string, k boundary.Kind) bool {
	switch t {
	case "object":
		return k == boundary.KindObject
	case "array":
		return k == boundary.KindList
	case "string":
		return k == boundary.KindString
	case "number":
		return k == boundary.KindInt || k == boundary.KindFloat
	case "integer":
		return k == boundary.KindInt
	case "boolean":
		return k == boundary.KindBool
	case "null":
		return k == boundary.KindNull
	}
	return false
}
