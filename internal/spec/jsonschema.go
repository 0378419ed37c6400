package spec

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/schematext"
)

// The JSON Schema is that of the grammar, in schema.json, with what the kinds add to it. It is
// put together as text, so that it reads as it was written: a line of the grammar's that is a
// mark gives way to the kinds.

//go:embed schema.json
var grammarSchema string

// Schema is the JSON Schema (draft 2020-12) of a declaration that can name these kinds.
func (k Kinds) Schema() []byte {
	s := grammarSchema
	s = schematext.Replace(s, "accumulators", kindProperties(k.Accumulators))
	s = schematext.Replace(s, "exclusive", schematext.Exclusive(k.accumulatorKinds()))
	s = strings.Replace(s, "@kinds", schematext.Listed(k.accumulatorKinds()), 1)
	s = schematext.Replace(s, "sources", kindProperties(k.Sources))
	s = schematext.Replace(s, "sinks", kindProperties(k.Sinks))
	_, built, _ := k.nodeKinds()
	s = strings.Replace(s, "@nodes", schematext.Listed(built), 1)
	s = schematext.Replace(s, "node_choices", k.nodeChoices())
	s = schematext.Replace(s, "node_kinds", k.nodeProperties())
	seen := map[string]bool{}
	s = schematext.Replace(s, "definitions", definitions(k.schemas(), seen))
	return []byte(schematext.Replace(s, "node_definitions", definitions(k.nodeSchemas(), seen)))
}

// kindProperties are the properties of an object that names a kind.
func kindProperties[C any](kinds []decode.Kind[C]) (list []string) {
	for _, k := range kinds {
		s := k.Schema()
		text := fmt.Sprintf(`%q: { "description": %q, "$ref": "#/$defs/%s" }`, k.Name(), s.About(), s.Ref())
		list = append(list, text)
	}
	return list
}

// nodeProperties are the properties of a node that name its kind.
func (k Kinds) nodeProperties() (list []string) {
	for _, n := range k.Nodes {
		s := n.Schema()
		about, members := s.About(), s.Members()
		if !n.Built() {
			about, members = about+" Not supported by this version yet.", `"not": {}`
		}
		members = strings.ReplaceAll(members, "\n", "\n  ")
		list = append(list, fmt.Sprintf("%q: {\n  \"description\": %q,\n  %s\n}", n.Name(), about, members))
	}
	return list
}

// nodeChoices say that a node has one kind, and inputs when they are what the kind reads.
func (k Kinds) nodeChoices() []string {
	var choices []string
	_, built, plain := k.nodeKinds()
	for _, name := range built {
		choice := fmt.Sprintf("\"required\": [%q, \"inputs\"]", name)
		if slices.Contains(plain, name) {
			choice = fmt.Sprintf("\"required\": [%q],\n    \"not\": { \"required\": [\"inputs\"] }", name)
		}
		choices = append(choices, "  {\n    "+choice+"\n  }")
	}
	return []string{"\"oneOf\": [\n" + strings.Join(choices, ",\n") + "\n]"}
}

// definitions are what kinds define, each text once.
func definitions(schemas []decode.Schema, seen map[string]bool) (list []string) {
	for _, s := range schemas {
		for _, d := range s.Definitions() {
			if text := d.Text(); !seen[text] {
				seen[text] = true
				text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "{\n"), "\n}")
				list = append(list, strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n"))
			}
		}
	}
	return list
}
