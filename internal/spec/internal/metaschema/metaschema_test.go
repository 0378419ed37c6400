package metaschema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	var c Checker
	for _, s := range []any{
		map[string]any{},
		map[string]any{
			"type": "object", "properties": map[string]any{"n": map[string]any{"minimum": int64(0), "maximum": 1.5}},
		},
		map[string]any{"$ref": "#/$defs/x", "$defs": map[string]any{"x": true}},
	} {
		if problems := c.Check(s); problems != nil {
			t.Errorf("%v: got %v", s, problems)
		}
	}
	for name, bad := range map[string]map[string]any{
		"type":                {"type": "objekt"},
		"properties/n/type":   {"properties": map[string]any{"n": map[string]any{"type": int64(1)}}},
		"required":            {"required": "x"},
		"properties/a.b/enum": {"properties": map[string]any{"a.b": map[string]any{"enum": "x"}}},
		"":                    {"$ref": "#/$defs/none"},
	} {
		problems := c.Check(bad)
		if len(problems) != 1 || strings.Join(problems[0].Pointer, "/") != name ||
			strings.Contains(problems[0].Text, "\n") {
			t.Errorf("%v: got %q", bad, problems)
		}
	}
}

// A check reads no file, also not one that holds a schema.
func TestCheckReadsNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type": "object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var c Checker
	problems := c.Check(map[string]any{"$ref": "file://" + file})
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "only to what is in it") {
		t.Errorf("got %q", problems)
	}
}
