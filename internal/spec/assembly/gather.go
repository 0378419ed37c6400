package assembly

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/document"
)

// The bounds of includes. They are far above what anybody keeps in his head, and keep what a slip can cost near what
// one declaration costs.
const (
	maxFiles = 64
	maxNests = 8 // files that include each other in a row
)

// sections are what an included file may bring, in the order in which they are written where the declaration itself has
// none of them. What of these this version has not built, the decoder says.
var sections = []string{"vars", "accumulators", "lanes", "loops", "nodes", "outputs"}

// entry is one name of a section.
type entry struct {
	key, value *yaml.Node
	from       *source
}

// gatherer collects what the included files bring.
type gatherer struct {
	o      Options
	whole  *Document
	bytes  int
	row    []*source              // those that are being read, each included by the one before
	got    map[string][]entry     // by section, in the order of the files
	owners map[*yaml.Node]*source // of what comes from an included file
	found  decode.Diagnostics
}

func (g *gatherer) report(in *source, n *yaml.Node, code, format string, args ...any) {
	g.found = append(g.found, decode.Diagnostic{
		File: in.name, Line: max(n.Line, 1), Column: max(n.Column, 1), Code: code, Text: fmt.Sprintf(format, args...),
	})
}

// take takes a field out of a mapping.
func (g *gatherer) take(mapping *yaml.Node, name string) (value *yaml.Node, ok bool) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name && g.o.Read != nil {
			value = mapping.Content[i+1]
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return value, true
		}
	}
	return nil, false
}

// gather reads the files that a list in one of them names, and what these include in turn.
func (g *gatherer) gather(from *source, list *yaml.Node) {
	items := []*yaml.Node{list}
	if list.Kind == yaml.SequenceNode {
		items = list.Content
	}
	if g.row = append(g.row, from); len(items) == 0 {
		g.report(from, list, decode.CodeEmptyValue, "the list of files to include is empty; name one, or remove it")
	}
	var named []string
	for _, item := range items {
		path, ok := g.path(from, item)
		switch {
		case !ok:
		case slices.Contains(named, path):
			g.report(from, item, decode.CodeDuplicateEntry, "%s is included twice; remove one", shown(item))
		default:
			named = append(named, path)
			g.file(from, item, path)
		}
	}
	g.row = g.row[:len(g.row)-1]
}

// path is the path of an included file.
func (g *gatherer) path(from *source, item *yaml.Node) (path string, ok bool) {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch text := item.Value; {
	case item.Kind != yaml.ScalarNode || item.Tag == "!!null" || text == "":
		g.report(from, item, decode.CodeWrongType, "expected the path of a file, found %s", document.Describe(item))
	case strings.Contains(text, "${"):
		g.report(from, item, decode.CodeNotAllowed, "the path of an included file cannot hold ${…}: what is applied "+
			"must not hang on who reads it; write it out")
	case strings.ContainsFunc(text, control):
		g.report(from, item, decode.CodeBadValue, "%s holds a line end or another control character", shown(item))
	case filepath.IsAbs(text):
		g.report(from, item, decode.CodeBadInclude, "%s is an absolute path; write it from the folder of the file "+
			"that it stands in", shown(item))
	default:
		return filepath.Join(filepath.Dir(from.path), filepath.FromSlash(text)), true
	}
	return "", false
}

// file reads one included file.
func (g *gatherer) file(from *source, item *yaml.Node, path string) {
	same := func(s *source) bool { return s.path == path }
	switch at := slices.IndexFunc(g.row, same); {
	case at >= 0:
		var way []string
		for _, s := range g.row[at:] {
			way = append(way, s.name)
		}
		g.report(from, item, decode.CodeBadInclude, "the files include each other in a cycle: %s → %s; take one of "+
			"the includes out", strings.Join(way, " → "), way[0])
		return
	case slices.ContainsFunc(g.whole.sources, same):
		return // what two files share is there once
	case len(g.row) > maxNests:
		g.report(from, item, decode.CodeBadInclude, "this is the %dth file in a row that is included by the one "+
			"before it, more than the %d allowed; include it further up", len(g.row), maxNests)
		return
	case len(g.whole.Files) == maxFiles:
		g.report(from, item, decode.CodeBadInclude, "the declaration includes more than the %d files allowed; put "+
			"some of them together", maxFiles)
		return
	}
	g.whole.Files = append(g.whole.Files, path)
	data, err := g.o.Read(path)
	if err != nil {
		g.unread(from, item, path, err)
		return
	}
	if g.bytes += len(data); g.bytes > decode.MaxBytes {
		g.report(from, item, decode.CodeTooLarge, "up to here the included files have %d bytes, more than the %d "+
			"allowed; split the graph", g.bytes, decode.MaxBytes)
		return
	}
	s := &source{name: path, path: path}
	g.whole.sources = append(g.whole.sources, s)
	if s.doc = g.load(s, data); s.doc == nil {
		return
	}
	before := g.count()
	if list, ok := g.take(s.doc.Root, "include"); ok {
		g.gather(s, list)
	}
	g.entries(s)
	if g.count() == before && len(g.found) == 0 {
		g.whole.Remarks = append(g.whole.Remarks, decode.Diagnostic{
			File: from.name, Line: item.Line, Column: item.Column, Path: "include", Code: CodeIdleInclude,
			Text: fmt.Sprintf("%s brings nothing; leave it out, or write into it what is shared", shown(item)),
		})
	}
}

// CodeIdleInclude is the code of an include that brings nothing.
const CodeIdleInclude = "idle_include"

// unread says that a file cannot be read.
func (g *gatherer) unread(from *source, item *yaml.Node, path string, err error) {
	if denied, ok := errors.AsType[interface {
		error
		Denied() string
	}](err); ok {
		g.report(from, item, decode.CodeDenied, "%s", denied.Denied())
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		g.report(from, item, decode.CodeBadInclude, "there is no file %s; paths begin in the folder of the file that "+
			"they stand in", decode.Quote(path))
		return
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next // what wraps it repeats the path
	}
	g.report(from, item, decode.CodeBadInclude, "%s cannot be read: %v", decode.Quote(path), err)
}

// load reads the text of an included file; nil where nothing can be made of it, which has been said.
func (g *gatherer) load(s *source, data []byte) *document.Document {
	doc, problems := document.Load(data, decode.MaxBytes, decode.MaxDepth)
	if doc != nil {
		problems = append(problems, doc.Unsettled()...)
	}
	for _, p := range problems {
		if p.Code == document.CodeEmpty {
			p.Text = "nothing stands in this file; " + brings
		}
		g.report(s, &yaml.Node{Line: p.Line, Column: p.Column}, p.Code, "%s", p.Text)
	}
	switch {
	case doc == nil || len(problems) > 0:
		return nil
	case doc.Root.Kind != yaml.MappingNode:
		g.report(s, doc.Root, decode.CodeWrongType, "expected a mapping, found %s; %s", document.Describe(doc.Root),
			brings)
		return nil
	}
	return doc
}

var brings = "an included file has " + strings.Join(sections, ", ") + " or include"

// entries takes what an included file brings.
func (g *gatherer) entries(s *source) {
	content := s.doc.Root.Content
	given := map[string]int{}
	for i := 0; i+1 < len(content); i += 2 {
		key, value := content[i], content[i+1]
		line, twice := given[key.Value]
		given[key.Value] = key.Line
		switch {
		case twice:
			g.report(s, key, decode.CodeDuplicateKey, "%s is given twice, first on line %d; remove one",
				decode.Quote(key.Value), line)
		case !slices.Contains(sections, key.Value):
			g.report(s, key, decode.CodeUnknownField, "%s has no place here: %s; write it into the declaration itself",
				decode.Quote(key.Value), brings)
		case value.Kind != yaml.MappingNode:
			g.report(s, value, decode.CodeWrongType, "expected a mapping from names to %s, or {} for none, found %s",
				key.Value, document.Describe(value))
		default:
			g.add(s, key.Value, value)
		}
	}
}

func (g *gatherer) add(s *source, section string, mapping *yaml.Node) {
	if g.got == nil {
		g.got = map[string][]entry{}
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		g.owners[key], g.owners[value] = s, s
		g.got[section] = append(g.got[section], entry{key, value, s})
	}
}

func (g *gatherer) count() (n int) {
	for _, list := range g.got {
		n += len(list)
	}
	return n
}

func shown(item *yaml.Node) string { return decode.Quote(item.Value) }
