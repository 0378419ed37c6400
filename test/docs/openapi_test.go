package docs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	apidoc "github.com/graphd/graphd/api"
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor"
)

// openAPI is the document as its nodes, which keep what a decoder forgives.
func openAPI(t *testing.T) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(apidoc.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0]
}

// member is a mapping's value by its key; nil where there is none.
func member(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		i := 0
		for i < len(n.Content) && n.Content[i].Value != key {
			i += 2
		}
		if i == len(n.Content) {
			return nil
		}
		n = n.Content[i+1]
	}
	return n
}

// schemaWords are the keywords of JSON Schema and OpenAPI that the document uses.
var schemaWords = strings.Fields(`$ref type enum const description default format pattern minimum maximum minLength
	maxLength properties additionalProperties required items allOf anyOf oneOf`)

// TestOpenAPIIsStrict: every mapping of the document says what it seems to. An unquoted comma
// within braces ends a description and makes a key of its own of the rest, with no value.
func TestOpenAPIIsStrict(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	checkNodes(t, doc)
	schemas := 0
	eachSchema(doc, false, func(n *yaml.Node) {
		schemas++
		for i := 0; i < len(n.Content); i += 2 {
			if word := n.Content[i]; !slices.Contains(schemaWords, word.Value) {
				t.Errorf("line %d: %q is no keyword of a schema", word.Line, word.Value)
			}
		}
	})
	if schemas < 100 {
		t.Errorf("only %d schemas were found", schemas)
	}
}

func checkNodes(t *testing.T, n *yaml.Node) {
	t.Helper()
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if seen[key.Value] {
				t.Errorf("line %d: %q is given twice", key.Line, key.Value)
			}
			seen[key.Value] = true
			if value.Kind == yaml.ScalarNode && value.Tag == "!!null" {
				t.Errorf("line %d: %q has no value", key.Line, key.Value)
			}
		}
	}
	for _, c := range n.Content {
		checkNodes(t, c)
	}
}

// eachSchema calls f for every schema under n; inside says whether n is one itself.
func eachSchema(n *yaml.Node, inside bool, f func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			eachSchema(c, inside, f)
		}
		return
	}
	if inside {
		f(n)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		switch {
		case key == "schemas" && !inside, key == "properties" && inside: // names, and a schema for each
			for j := 1; j < len(value.Content); j += 2 {
				eachSchema(value.Content[j], true, f)
			}
		case inside && slices.Contains([]string{"items", "additionalProperties", "allOf", "anyOf", "oneOf"}, key):
			eachSchema(value, true, f)
		case !inside:
			eachSchema(value, key == "schema", f)
		}
	}
}

// TestOpenAPIEnums: where the document lists what a member can be, the list is the product's.
func TestOpenAPIEnums(t *testing.T) {
	t.Parallel()
	schemas := member(openAPI(t), "components", "schemas")
	for _, c := range []struct {
		at   []string
		want []string
	}{
		{[]string{"GraphSummary", "properties", "durability", "properties", "mode"}, declared(t, "durability", "mode")},
		{[]string{"GraphSummary", "properties", "health"}, names(
			reactor.HealthStarting, reactor.HealthWarming, reactor.HealthLive, reactor.HealthDegraded,
			reactor.HealthStandby, reactor.HealthHalted,
			reactor.HealthFailed, reactor.HealthStopped)},
		{[]string{"AccumulatorHealth"}, names(
			accumulator.Starting, accumulator.Connecting, accumulator.Live, accumulator.Disconnected,
			accumulator.SocketOnly, accumulator.Ended,
			accumulator.Restarting, accumulator.Halted, accumulator.Failed, accumulator.Stopped)},
		{[]string{"OutputSummary", "properties", "path"}, told(reactor.Path.String)},
		{[]string{"Firing", "properties", "cause"}, told(reactor.Cause.String)},
	} {
		checkEnum(t, strings.Join(c.at, "."), member(schemas, c.at...), c.want)
	}
	detail := member(schemas, "FiringDetail", "allOf").Content[1]
	status := member(detail, "properties", "nodes", "additionalProperties", "properties", "status")
	checkEnum(t, "FiringDetail.nodes.status", status, told(graph.Status.String))
}

func checkEnum(t *testing.T, at string, n *yaml.Node, want []string) {
	t.Helper()
	enum := member(n, "enum")
	if enum == nil || len(want) < 2 {
		t.Errorf("%s: there is no enum, or nothing to compare it with: %v", at, want)
		return
	}
	var got []string
	for _, c := range enum.Content {
		got = append(got, c.Value)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s can be %v, the document says %v", at, want, got)
	}
}

func names[T ~string](values ...T) (list []string) {
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}

// told are the names of the values of a type that counts from 0: until they repeat, or end.
func told[T ~uint8](name func(T) string) (list []string) {
	defer func() { _ = recover() }() // behind the last there is none to name
	for v := range T(32) {
		if s := name(v); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// declared is what a declaration can choose at a place, by the schema that editors use.
func declared(t *testing.T, path ...string) (list []string) {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(apidoc.GraphSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	follow := func(n map[string]any) map[string]any {
		for n["$ref"] != nil {
			at := schema
			for part := range strings.SplitSeq(strings.TrimPrefix(n["$ref"].(string), "#/"), "/") {
				at = at[part].(map[string]any)
			}
			n = at
		}
		return n
	}
	n := follow(schema)
	for _, name := range path {
		properties, _ := n["properties"].(map[string]any)
		next, ok := properties[name].(map[string]any)
		if !ok {
			t.Fatalf("the declaration's schema has no %s", strings.Join(path, "."))
		}
		n = follow(next)
	}
	choices, _ := n["anyOf"].([]any) // one of the words, or a reference to a variable
	for _, choice := range append(choices, n) {
		words, _ := choice.(map[string]any)["enum"].([]any)
		for _, word := range words {
			list = append(list, word.(string))
		}
	}
	return list
}
