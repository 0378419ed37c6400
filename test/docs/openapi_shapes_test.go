package docs

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/api"
)

// shapes are the schemas and the Go values that they describe. A member that only the document
// has is listed with it: the server adds it by hand.
var shapes = []struct {
	schema string
	value  any
	added  []string
}{
	{"Status", api.Status{}, nil},
	{"Version", api.Version{}, nil},
	{"Reason", api.Reason{}, nil},
	{"Counters", api.Counters{}, nil},
	{"AccumulatorSummary", api.AccumulatorSummary{}, nil},
	{"AccumulatorDetail", api.AccumulatorDetail{}, nil},
	{"OutputSummary", api.OutputSummary{}, nil},
	{"GraphSummary", api.GraphSummary{}, nil},
	{"GraphList", api.GraphList{}, nil},
	{"Missing", api.Missing{}, nil},
	{"ApplyResult", api.ApplyResult{}, nil},
	{"Firing", api.Firing{}, nil},
	{"FiringDetail", api.FiringDetail{}, nil},
	{"FiringPage", api.Page[api.Firing]{}, nil},
	{"RecoveryEvent", api.RecoveryEvent{}, nil},
	{"RecoveryEventPage", api.Page[api.RecoveryEvent]{}, nil},
	{"DeadLetter", api.DeadLetter{}, nil},
	{"DeadLetterPage", api.LetterPage{}, nil},
	{"LettersRequest", api.LettersRequest{}, nil},
	{"LettersResult", api.LettersResult{}, nil},
	{"FireRequest", api.FireRequest{}, nil},
	{"FireResult", api.FireResult{}, nil},
	{"State", api.State{}, nil},
	{"Rejection", api.Rejection{}, nil},
	{"PushResult", api.PushResult{}, []string{"rejected_omitted"}},
	{"TreeNode", api.TreeNode{}, nil},
	{"Limit", api.Limit{}, nil},
	{"Diagnostic", api.Diagnostic{}, nil},
	{"WatchFrame", api.Frame{}, nil},
	{"GraphRow", api.GraphRow{}, nil},
	{"ListTold", api.ListTold{}, nil},
}

// TestOpenAPISchemas: the document's schemas and the values that go over the wire have the same
// members, of the same types, and the same of them may be missing or null.
func TestOpenAPISchemas(t *testing.T) {
	t.Parallel()
	c := shapeCheck{t: t, schemas: member(openAPI(t), "components", "schemas"), known: map[reflect.Type]string{}}
	for _, s := range shapes {
		c.known[reflect.TypeOf(s.value)] = s.schema
	}
	for _, s := range shapes {
		c.object(s.schema, member(c.schemas, s.schema), reflect.TypeOf(s.value), s.added)
	}
}

type shapeCheck struct {
	t       *testing.T
	schemas *yaml.Node
	known   map[reflect.Type]string
}

// resolve follows a reference.
func (c *shapeCheck) resolve(n *yaml.Node) (schema *yaml.Node, name string) {
	if ref := member(n, "$ref"); ref != nil {
		name = strings.TrimPrefix(ref.Value, "#/components/schemas/")
		return member(c.schemas, name), name
	}
	return n, ""
}

// merged is what a schema says of an object's members, with what it takes over by allOf.
func (c *shapeCheck) merged(n *yaml.Node) (properties map[string]*yaml.Node, required map[string]bool) {
	properties, required = map[string]*yaml.Node{}, map[string]bool{}
	parts := []*yaml.Node{n}
	if all := member(n, "allOf"); all != nil {
		parts = append(parts, all.Content...)
	}
	for _, part := range parts {
		part, name := c.resolve(part)
		if name != "" {
			p, r := c.merged(part)
			for k, v := range p {
				properties[k] = v
			}
			for k := range r {
				required[k] = true
			}
			continue
		}
		if p := member(part, "properties"); p != nil {
			for i := 0; i < len(p.Content); i += 2 {
				properties[p.Content[i].Value] = p.Content[i+1]
			}
		}
		if r := member(part, "required"); r != nil {
			for _, name := range r.Content {
				required[name.Value] = true
			}
		}
	}
	return properties, required
}

func (c *shapeCheck) object(at string, n *yaml.Node, typ reflect.Type, added []string) {
	c.t.Helper()
	if n == nil {
		c.t.Errorf("%s is not in the document", at)
		return
	}
	properties, required := c.merged(n)
	has := map[string]bool{}
	for _, f := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue
		}
		has[name] = true
		where := at + "." + name
		property := properties[name]
		if property == nil {
			c.t.Errorf("%s is not in the document", where)
			continue
		}
		if optional := strings.Contains(options, "omitempty"); optional == required[name] {
			c.t.Errorf("%s: it may be left out: %v, the document requires it: %v", where, optional, required[name])
		}
		c.value(where, property, f.Type)
	}
	for name := range properties {
		if !has[name] && !slices.Contains(added, name) {
			c.t.Errorf("%s.%s is in the document, and nothing sends it", at, name)
		}
	}
}

func (c *shapeCheck) value(at string, n *yaml.Node, typ reflect.Type) {
	c.t.Helper()
	n, name := c.resolve(n)
	pointer := typ.Kind() == reflect.Pointer
	if pointer {
		typ = typ.Elem()
	}
	if want := c.known[typ]; want != "" && name != want {
		c.t.Errorf("%s is a %s, the document says %q", at, want, name)
		return
	}
	types := typesOf(n)
	if pointer && len(types) > 0 && !types["null"] && !strings.HasPrefix(at, "WatchFrame.") &&
		!strings.HasPrefix(at, "ApplyResult.") {
		c.t.Errorf("%s may be null, and the document does not say so", at)
	}
	if want := jsonType(typ); want != "" && !types[want] {
		c.t.Errorf("%s is of the type %s, the document says %v", at, want, types)
		return
	}
	switch {
	case name != "" && c.known[typ] != "" || typ == reflect.TypeFor[time.Time]() ||
		typ == reflect.TypeFor[json.RawMessage]():
	case typ.Kind() == reflect.Slice:
		c.value(at+"[]", member(n, "items"), typ.Elem())
	case typ.Kind() == reflect.Map:
		if more := member(n, "additionalProperties"); more != nil && more.Kind == yaml.MappingNode {
			c.value(at+"{}", more, typ.Elem())
		}
	case typ.Kind() == reflect.Struct:
		if one := member(n, "oneOf"); one != nil { // null, or the object
			n = one.Content[len(one.Content)-1]
		}
		c.object(at, n, typ, nil)
	}
}

// typesOf are the JSON types that a schema allows; none where it allows all.
func typesOf(n *yaml.Node) map[string]bool {
	types := map[string]bool{}
	if n == nil {
		return types
	}
	if typ := member(n, "type"); typ != nil && typ.Kind == yaml.ScalarNode {
		types[typ.Value] = true
	} else if typ != nil {
		for _, one := range typ.Content {
			types[one.Value] = true
		}
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if some := member(n, word); some != nil {
			for _, one := range some.Content {
				for typ := range typesOf(one) {
					types[typ] = true
				}
			}
		}
	}
	return types
}

// jsonType is the JSON type that a Go value becomes; "" where that may be any.
func jsonType(typ reflect.Type) string {
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return "string"
	case typ == reflect.TypeFor[json.RawMessage]():
		return ""
	}
	switch typ.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	}
	return "object"
}
