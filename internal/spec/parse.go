package spec

import (
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/metaschema"
)

// Options say how to parse.
type Options struct {
	// File is the name that diagnostics carry; "" when there is no file.
	File string
	// Tenant is whose declaration it is; it takes no part in its meaning.
	Tenant string
	// Resolve reads references. When it is nil they count as not set: an error
	// unless they have a default.
	Resolve Resolver
	// MaxBytes bounds the document; 0 means 1 MiB.
	MaxBytes int
}

// Parse decodes one declaration, YAML or JSON, fills in the defaults and checks
// its structure. Every mistake is reported, in the order of the document.
//
// The graph is as complete as can be also when there are diagnostics, so that
// later checks can add theirs: what could not be read is left at its default, and
// an expression that could not be read is the zero Expr. It is nil when nothing
// can be made of the document. What belongs to expressions (their syntax, names and types) is not checked here.
func Parse(data []byte, kinds Kinds, o Options) (*Graph, Diagnostics) {
	d, root, ok := decode.Load(data, decode.Options{
		File: o.File, Resolve: o.Resolve, MaxBytes: o.MaxBytes, Mappings: kinds.Mappings,
	})
	if !ok {
		_, diags := d.Finish()
		return nil, diags
	}
	g := draft{Decoder: d, Graph: defaultGraph(o.File), kinds: kinds}
	g.Tenant = o.Tenant
	if d.Mapping(root, "a declaration with graph, accumulators and reactor") {
		g.read(root)
	}
	written, diags := d.Finish()
	g.written, g.anchors = written, d.Anchors()
	g.Unsure = decode.Unsure(diags, []string{"accumulators", "nodes"}, untyped)
	g.Hash = g.Fingerprint()
	return g.Graph, diags
}

// draft is a graph that is being read.
type draft struct {
	*decode.Decoder
	*Graph
	kinds   Kinds
	links   links
	schemas metaschema.Checker
}
