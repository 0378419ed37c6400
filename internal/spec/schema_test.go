package spec_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/api"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// object is a definition of the JSON Schema, as far as the tests look at it.
type object struct {
	Description          string
	Properties           map[string]json.RawMessage
	Required             []string
	AnyOf                []struct{ Required []string }
	AdditionalProperties *bool
	MinProperties        int
}

func definitions(t *testing.T) map[string]object {
	t.Helper()
	var doc struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(kinds.Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	defs := make(map[string]object)
	for name, raw := range doc.Defs {
		var probe struct{ Properties map[string]json.RawMessage }
		if json.Unmarshal(raw, &probe) != nil || probe.Properties == nil {
			continue // no mapping with fixed fields
		}
		var o object
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defs[name] = o
	}
	return defs
}

// The tables that drive the decoder and the published schema name the same fields,
// require the same, and agree on what is not built yet (M47).
func TestSchemaHasTheFieldsOfTheDecoder(t *testing.T) {
	t.Parallel()
	defs, sets := definitions(t), map[string]decode.FieldSet{"nothing": {}}
	for _, m := range kinds.Mappings() {
		sets[m.Name] = m.Fields
	}
	for name := range defs {
		if _, ok := sets[name]; !ok {
			t.Errorf("the decoder has no fields for %s of the schema", name)
		}
	}
	for name, set := range sets {
		o, ok := defs[name]
		if !ok {
			t.Errorf("the schema does not define %s", name)
			continue
		}
		if o.AdditionalProperties == nil || *o.AdditionalProperties {
			t.Errorf("%s: the schema allows unknown fields", name)
		}
		if o.Description == "" {
			t.Errorf("%s: the schema has no description", name)
		}
		for field := range o.Properties {
			if !slices.Contains(set.Names, field) {
				t.Errorf("%s.%s is in the schema, the decoder does not know it", name, field)
			}
		}
		for _, field := range set.Names {
			checkProperty(t, name, field, o, set)
		}
	}
}

func checkProperty(t *testing.T, name, field string, o object, set decode.FieldSet) {
	t.Helper()
	raw, ok := o.Properties[field]
	if !ok {
		t.Errorf("%s.%s is not in the schema", name, field)
		return
	}
	var p struct {
		Description string
		Not         json.RawMessage
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p.Description == "" {
		t.Errorf("%s.%s has no description", name, field)
	}
	if built, refused := slices.Contains(set.Built, field), string(p.Not) == "{}"; built == refused {
		t.Errorf("%s.%s: built %v, but the schema refuses it: %v", name, field, built, refused)
	}
	required := slices.Contains(o.Required, field)
	if name == "graph" && field == "accumulators" { // what is included may have them all
		required = len(o.AnyOf) == 2 && slices.Contains(o.AnyOf[0].Required, field) &&
			slices.Contains(o.AnyOf[1].Required, "include")
	}
	if needed := slices.Contains(set.Needed, field); needed != required {
		t.Errorf("%s.%s: needed %v, required by the schema: %v", name, field, needed, required)
	}
}

// The words that the decoder takes are those the schema lists, with the same default.
func TestSchemaHasTheChoicesOfTheDecoder(t *testing.T) {
	t.Parallel()
	defs := definitions(t)
	for _, m := range kinds.Mappings() {
		for field, c := range m.Choices {
			checkChoice(t, defs[m.Name], m.Name+"."+field, field, c)
		}
	}
}

func checkChoice(t *testing.T, def object, place, field string, c decode.Choice) {
	t.Helper()
	var p struct {
		Default string
		AnyOf   []struct{ Enum []string }
	}
	if err := json.Unmarshal(def.Properties[field], &p); err != nil || len(p.AnyOf) == 0 {
		t.Errorf("%s: no words in the schema: %v", place, err)
		return
	}
	got, want := slices.Sorted(slices.Values(p.AnyOf[0].Enum)), slices.Sorted(slices.Values(c.Words))
	if !slices.Equal(got, want) {
		t.Errorf("%s: the schema has %v, the decoder %v", place, got, want)
	}
	// Four of them have no fixed default: an input's strategy is the reactor's, where nothing is said of partitions
	// nothing is known of them, a file's format is told from its name, the clock goes by whether inputs have times.
	if free := place == "accumulator.strategy" || place == "accumulator.partitioned" || place == "source_file.format" ||
		place == "graph.clock"; !free && p.Default != c.Default() {
		t.Errorf("%s: the schema's default is %q, the decoder's %q", place, p.Default, c.Default())
	}
}

// The defaults of numbers and durations in the schema are those of the decoder.
func TestSchemaHasTheDefaultsOfTheDecoder(t *testing.T) {
	t.Parallel()
	g, diags := parse([]byte("graph: g\naccumulators: { a: {} }"), spec.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	a, r := &g.Accumulators[0], g.Reactor
	defs := definitions(t)
	for place, want := range map[string]any{
		"accumulator.capacity":       a.Capacity,
		"accumulator.capacity_bytes": a.CapacityBytes,
		"accumulator.passive":        a.Passive,
		"accumulator.global":         a.Global,
		"reactor.rate_limit":         r.RateLimit,
		"reactor.warm_timeout":       r.WarmTimeout,
		"reactor.epoch_timeout":      r.EpochTimeout,
		"restart.attempts":           r.Restart.Attempts,
		"restart.base":               r.Restart.Base,
		"restart.max":                r.Restart.Max,
		"restart.reset":              r.Restart.Reset,
		"durability.interval":        g.Durability.Interval,
		"history.keep":               g.History.Keep,
		"dead_letters.keep":          g.DeadLetters.Keep,
		"dead_letters.max":           g.DeadLetters.Max,
		"dead_letters.max_bytes":     g.DeadLetters.MaxBytes,
	} {
		def, field, _ := strings.Cut(place, ".")
		var p struct{ Default any }
		if err := json.Unmarshal(defs[def].Properties[field], &p); err != nil {
			t.Fatal(err)
		}
		got := p.Default
		switch d := want.(type) {
		case time.Duration:
			parsed, err := time.ParseDuration(got.(string))
			if err != nil || parsed != d {
				t.Errorf("%s: the schema's default is %v, the decoder's %v", place, got, d)
			}
		default:
			x, _ := json.Marshal(got)
			y, _ := json.Marshal(want)
			if !bytes.Equal(x, y) {
				t.Errorf("%s: the schema's default is %s, the decoder's %s", place, x, y)
			}
		}
	}
}

// An editor sees one file: with an include what is required may stand in another.
func TestSchemaOfWhatIncludes(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for text, valid := range map[string]bool{
		"graph: g\ninclude: a.yaml": true, "graph: g\ninclude: [a.yaml, b.yaml]\nnodes: {}": true, "graph: g": false,
		"include: a.yaml": false, "graph: g\ninclude: []": false, "graph: g\ninclude: { a: b }": false,
	} {
		x, ok := instance([]byte(text))
		if err := schema.Validate(x); !ok || (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(kinds.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("graph.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("graph.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance is a YAML document as the schema sees it. ok is false for what is no
// YAML, or no JSON.
func instance(data []byte) (x any, ok bool) {
	var n yaml.Node
	if yaml.Unmarshal(data, &n) != nil || n.Kind == 0 {
		return nil, false
	}
	plainText(&n)
	if n.Decode(&x) != nil {
		return nil, false
	}
	text, err := json.Marshal(x)
	if err != nil {
		return nil, false
	}
	x, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	return x, err == nil
}

// plainText keeps dates from becoming anything but texts.
func plainText(n *yaml.Node) {
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		plainText(c)
	}
}

func TestValidDocumentsUnderBoth(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/valid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no valid documents", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, diags := parse(data, spec.Options{File: file, Resolve: environment}); len(diags) > 0 {
			t.Errorf("the decoder refuses it:\n%v", diags)
		}
		x, ok := instance(data)
		if !ok {
			t.Fatalf("%s is no JSON", file)
		}
		if err := schema.Validate(x); err != nil {
			t.Errorf("%s: the schema refuses it: %v", file, err)
		}
	}
}

// inSchema are the codes of mistakes that a schema can see: those of structure, not
// those of references between parts, of environment or of notation.
var inSchema = []string{
	decode.CodeUnknownField, decode.CodeNotYetSupported, decode.CodeMissingField, decode.CodeWrongType,
	decode.CodeEmptyValue, decode.CodeEmptyRoutes,
	decode.CodeBadValue, decode.CodeBadDuration, decode.CodeOutOfRange, decode.CodeBadName, decode.CodeReservedName,
	decode.CodeSeveralKinds, decode.CodeMissingKind,
	decode.CodeConflict, decode.CodeNoFlushRule, decode.CodeNotAllowed, decode.CodeQuoteExpression,
	decode.CodeDuplicateEntry,
}

// apart are mistakes that the two see differently, and why.
var apart = map[string]string{
	"file-sink-csv":         "what a path holds says which fields there are beside it; to the schema it is a text",
	"join-of-itself":        "which inputs a join is made of is told by names, which a schema does not follow",
	"joins-of-each-other":   "likewise",
	"name-of-a-route-alone": "to the schema nothing before or after a point is a form, to the decoder a name",
}

func TestMistakesUnderBoth(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/mistakes/*")
	if err != nil {
		t.Fatal(err)
	}
	both := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		x, ok := instance(data)
		if !ok {
			continue
		}
		_, diags := parse(data, spec.Options{File: file, Resolve: environment})
		structural := slices.ContainsFunc(diags, func(d spec.Diagnostic) bool {
			return slices.Contains(inSchema, d.Code)
		})
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "-")
		refused := schema.Validate(x) != nil
		if _, differ := apart[name]; differ {
			if refused == structural {
				t.Errorf("%s: the schema and the decoder agree, take it off the list", file)
			}
			continue
		}
		if refused != structural {
			t.Errorf("%s: refused by the schema %v, structural to the decoder %v:\n%v", file, refused, structural,
				diags)
		}
		if refused && structural {
			both++
		}
	}
	if both < 40 {
		t.Errorf("only %d mistakes fail under both", both)
	}
}

// What is published is what the kinds that are built in make of it.
func TestPublishedSchema(t *testing.T) {
	t.Parallel()
	if !bytes.Equal(api.GraphSchema(), kinds.Schema()) {
		t.Error("api/graph.schema.json is not the schema of the kinds that are built in; " +
			"write it with go run ./cmd/graphd schema > api/graph.schema.json")
	}
}
