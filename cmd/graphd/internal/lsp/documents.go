package lsp

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/lsp/frame"
	"github.com/graphd/graphd/internal/language/text"
	"github.com/graphd/graphd/internal/spec/decode"
	"go.yaml.in/yaml/v3"
)

const (
	// maxDocuments is how many documents can be open: each is held in memory, and a workspace of more declarations is
	// opened file by file.
	maxDocuments = 256
	// maxHeld bounds the bytes of all of them.
	maxHeld = 16 << 20
)

// document is one that is open in the editor.
type document struct {
	uri     string
	path    string // "" where it is no file yet
	version int
	text    *text.Text
}

// documents are those that are open, with what is told of files.
type documents struct {
	open map[string]*document // by URI
	held int                  // bytes
	// told is what each declaration that was checked has said, by the URI of the declaration and of the file.
	told map[string]map[string][]diagnostic
	// known is what is known of each open document, by URI.
	known map[string]*known
}

func (d *documents) init() {
	d.open, d.told, d.known = map[string]*document{}, map[string]map[string][]diagnostic{}, map[string]*known{}
}

// find is an open document.
func (d *documents) find(uri string) (*document, error) {
	if doc := d.open[uri]; doc != nil {
		return doc, nil
	}
	return nil, &failure{invalidParams, fmt.Sprintf("%s is not open", shortened(uri))}
}

// texts are the open documents by their paths.
func (d *documents) texts() map[string]string {
	all := make(map[string]string, len(d.open))
	for _, doc := range d.open {
		if doc.path != "" {
			all[doc.path] = doc.text.String()
		}
	}
	return all
}

func (s *server) open(p *openParams) error {
	of := &p.TextDocument
	d := &s.documents
	was := d.open[of.URI]
	held := d.held + len(of.Text)
	if was != nil {
		held -= len(was.text.String())
	}
	switch {
	case was == nil && len(d.open) == maxDocuments:
		return s.refuse(fmt.Sprintf("graphd lsp has %d documents open, which is the most; close some", maxDocuments))
	case held > maxHeld:
		return s.refuse(fmt.Sprintf("graphd lsp holds %d MiB of open documents at most; close some", maxHeld>>20))
	}
	d.held = held
	d.open[of.URI] = &document{uri: of.URI, path: pathOf(of.URI), version: of.Version, text: text.New(of.Text)}
	s.touched(of.URI)
	return nil
}

// refuse tells who sits before the editor.
func (s *server) refuse(why string) error {
	const warning = 2
	s.notify("window/showMessage", map[string]any{"type": warning, "message": why})
	return &failure{invalidRequest, why}
}

func (s *server) change(p *changeParams) error {
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return err
	}
	now := doc.text
	for _, c := range p.ContentChanges {
		next := c.Text
		if c.Range != nil {
			next = now.Replace(*c.Range, c.Text)
		}
		if len(next) > frame.MaxBytes {
			return s.refuse(fmt.Sprintf("%s has more than %d bytes; graphd lsp goes on with it as it was", doc.uri,
				frame.MaxBytes))
		}
		now = text.New(next)
	}
	held := s.documents.held + len(now.String()) - len(doc.text.String())
	if held > maxHeld {
		return s.refuse(fmt.Sprintf("graphd lsp holds %d MiB of open documents at most; close some", maxHeld>>20))
	}
	changed := *doc // a check may hold the old one
	changed.version, changed.text = p.TextDocument.Version, now
	s.documents.held, s.documents.open[doc.uri] = held, &changed
	if s.documents.told[testsOf(doc.uri)] != nil {
		s.tell(testsOf(doc.uri), nil) // its tests have to run again
	}
	s.touched(doc.uri)
	return nil
}

func (s *server) close(p *documentParams) error {
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return err
	}
	s.documents.held -= len(doc.text.String())
	delete(s.documents.open, doc.uri)
	delete(s.documents.known, doc.uri)
	s.tell(testsOf(doc.uri), nil)
	s.checks.forget(doc.uri)
	s.tell(doc.uri, nil)
	s.again() // what includes it reads the file now
	return nil
}

// covered says that an open declaration includes a document.
func (d *documents) covered(uri string) bool {
	for other, about := range d.told {
		if _, includes := about[uri]; includes && other != uri {
			return true
		}
	}
	return false
}

// tell tells what a declaration has to say of files, in the place of what it said before.
func (s *server) tell(of string, found map[string][]diagnostic) {
	files := map[string]bool{}
	for uri := range s.documents.told[of] {
		files[uri] = true
	}
	if s.documents.told[of] = found; found == nil {
		delete(s.documents.told, of)
	}
	for uri := range found {
		files[uri] = true
	}
	for _, uri := range slices.Sorted(maps.Keys(files)) {
		p := published{URI: uri, Diagnostics: []diagnostic{}}
		if doc := s.documents.open[uri]; doc != nil {
			p.Version = &doc.version
		}
		for _, declaration := range slices.Sorted(maps.Keys(s.documents.told)) {
			for _, d := range s.documents.told[declaration][uri] {
				if !slices.Contains(p.Diagnostics, d) { // two declarations that include it say the same
					p.Diagnostics = append(p.Diagnostics, d)
				}
			}
		}
		s.notify("textDocument/publishDiagnostics", p)
	}
}

var drive = regexp.MustCompile(`^/[A-Za-z]:`)

// pathOf is the file that a URI names, "" for none.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" || strings.ContainsRune(u.Path, 0) {
		return ""
	}
	if drive.MatchString(u.Path) {
		return filepath.Clean(filepath.FromSlash(u.Path[1:]))
	}
	return filepath.Clean(filepath.FromSlash(u.Path))
}

// uriOf names a file, as the editor does if it has it open.
func (d *documents) uriOf(path string) string {
	for uri, doc := range d.open {
		if doc.path == path {
			return uri
		}
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// sort is what a document is.
type sort int

const (
	foreign     sort = iota // YAML of somebody else, of which nothing is said
	declaration             // a graph
	part                    // what declarations include
	tests                   // the tests of a declaration
)

// begins finds the fields at the top of a document without reading it, for one that is being typed is seldom whole.
var begins = regexp.MustCompile(`(?m)^[{ ]*"?([a-z_]+)"?[ \t]*:`)

// maxHead is how much of a document that cannot be read is looked through for its fields.
const maxHead = 64 << 10

// sortOf says what a document is by its name and its fields.
func sortOf(doc *document) sort {
	base := filepath.Base(doc.path)
	var n yaml.Node
	fields := map[string]bool{}
	all := doc.text.String()
	if len(all) <= decode.MaxBytes && yaml.Unmarshal([]byte(all), &n) == nil &&
		len(n.Content) == 1 {
		for i := 0; i+1 < len(n.Content[0].Content) && n.Content[0].Kind == yaml.MappingNode; i += 2 {
			fields[n.Content[0].Content[i].Value] = true
		}
	} else {
		head := all[:min(len(all), maxHead)]
		for _, m := range begins.FindAllStringSubmatch(head, -1) {
			if m[0][0] != ' ' || strings.HasPrefix(strings.TrimSpace(head), "{") {
				fields[m[1]] = true
			}
		}
	}
	switch {
	case strings.HasSuffix(base, "_test.yaml") || strings.HasSuffix(base, "_test.yml"):
		if fields["graph"] || fields["cases"] {
			return tests
		}
		return foreign
	case fields["graph"] || fields["accumulators"] && fields["reactor"]:
		return declaration
	case fields["accumulators"] || fields["nodes"] || fields["outputs"]:
		return part
	}
	return foreign
}
