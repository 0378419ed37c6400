package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
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

// folder is where a declaration's relative paths begin: beside its file, or in the folder of
// those that came without one.
func (k *Kinds) folder(g *spec.Graph) string {
	folder := k.Folder
	if g.File != "" {
		folder = filepath.Dir(g.File)
	}
	if whole, err := filepath.Abs(folder); err == nil {
		return whole
	}
	return folder // there is no working directory: what is opened will say so
}

// Files says which file each relative path of a declaration is.
func (k *Kinds) Files(u *compile.Unit) (files []api.File) {
	folder := k.folder(u.Spec)
	add := func(of string, paths ...string) {
		for _, path := range paths {
			if path != "" && !filepath.IsAbs(path) {
				files = append(files, api.File{Of: of, Path: path, File: kind.Resolve(folder, path)})
			}
		}
	}
	for i := range u.Spec.Accumulators {
		a := &u.Spec.Accumulators[i]
		add("accumulator "+a.Name, a.SchemaFile)
		if c, ok := a.Source.Config.(kind.Filed); ok {
			add("accumulator "+a.Name, c.Files()...)
		}
	}
	for i := range u.Spec.Outputs {
		o := &u.Spec.Outputs[i]
		if c, ok := o.Sink.Config.(kind.Filed); ok {
			add("output "+o.Name, c.Files()...)
		}
	}
	return files
}

// makeFolder makes the folder of relative paths for a sink that writes there.
func (k *Kinds) makeFolder(u *compile.Unit, config spec.SinkConfig) error {
	c, ok := config.(kind.Filed)
	if !ok || u.Spec.File != "" || k.Folder == "" || !slices.ContainsFunc(c.Files(), func(path string) bool {
		return path != "" && !filepath.IsAbs(path)
	}) {
		return nil
	}
	if err := os.MkdirAll(k.Folder, 0o750); err != nil {
		return fmt.Errorf("make the folder of relative paths: %w", err)
	}
	return nil
}

// ReadSchemas loads the JSON Schema files that accumulators name into the declaration.
func (k *Kinds) ReadSchemas(g *spec.Graph) spec.Diagnostics {
	var diags spec.Diagnostics
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		if a.SchemaFile == "" {
			continue
		}
		schema, err := readSchema(kind.Resolve(k.folder(g), a.SchemaFile))
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
