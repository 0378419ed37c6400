package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
)

// What a declaration refers to outside of its document.

// Environment resolves ${NAME} from the process's environment and ${file:PATH} from files.
func Environment(ref string) (value string, ok bool, err error) {
	const prefix = "file:"
	if len(ref) > len(prefix) && ref[:len(prefix)] == prefix {
		data, err := os.ReadFile(ref[len(prefix):])
		if errors.Is(err, os.ErrNotExist) {
			return "", false, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("read the secret file: %w", err)
		}
		for len(data) > 0 && (data[len(data)-1] == '\n' || data[len(data)-1] == '\r') {
			data = data[:len(data)-1] // the newline that editors and echo leave
		}
		return string(data), true, nil
	}
	value, ok = os.LookupEnv(ref)
	return value, ok, nil
}

// maxSchemaBytes bounds a schema file.
const maxSchemaBytes = 1 << 20

// ReadSchemas loads the JSON Schema files that accumulators name into the declaration.
func ReadSchemas(g *spec.Graph) spec.Diagnostics {
	var diags spec.Diagnostics
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		if a.SchemaFile == "" {
			continue
		}
		schema, err := readSchema(kind.Resolve(g.File, a.SchemaFile))
		if err != nil {
			diags = append(diags, spec.Diagnostic{
				File: g.File, Line: a.SchemaPos.Line, Column: a.SchemaPos.Column, Path: a.SchemaPos.Path,
				Code: "schema_unreadable", Text: fmt.Sprintf("the schema file cannot be used: %v", err),
			})
			continue
		}
		a.Schema = schema
	}
	return diags
}

func readSchema(path string) (any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var schema any
	if err := json.NewDecoder(io.LimitReader(f, maxSchemaBytes)).Decode(&schema); err != nil {
		return nil, fmt.Errorf("read %s as JSON: %w", path, err)
	}
	return schema, nil
}
