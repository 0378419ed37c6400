// Package schematext puts the text of a JSON Schema together, so that it reads as it was written.
package schematext

import (
	"fmt"
	"strings"
)

// Replace puts members of an object in the place of a mark.
func Replace(schema, mark string, members []string) string {
	line := `"@` + mark + `": {}`
	at := strings.Index(schema, line)
	indent := schema[strings.LastIndexByte(schema[:at], '\n')+1 : at]
	text := strings.Join(members, ",\n")
	text = strings.TrimPrefix(indent+strings.ReplaceAll(text, "\n", "\n"+indent), indent)
	return schema[:at] + text + schema[at+len(line):]
}

// Exclusive says that no two of several fields stand together.
func Exclusive(fields []string) []string {
	var pairs []string
	for i, a := range fields {
		for _, b := range fields[i+1:] {
			pairs = append(pairs, fmt.Sprintf(`  { "not": { "required": [%q, %q] } }`, a, b))
		}
	}
	return []string{"\"allOf\": [\n" + strings.Join(pairs, ",\n") + "\n]"}
}

// Listed is a list in words.
func Listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
