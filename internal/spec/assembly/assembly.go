// Package assembly makes a declaration whole: the files that it includes are put in, vars get the values that somebody
// has set, and what comes of it is one text that needs no other file. That text is what is checked, applied, stored and
// shown, so a daemon knows neither of includes nor of what was set, and a rollback brings all of it back.
//
// Start with [Make]. It works on the trees of the documents (gather.go), writes them as one text (text.go) and keeps
// which place of that text is which of which file (place.go), so that diagnostics name those. A declaration without an
// include stays as it is written; a var that is set is put into its text (set.go).
//
// It does no I/O of its own: included files are read through a function of the caller's.
package assembly

import (
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/document"
)

// Options say how a declaration is made whole.
type Options struct {
	// File is the name that diagnostics carry, and beside which the paths of its includes begin.
	File string
	// Folder is where these begin instead, "" for the folder of File.
	Folder string
	// Read reads a file that is included. Nil: an include stays as it is, for the decoder to refuse.
	Read func(path string) ([]byte, error)
	// Set are vars to set, by name: a text is read as the type of the value that the declaration has.
	Set map[string]string
}

// Document is a declaration that needs no other file.
type Document struct {
	// Text is the declaration, Name the name that its diagnostics carry.
	Text []byte
	Name string
	// Files are those that it includes, by their paths, in the order in which they are named; those that could not be
	// read are among them.
	Files []string
	// Remarks are what of the includes is valid and hardly meant.
	Remarks decode.Diagnostics

	sources []*source
	spots   []spot // nil where the text is as it was written
	broken  bool   // there is more wrong with the text than could be told before it is read
}

// source is one file.
type source struct {
	name, path string
	doc        *document.Document
}

// Make makes a declaration whole. The error is [decode.Diagnostics] for what is wrong with includes, or a [*SetError].
// With a declaration that YAML cannot read there is none: it stays as it is, for who reads it to say so.
func Make(data []byte, o Options) (*Document, error) {
	whole := &Document{Text: data, Name: o.File}
	doc, problems := document.Load(data, decode.MaxBytes, decode.MaxDepth)
	if doc == nil || len(problems) > 0 || !doc.Whole() || doc.Root.Kind != yaml.MappingNode {
		whole.broken = true
		return whole, nil
	}
	own := &source{name: o.File, path: filepath.Join(folderOf(o), filepath.Base(o.File)), doc: doc}
	whole.sources = []*source{own}
	g := gatherer{o: o, whole: whole, owners: map[*yaml.Node]*source{}}
	list, includes := g.take(doc.Root, "include")
	if again, twice := g.take(doc.Root, "include"); twice {
		g.report(own, again, decode.CodeDuplicateKey, "%s is given twice; put the files into one list",
			decode.Quote("include"))
	}
	if !includes && len(o.Set) == 0 {
		return whole, nil
	}
	if includes {
		g.gather(own, list)
		if len(g.found) > 0 {
			return whole, sorted(g.found, whole.sources)
		}
		g.merge(own)
		if len(g.found) > 0 {
			return whole, sorted(g.found, whole.sources)
		}
	}
	text := doc.Source
	if includes {
		text = nil
	}
	edits, err := set(doc.Root, text, o.Set)
	if err != nil {
		return whole, err
	}
	if !includes && whole.splice(own, edits) {
		return whole, nil
	}
	if err := whole.write(&g, own, includes); err != nil {
		return whole, err
	}
	return whole, nil
}

func folderOf(o Options) string {
	if o.Folder != "" {
		return o.Folder
	}
	return filepath.Dir(o.File)
}
