package spec

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/spec/decode"
)

// The JSON Schema is that of the grammar, in schema.json, with what the kinds add to it. It is
// put together as text, so that it reads as it was written: a line of the grammar's that is a
// mark gives way to the kinds.

//go:embed schema.json
var grammarSchema string

// Schema is the JSON Schema (draft 2020-12) of a declaration that can name these kinds.
func (k Kinds) Schema() []byte {
	s := grammarSchema
	s = replaceMark(s, "accumulators", kindProperties(k.Accumulators))
	s = replaceMark(s, "exclusive", exclusive(k.accumulatorKinds()))
	s = strings.Replace(s, "@kinds", listed(k.accumulatorKinds()), 1)
	s = replaceMark(s, "sources", kindProperties(k.Sources))
	s = replaceMark(s, "sinks", kindProperties(k.Sinks))
	return []byte(replaceMark(s, "definitions", k.definitions()))
}

// replaceMark puts members of an object in the place of a mark.
func replaceMark(schema, mark string, members []string) string {
	line := `"@` + mark + `": {}`
	at := strings.Index(schema, line)
	indent := schema[strings.LastIndexByte(schema[:at], '\n')+1 : at]
	text := strings.Join(members, ",\n")
	text = strings.TrimPrefix(indent+strings.ReplaceAll(text, "\n", "\n"+indent), indent)
	return schema[:at] + text + schema[at+len(line):]
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

// exclusive says that no two of several fields stand together.
func exclusive(fields []string) []string {
	var pairs []string
	for i, a := range fields {
		for _, b := range fields[i+1:] {
			pairs = append(pairs, fmt.Sprintf(`  { "not": { "required": [%q, %q] } }`, a, b))
		}
	}
	return []string{"\"allOf\": [\n" + strings.Join(pairs, ",\n") + "\n]"}
}

// listed is a list in words.
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// definitions are what the kinds define, each text once.
func (k Kinds) definitions() (list []string) {
	seen := map[string]bool{}
	for _, s := range k.schemas() {
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
