package spec

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/metaschema"
	"github.com/graphd/graphd/internal/spec/internal/reference"
	"github.com/graphd/graphd/internal/spec/internal/suggest"
)

// The bounds of one declaration. They keep what a hostile document can cost in
// memory and time near what the largest sensible one costs.
const (
	defaultMaxBytes = 1 << 20 // a declaration of ten thousand nodes is about half of this
	maxDepth        = 64      // the same bound as for events
	maxEntries      = 10_000  // accumulators, nodes and outputs each
	maxKeyBytes     = 256     // the longest key of a mapping
	maxDiagnostics  = 1000    // nobody reads more, and each costs memory
	maxExpanded     = 1 << 20 // bytes that references expand to, as much as the document itself
	maxComparisons  = 50_000  // with names and fields that a mistyped one could mean
)

// Resolver reads what a declaration refers to with ${…}. ref is "NAME" for the
// environment or "file:/run/secrets/x" for a file. ok is false when it is not set.
type Resolver func(ref string) (value string, ok bool, err error)

// Options say how to parse.
type Options struct {
	// File is the name that diagnostics carry; "" when there is no file.
	File string
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
// can be made of the document.
//
// What belongs to expressions (their syntax, names and types) is not checked here.
func Parse(data []byte, o Options) (*Graph, Diagnostics) {
	d := &decoder{
		file:       o.File,
		references: reference.Expander{Lookup: o.Resolve, Budget: maxExpanded},
		finder:     suggest.Finder{Budget: maxComparisons},
		places:     fieldPlaces(),
	}
	limit := o.MaxBytes
	if limit <= 0 {
		limit = defaultMaxBytes
	}
	doc, problems := document.Load(data, limit, maxDepth)
	d.reportProblems(problems)
	if doc == nil {
		return nil, d.sorted()
	}
	d.doc = doc
	g := defaultGraph(o.File)
	if root := (value{node: doc.Root}); d.mapping(root, "a declaration with graph, accumulators and reactor") {
		d.readGraph(root, g)
	}
	d.reportProblems(doc.Unsettled())
	g.unresolved = d.unresolved
	g.Hash = g.Fingerprint()
	return g, d.sorted()
}

// decoder is the state of one Parse.
type decoder struct {
	file       string
	doc        *document.Document
	diags      Diagnostics
	unresolved unresolved
	references reference.Expander
	finder     suggest.Finder
	places     map[string][]string // field name to the mappings that have it
	schemas    metaschema.Checker
	links      links
}

// reportProblems reports what is wrong with the text as a whole.
func (d *decoder) reportProblems(problems []document.Problem) {
	for _, p := range problems {
		d.reportAt(Pos{Line: p.Line, Column: p.Column}, p.Code, "", "%s", p.Text)
	}
}

// report adds a diagnostic at a node of the document.
func (d *decoder) report(n *yaml.Node, at *trail, code, suggest, format string, args ...any) {
	if len(d.diags) > maxDiagnostics {
		return
	}
	d.reportAt(Pos{Line: n.Line, Column: n.Column, Path: at.String()}, code, suggest, format, args...)
}

func (d *decoder) reportAt(p Pos, code, suggest, format string, args ...any) {
	switch {
	case len(d.diags) > maxDiagnostics:
		return
	case len(d.diags) == maxDiagnostics:
		code, suggest, format, args = CodeTooManyErrors, "", "there are more mistakes than the %d shown; correct these first", []any{maxDiagnostics}
	}
	d.diags = append(d.diags, Diagnostic{
		File: d.file, Line: max(p.Line, 1), Column: max(p.Column, 1), Path: p.Path,
		Code: code, Text: fmt.Sprintf(format, args...), Suggest: suggest,
	})
}

// sorted is the diagnostics in the order of the document. The note that there
// are more stays last.
func (d *decoder) sorted() Diagnostics {
	ds := d.diags
	if len(ds) > maxDiagnostics {
		ds = ds[:maxDiagnostics]
	}
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return d.diags
}
