package expression

import "github.com/graphd/graphd/internal/boundary"

// maxSchemaDepth bounds how deep a schema is followed; JSON values are not
// accepted deeper than this either. What lies below is Any.
const maxSchemaDepth = 64

// FromSchema is the type of the values that a JSON Schema admits, as far as
// the common keywords tell: type, properties, additionalProperties, items and
// prefixItems. Everything else, such as unions, references and combinations,
// is Any, so that a schema never makes a correct expression an error.
//
// The schema is what a decoder gives: nested map[string]any, []any and scalars.
func FromSchema(schema any) Type { return fromSchema(schema, maxSchemaDepth) }

func fromSchema(schema any, depth int) Type {
	s, ok := schema.(map[string]any)
	if !ok || depth == 0 {
		return Any()
	}
	t := kindFromSchema(s, depth)
	values, _ := s["enum"].([]any)
	for _, v := range values {
		if word, is := v.(string); is {
			t.words = append(t.words, word)
		}
	}
	return t
}

func kindFromSchema(s map[string]any, depth int) Type {
	kind, ok := s["type"].(string)
	if !ok {
		return Any()
	}
	switch kind {
	case "null":
		return Of(boundary.KindNull)
	case "boolean":
		return Of(boundary.KindBool)
	case "integer":
		return Of(boundary.KindInt)
	case "number":
		return Of(boundary.KindFloat)
	case "string":
		return Of(boundary.KindString)
	case "array":
		if _, tuple := s["prefixItems"]; tuple {
			return ListOf(Any())
		}
		return ListOf(fromSchema(s["items"], depth-1))
	case "object":
		return objectFromSchema(s, depth)
	}
	return Any()
}

func objectFromSchema(s map[string]any, depth int) Type {
	extra, said := s["additionalProperties"].(bool)
	open := !said || extra
	// Fields that match a pattern are fields too, so the object is not closed.
	if _, patterns := s["patternProperties"]; patterns {
		open = true
	}
	properties, _ := s["properties"].(map[string]any)
	fields := make(map[string]Type, len(properties))
	for name, p := range properties {
		fields[name] = fromSchema(p, depth-1)
	}
	return Type{kind: boundary.KindObject, fields: fields, open: open}
}
