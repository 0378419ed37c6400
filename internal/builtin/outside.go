package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec"
)

// What a declaration refers to outside of its document.

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
	k = k.For(u.Spec.Tenant)
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
	for i := range u.Spec.Nodes {
		n := &u.Spec.Nodes[i]
		if c, ok := n.Config.(kind.Filed); ok {
			add("node "+n.Name, c.Files()...)
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
	k = k.For(g.Tenant)
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		if a.SchemaFile == "" {
			continue
		}
		schema, err := readSchema(k.access(g.File), kind.Resolve(k.folder(g), a.SchemaFile))
		if err != nil {
			d := spec.Diagnostic{
				File: g.File, Line: a.SchemaPos.Line, Column: a.SchemaPos.Column, Path: a.SchemaPos.Path,
				Code: "schema_unreadable", Text: fmt.Sprintf("the schema file cannot be used: %v", err),
			}
			if _, ok := errors.AsType[*policy.DeniedError](err); ok {
				d.Code = spec.CodeDenied
			}
			diags = append(diags, d)
			continue
		}
		a.Schema = schema
	}
	return diags
}

// load reads the files that nodes are made of. What is in them is of the declaration's meaning, and of its hash.
func (k *Kinds) load(g *spec.Graph) (diags spec.Diagnostics) {
	loaded, late := false, false
	for i := range g.Nodes {
		n := &g.Nodes[i]
		c, ok := n.Config.(kind.Loading)
		if !ok || k.access(g.File).MayUse("node."+n.Kind) != nil || k.caller.HasGone() {
			continue
		}
		config, wrong := c.Load(kind.Place{File: g.File, Folder: k.folder(g), Name: n.Name, Graph: g.Name, Pos: n.Pos,
			Access: k.access(g.File), Tenant: g.Tenant, Stored: k.stored, Late: &late}, len(n.Inputs))
		n.Config, diags, loaded = config, append(diags, wrong...), true
	}
	if loaded {
		g.Hash = g.Fingerprint()
	}
	return diags
}

func readSchema(access *policy.Policy, path string) (any, error) {
	data, err := access.Read(path, maxSchemaBytes)
	if err != nil {
		return nil, err
	}
	var schema any
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&schema); err != nil {
		return nil, fmt.Errorf("read %s as JSON: %w", path, err)
	}
	return schema, nil
}
