package decode

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/reference"
	"github.com/graphd/graphd/internal/spec/internal/suggest"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// The bounds of one declaration. They keep what a hostile document can cost in
// memory and time near what the largest sensible one costs.
const (
	maxKeyBytes    = 256     // the longest key of a mapping
	maxDiagnostics = 1000    // nobody reads more, and each costs memory
	maxExpanded    = 1 << 20 // bytes that references expand to, as much as the document itself
	maxComparisons = 50_000  // with names and fields that a mistyped one could mean

	// MaxBytes bounds the text of a document: a declaration of ten thousand nodes is about half of this. MaxDepth
	// bounds how deep it is nested, as events are.
	MaxBytes = 1 << 20
	MaxDepth = 64

	// MaxEntries bounds lists of what the user names: accumulators, nodes and outputs each.
	MaxEntries = 10_000
)

// Resolver reads what a declaration refers to with ${…}. ref is "NAME" for the
// environment or "file:/run/secrets/x" for a file. ok is false when it is not set.
type Resolver func(ref string) (value string, ok bool, err error)

// Decoder reads one declaration and collects what is wrong with it. It is not safe for
// concurrent use.
type Decoder struct {
	file       string
	doc        *document.Document
	diags      Diagnostics
	written    meaning.AsWritten
	references reference.Expander
	finder     suggest.Finder
	mappings   func() []Mapping // see Options
}

// Options say how to decode.
type Options struct {
	// File is the name that diagnostics carry; "" when there is no file.
	File string
	// Resolve reads references. When it is nil they count as not set: an error
	// unless they have a default.
	Resolve Resolver
	// MaxBytes bounds the document; 0 means 1 MiB.
	MaxBytes int
	// Mappings answers those that the document may hold, for who puts a field into the wrong one; nil for none.
	Mappings func() []Mapping
}

// Load begins to read a document, YAML or JSON. ok is false when nothing can be made of it;
// why is in [Decoder.Finish].
func Load(data []byte, o Options) (d *Decoder, root Value, ok bool) {
	d = &Decoder{
		file:       o.File,
		references: reference.Expander{Budget: maxExpanded},
		finder:     suggest.Finder{Budget: maxComparisons},
		mappings:   o.Mappings,
		written:    meaning.AsWritten{Read: map[string]string{}},
	}
	if o.Resolve != nil {
		d.references.Lookup = noting(o.Resolve, d.written.Read)
	}
	limit := o.MaxBytes
	if limit <= 0 {
		limit = MaxBytes
	}
	doc, problems := document.Load(data, limit, MaxDepth)
	d.reportProblems(problems)
	if doc == nil {
		return d, Value{}, false
	}
	d.doc = doc
	return d, Value{node: doc.Root}, true
}

// noting is a resolver that keeps what it has read.
func noting(resolve Resolver, read map[string]string) Resolver {
	return func(ref string) (string, bool, error) {
		value, ok, err := resolve(ref)
		if ok && err == nil {
			read[ref] = value
		}
		return value, ok, err
	}
}

// Finish ends the reading: what in the document was written with references, and all that is
// wrong with it, in its order. The note that there are more stays last.
func (d *Decoder) Finish() (*meaning.AsWritten, Diagnostics) {
	if d.doc != nil {
		d.reportProblems(d.doc.Unsettled())
	}
	ds := Noted(d.diags, d.Anchors())
	if len(ds) > maxDiagnostics {
		ds = ds[:maxDiagnostics]
	}
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	written := d.written // a copy: a pointer into the Decoder would hold on to all of it while the graph lives
	if len(written.Read) == 0 {
		written.Read = nil
	}
	return &written, d.diags
}

// Anchors are what the aliases of the document refer to; nil where there are none.
func (d *Decoder) Anchors() document.Anchors {
	if d.doc == nil {
		return nil
	}
	return d.doc.Anchors()
}

// Noted puts a word on the anchor to what is told at aliases, where it is not there yet. It answers with the same list.
func Noted(ds Diagnostics, anchors document.Anchors) Diagnostics {
	for i := range ds {
		ds[i].Text = anchors.Noted(ds[i].Text, ds[i].Line, ds[i].Column)
	}
	return ds
}

// reportProblems reports what is wrong with the text as a whole.
func (d *Decoder) reportProblems(problems []document.Problem) {
	for _, p := range problems {
		d.ReportAt(Pos{Line: p.Line, Column: p.Column}, p.Code, "", "%s", p.Text)
	}
}

// Place is where in the document something is reported.
type Place struct {
	node *yaml.Node
	at   *trail
}

// Pos is the place in words and numbers.
func (p Place) Pos() Pos { return Pos{Line: p.node.Line, Column: p.node.Column, Path: p.at.String()} }

// Report adds a diagnostic. suggest is what was probably meant, "" when that is not known.
func (d *Decoder) Report(p Place, code, suggest, format string, args ...any) {
	if len(d.diags) > maxDiagnostics {
		return // the text of a path costs too
	}
	d.ReportAt(p.Pos(), code, suggest, format, args...)
}

// ReportAt adds a diagnostic at a position that was kept.
func (d *Decoder) ReportAt(p Pos, code, suggest, format string, args ...any) {
	switch {
	case len(d.diags) > maxDiagnostics:
		return
	case len(d.diags) == maxDiagnostics:
		code, suggest = CodeTooManyErrors, ""
		format, args = "there are more mistakes than the %d shown; correct these first", []any{maxDiagnostics}
	}
	d.diags = append(d.diags, Diagnostic{
		File: d.file, Line: max(p.Line, 1), Column: max(p.Column, 1), Path: p.Path,
		Code: code, Text: fmt.Sprintf(format, args...), Suggest: suggest,
	})
}

// Nearest is the name that a mistyped one probably means, "" when there is none.
func (d *Decoder) Nearest(name string, names []string) string { return d.finder.Nearest(name, names) }

// Nearest is as [Decoder.Nearest], for later checks of a declaration.
func Nearest(name string, names []string) string {
	finder := suggest.Finder{Budget: maxComparisons}
	return finder.Nearest(name, names)
}

// Quote shows a text that the user wrote.
func Quote(s string) string { return document.Quote(s) }

// Shorten cuts a text to at most n bytes.
func Shorten(s string, n int) string { return document.Shorten(s, n) }

// OneLine keeps a text of foreign origin fit for a log line and an answer.
func OneLine(s string) string {
	const longest = 500 // enough for any real message; an event's own text may be in it
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}
