package compile

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// M33: a schema means JSON: times and durations are texts in it, each integer is a number, and a number need not be an
// integer.
func TestM33WhatSchemasMeanOfTypes(t *testing.T) {
	t.Parallel()
	kinds := map[boundary.Kind]string{boundary.KindBool: "boolean", boundary.KindInt: "integer number",
		boundary.KindFloat: "number", boundary.KindString: "string", boundary.KindTime: "string",
		boundary.KindDuration: "string"}
	for kind, fits := range kinds {
		for _, name := range []string{"boolean", "integer", "number", "string"} {
			have := expression.ObjectOf(map[string]expression.Type{"x": expression.ListOf(expression.Of(kind))}, false)
			lacks := lacking(map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{
				"type": "array", "items": map[string]any{"type": name}}}}, have, "in")
			want := strings.Contains(" "+fits+" ", " "+name+" ")
			if (len(lacks) == 0) != want || !want && !strings.Contains(lacks[0], "in.x[] is declared as ") {
				t.Errorf("%s for %s: %v", kind, name, lacks)
			}
		}
	}
}
