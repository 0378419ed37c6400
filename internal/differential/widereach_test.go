package differential

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// undrawn are the fields and words of declarations that the generator leaves out, by the beginning of their path, and
// why. What is in the schema and neither drawn nor here fails the test.
func undrawn() map[string]string {
	const (
		unbuilt = "not yet supported"
		away    = "of another system; events come by files and pushes here, and from graphs that are followed"
		parts   = "how a file is written, which its own tests hold"
		placed  = "put in where the declaration is run"
		fed     = "a relay's values are behind nobody's checkpoint (M46); those of followers are drawn"
		calls   = "of a server; TestCalls of test/everyday compares runs and daemons"
		gofunc  = "registered by an embedding program"
		timed   = "what comes of it depends on the clock, and with a journal it is refused"
		goes    = "a bounded run goes on: TestM21WideHaltsBeforeWhatFails has it stop"
	)
	return map[string]string{
		"loops.*.budget": timed, "nodes.*.on_overrun=degrade": timed, "reactor.on_overrun=degrade": timed,
		"nodes.*.http": calls, "nodes.*.retry": calls,
		"outputs.*.key": unbuilt,
		"nodes.*.wasm":  "of a module in a file; TestGuestsOnAnyNumberOfCores compares runs",
		"nodes.*.go":    gofunc, "nodes.*.inputs": gofunc, "accumulators.*.go": gofunc,
		"outputs.*.timeout":           "of sinks that call out",
		"accumulators.*.source.audit": away, "accumulators.*.source.generator": away,
		"accumulators.*.source.http": away, "accumulators.*.source.kafka": away, "accumulators.*.source.poll": away,
		"accumulators.*.source.websocket": away, "accumulators.*.source.websocket_client": away,
		"accumulators.*.source.go": gofunc, "accumulators.*.source.graph": fed, "outputs.*.sink.graph": fed,
		"accumulators.*.source.file": placed, "outputs.*.sink.go": placed,
		"outputs.*.sink.drop": "it says nothing", "outputs.*.sink.websocket": "it says nothing but to who watches",
		"outputs.*.sink.http": away, "outputs.*.sink.kafka": away, "outputs.*.sink.postgres": away,
		"outputs.*.sink.file.columns": parts, "outputs.*.sink.file.format": parts,
		"outputs.*.sink.file.max_open": parts, "outputs.*.sink.file.max_partitions": parts,
		"outputs.*.sink.file.partition": parts,
		"clock=arrival":                 "such a graph is drawn by leaving time out",
		"durability.on_failure=halt":    goes,
		"accumulators.*.partitioned":    "of topics; TestM49PartitionedByTheProducer has a real broker",
		"include":                       "put in before anything runs; see TestMovedIntoAnIncludedFile",
		"reactor.shards":                "TestShardsDrawEveryField counts those of declarations that have them",
	}
}

// schema is what the test reads of a JSON Schema.
type schema struct {
	Ref                  string            `json:"$ref"`
	Defs                 map[string]schema `json:"$defs"`
	Properties           map[string]schema
	AdditionalProperties json.RawMessage
	AnyOf, OneOf, AllOf  []schema
	Required             []string
	Enum                 []any
}

// fields adds the fields below path to all: whether each is required, and the words that a field can have.
func (s schema) fields(root *schema, path string, all map[string]bool, depth int) {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s = root.Defs[name]
	}
	for _, word := range s.Enum {
		if w, ok := word.(string); ok && path != "" {
			all[path+"="+w] = true
		}
	}
	for _, more := range slices.Concat(s.AnyOf, s.OneOf, s.AllOf) {
		more.fields(root, path, all, depth)
	}
	for name, field := range s.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		all[at] = all[at] || slices.Contains(s.Required, name)
		if depth < 6 {
			field.fields(root, at, all, depth+1)
		}
	}
	var more schema
	if len(s.AdditionalProperties) > 0 && json.Unmarshal(s.AdditionalProperties, &more) == nil && depth < 6 {
		more.fields(root, path+".*", all, depth+1)
	}
}

// reach counts in how many places a declaration has each field and word, and in how many it could have the field and
// has not.
func reach(doc any, path string, all map[string]bool, has, lacks map[string]int) {
	switch v := doc.(type) {
	case tree:
		for name := range all {
			parent, field := cutLast(name)
			if parent == path && field != "*" && !strings.Contains(field, "=") && v[field] == nil {
				lacks[name]++
			}
		}
		for name, value := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			if path == "accumulators" || path == "nodes" || path == "outputs" || path == "loops" ||
				path == "lanes" {
				at = path + ".*"
			} else if _, known := all[at]; !known {
				continue
			}
			has[at]++
			reach(value, at, all, has, lacks)
		}
	case string:
		has[path+"="+v]++
	}
}

// cutLast parts a path from its last field.
func cutLast(path string) (parent, field string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// only says that a field is the only one that can stand where it stands.
func only(all map[string]bool, path string) bool {
	parent, _ := cutLast(path)
	for other := range all {
		if beside, _ := cutLast(other); beside == parent && other != path && !strings.Contains(other, "=") {
			return false
		}
	}
	return true
}

// The declarations that are compared have every field there is, with every word that it can be, and go without each
// that can be left out: so its default is compared too. They call every function with memory.
func TestWideDrawsEveryField(t *testing.T) {
	t.Parallel()
	var root schema
	if err := json.Unmarshal((&builtin.Kinds{}).Schema(), &root); err != nil {
		t.Fatal(err)
	}
	all, has, lacks, left := map[string]bool{}, map[string]int{}, map[string]int{}, undrawn()
	root.fields(&root, "", all, 0)
	all["outputs"], all["accumulators"] = true, true // without one there is nothing to compare
	all["accumulators.*.source.follow"] = true       // no other source is drawn
	if len(all) < 80 {
		t.Fatalf("only %d fields in the schema", len(all))
	}
	var docs strings.Builder
	draws := func(drawn tree) {
		var doc tree
		if err := json.Unmarshal(text(drawn), &doc); err != nil {
			t.Fatal(err)
		}
		docs.Write(text(doc))
		reach(doc, "", all, has, lacks)
	}
	for seed := range uint64(wideSeeds) {
		draws(newWide(seed).doc)
	}
	for seed := range uint64(20) { // of joins and of graphs that follow, which are compared by themselves
		draws(newJoined(seed).doc)
		for _, g := range newLed(seed % 10).graphs[1:] {
			draws(g.doc)
		}
	}
	excused := func(path string) bool {
		for why := range left {
			if rest, ok := strings.CutPrefix(path, why); ok && (rest == "" || strings.ContainsAny(rest[:1], ".=")) {
				return true
			}
		}
		return false
	}
	for _, path := range slices.Sorted(keysOf(all)) {
		switch parent, _ := cutLast(path); {
		case excused(path):
		case has[path] == 0:
			t.Errorf("no declaration has %s: draw it, or say in undrawn why not", path)
		case !all[path] && lacks[path] == 0 && lacks[parent] == 0 && !strings.Contains(path, "="),
			!all[path] && lacks[path] == 0 && !strings.Contains(path, "=") && !only(all, path):
			t.Errorf("every declaration has %s: its default is not compared", path)
		}
	}
	for name := range left {
		if _, ok := all[name]; !ok {
			t.Errorf("undrawn has %s, which is no field", name)
		}
	}
	page, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Functions with memory\n")
	section, _, _ = strings.Cut(section, "```")
	found := regexp.MustCompile("(?m)^\\|[^|]*\\|").FindAllString(section, -1)
	for _, row := range found {
		for _, call := range regexp.MustCompile("`([a-z_]+)[(`]").FindAllStringSubmatch(row, -1) {
			if !strings.Contains(docs.String(), call[1]+"(") && call[1] != "w" && call[1] != "a" && call[1] != "t" {
				t.Errorf("no declaration calls %s", call[1])
			}
		}
	}
	t.Logf("%d fields and words", len(all))
}
