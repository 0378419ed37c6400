package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// contents are the pages of the documentation in the order in which they are listed, by group.
var contents = [...]struct {
	title string
	pages []string
}{
	{"Begin", []string{"getting-started", "concepts", "recipes", "page", "editor", "agents"}},
	{"Declare", []string{"declaration", "kinds", "expressions", "keys", "windows", "joins", "loops", "lanes", "scale",
		"wasm"}},
	{"Understand", []string{"why", "diagnostics", "codes", "guarantees", "model"}},
	{"Connect", []string{"clients", "websocket", "embedding", "sql"}},
	{"Run", []string{"operations", "configuration", "members", "access", "tokens", "tls", "audit", "traces",
		"performance",
		"kubernetes", "upgrade", "runbook"}},
}

// manual are the pages of the documentation, each rendered when it is first asked for.
type manual struct {
	from  fs.FS
	files map[string]*file
}

// searched is the name of what the search in the browser looks through.
const searched = "search.json"

// newManual serves the pages of a folder, by their names without .md, the first of them as "".
func newManual(from fs.FS) *manual {
	m := &manual{from: from, files: map[string]*file{}}
	for _, group := range contents {
		for _, name := range group.pages {
			m.files[name] = &file{kind: kinds[".html"], read: func() ([]byte, error) { return m.page(name) }}
		}
	}
	m.files[""] = m.files[contents[0].pages[0]]
	m.files[searched] = &file{kind: "application/json", read: m.index}
	return m
}

// Manual answers with a page of the documentation, or what its search looks through; false says that there is none of
// that name, and nothing is answered.
func (s *Site) Manual(w http.ResponseWriter, r *http.Request, name string) bool {
	f := s.manual.files[name]
	if f == nil {
		return false
	}
	f.serve(w, r)
	return true
}

// source is a page as it is written, and its title.
func (m *manual) source(name string) (title string, source []byte, err error) {
	source, err = fs.ReadFile(m.from, name+".md")
	first, _, _ := bytes.Cut(source, []byte("\n"))
	return string(bytes.TrimPrefix(first, []byte("# "))), source, err
}

// frame is what stands around a page.
const frame = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s · graphd</title><link rel="icon" href="/page/icon.svg"><link rel="stylesheet" href="/page/app.css">
<link rel="stylesheet" href="/page/docs.css"><script type="module" src="/page/docs.js"></script></head><body>
<a class="skip" href="#_content">To the page</a>
<header class="top"><a class="brand" href="/"><img src="/page/icon.svg" alt="" width="24" height="24"> graphd</a>
<div class="crumbs"><span>Documentation</span></div></header>
<div class="manual"><nav aria-label="Documentation"><search><input id="_find" type="search" placeholder="Search"
aria-label="Search the documentation" autocomplete="off" spellcheck="false"></search><ol id="_found" hidden></ol>
<p id="_count" class="dim" role="status"></p>
<div id="_contents">%s</div></nav><main id="_content" tabindex="-1">%s</main></div></body></html>
`

// page renders a page.
func (m *manual) page(name string) ([]byte, error) {
	title, source, err := m.source(name)
	if err != nil {
		return nil, err
	}
	var list, body bytes.Buffer
	for _, group := range contents {
		fmt.Fprintf(&list, "<h2>%s</h2><ul>", group.title)
		for _, other := range group.pages {
			of, _, err := m.source(other)
			if err != nil {
				return nil, err
			}
			here := ""
			if other == name {
				here = ` aria-current="page"`
			}
			fmt.Fprintf(&list, `<li><a href="/docs/%s"%s>%s</a></li>`, other, here, html.EscapeString(of))
		}
		list.WriteString("</ul>")
	}
	md, parsed := m.parse(source)
	if err := md.Renderer().Render(&body, source, parsed); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	// A column without a heading has none: an empty one would be read out as one.
	shown := strings.ReplaceAll(body.String(), "<th></th>", "<td></td>")
	return fmt.Appendf(nil, frame, html.EscapeString(title), list.String(), shown), nil
}

// parse reads a page, and has its links lead to what is served.
func (m *manual) parse(source []byte) (goldmark.Markdown, ast.Node) {
	md := goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Strikethrough,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	names := ids{}
	parsed := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(names))))
	_ = ast.Walk(parsed, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // which gives no error of its own
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(m.link(string(n.Destination)))
		case *extast.TableRow:
			if code := codeOf(n, source); code != "" && !names[code] {
				names[code] = true
				n.SetAttributeString("id", []byte(code))
			}
		}
		return ast.WalkContinue, nil
	})
	return md, parsed
}

// link is where a link of a page leads in the browser. What is not served is looked for where the sources are.
func (m *manual) link(to string) string {
	if to == "" || to[0] == '#' || strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to
	}
	at, anchor, marked := strings.Cut(to, "#")
	name, page := strings.CutSuffix(at, ".md")
	switch {
	case page && m.files[name] != nil:
		to = "/docs/" + name
	case at == "../api/openapi.yaml":
		return "/openapi.yaml"
	default:
		to = "https://github.com/graphd/graphd/blob/main/" + path.Join("docs", at)
	}
	if marked {
		to += "#" + anchor
	}
	return to
}

// code is what a row of a table can be linked by: a code, or the name of a setting.
var code = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// codeOf is the code that a row begins with, "" where it begins with something else.
func codeOf(row ast.Node, source []byte) string {
	cell := row.FirstChild()
	if cell == nil {
		return ""
	}
	if span, ok := cell.FirstChild().(*ast.CodeSpan); ok {
		if word := string(span.Text(source)); code.MatchString(word) { //nolint:staticcheck // it is one line
			return word
		}
	}
	return ""
}

// ids are those of headings, as links in the sources have them.
type ids map[string]bool

var notInID = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)

// Generate implements parser.IDs.
func (i ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(value))), ""), " ", "-")
	for n, plain := 1, id; i[id]; n++ {
		id = fmt.Sprintf("%s-%d", plain, n)
	}
	i[id] = true
	return []byte(id)
}

// Put implements parser.IDs.
func (i ids) Put(value []byte) { i[string(value)] = true }

// section is what stands under a heading, for the search.
type section struct {
	Page    string `json:"page"`
	Title   string `json:"title"`
	Heading string `json:"heading"`
	ID      string `json:"id"`
	Text    string `json:"text"`
}

// index is what the search looks through: all sections of all pages.
func (m *manual) index() ([]byte, error) {
	var all []section
	for _, group := range contents {
		for _, name := range group.pages {
			title, source, err := m.source(name)
			if err != nil {
				return nil, err
			}
			_, parsed := m.parse(source)
			all = append(all, sections(name, title, source, parsed)...)
		}
	}
	return json.Marshal(all)
}

// sections are those of a page.
func sections(name, title string, source []byte, parsed ast.Node) (all []section) {
	at := section{Page: name, Title: title, Heading: title}
	var words []string
	end := func() {
		at.Text = strings.Join(strings.Fields(strings.Join(words, " ")), " ")
		if at.Text != "" || at.ID != "" {
			all = append(all, at)
		}
		words = nil
	}
	for n := parsed.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			end()
			id, _ := h.AttributeString("id")
			raw, _ := id.([]byte)
			at = section{Page: name, Title: title, Heading: said(h, source), ID: string(raw)}
			continue
		}
		words = append(words, said(n, source))
	}
	end()
	return slices.Clip(all)
}

// said is the text of a node.
func said(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // which gives no error of its own
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
