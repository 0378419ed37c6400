package api

import _ "embed"

//go:embed openapi.yaml
var openapi string

// OpenAPI is the OpenAPI 3.1 document of the control plane, as YAML.
func OpenAPI() []byte { return []byte(openapi) }
