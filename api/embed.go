// Package api holds the API's documents, as they are published.
package api

import _ "embed"

//go:embed graph.schema.json
var graphSchema string

// GraphSchema is the JSON Schema (draft 2020-12) of the declaration.
func GraphSchema() []byte { return []byte(graphSchema) }
