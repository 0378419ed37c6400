// Package document reads the text of one declaration, YAML or JSON, into a tree of
// nodes that is safe to walk, and knows where everything stands in the text.
//
// Start with [Load]. What it adds to the YAML library: bounds on size and depth,
// places for syntax errors that are right, and going on after the commonest of
// them (see repair.go), so that one unquoted expression does not hide every other
// mistake.
package document

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The codes of the problems that [Load] finds.
const (
	CodeSyntax      = "yaml_syntax"
	CodeInvalidUTF8 = "invalid_utf8"
	CodeEmpty       = "empty_document"
	CodeSeveral     = "several_documents"
	CodeTooLarge    = "too_large"
	CodeTooDeep     = "too_deep"
)

// Problem is something wrong with the text as a whole.
type Problem struct {
	Line, Column int
	Code, Text   string
}

// Document is the content of one document.
type Document struct {
	Root     *yaml.Node
	Source   *Source
	Head     string // the comment above everything
	repairs  []repair
	bareTags []place
	aliases  Anchors
}

// Load reads the one document that data must hold, of at most maxBytes bytes and
// nested at most maxDepth levels deep. The document is nil when nothing can be made
// of data; there is a problem then.
func Load(data []byte, maxBytes, maxDepth int) (*Document, []Problem) {
	if len(data) > maxBytes {
		return fail(1, 1, CodeTooLarge,
			"the declaration has %d bytes, more than the %d allowed; split it into several graphs", len(data), maxBytes)
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	d := &Document{Source: newSource(text)}
	d.bareTags = d.Source.bareTags()
	if at := invalidUTF8(text); at < len(text) {
		line, column := d.Source.Place(at)
		return fail(line, column, CodeInvalidUTF8, "the declaration is not valid UTF-8 from here on; save it as UTF-8")
	}
	problems := d.read()
	if d.Root == nil {
		return nil, problems
	}
	if n := tooDeep(d.Root, maxDepth); n != nil {
		return fail(n.Line, n.Column, CodeTooDeep, "the declaration is nested deeper than %d levels; flatten it",
			maxDepth)
	}
	if found := d.unfold(); len(found) > 0 {
		return nil, append(problems, found...)
	}
	if n := tooDeep(d.Root, maxDepth); n != nil {
		return fail(n.Line, n.Column, CodeTooDeep, "with what its aliases stand for, the declaration is nested deeper "+
			"than %d levels; flatten it", maxDepth)
	}
	return d, problems
}

func fail(line, column int, code, format string, args ...any) (*Document, []Problem) {
	return nil, []Problem{{Line: line, Column: column, Code: code, Text: fmt.Sprintf(format, args...)}}
}

// invalidUTF8 is the offset of the first byte that is not valid UTF-8.
func invalidUTF8(text string) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return at
}

// tooDeep finds the first node below the depth allowed. It follows no alias.
func tooDeep(n *yaml.Node, depth int) *yaml.Node {
	if depth == 0 {
		return n
	}
	for _, c := range n.Content {
		if deep := tooDeep(c, depth-1); deep != nil {
			return deep
		}
	}
	return nil
}

// read reads the text, repairing it as often as that helps.
func (d *Document) read() []Problem {
	r := decode(strings.NewReader(d.Source.text))
	if r.err != nil && !errors.Is(r.err, io.EOF) {
		p := repairer{text: d.Source.text, budget: repairBudget}
		r = p.run()
		d.repairs = p.done
		if r.err != nil {
			problems, last := d.Unsettled(), syntaxProblem(newSource(p.text), r)
			if n := len(problems); n > 0 && problems[n-1].Line == last.Line {
				return problems // one mistake, seen twice
			}
			return append(problems, last)
		}
	}
	switch {
	case errors.Is(r.err, io.EOF):
		return []Problem{
			{
				Line: 1, Column: 1, Code: CodeEmpty,
				Text: "the declaration is empty; it needs at least graph and accumulators",
			},
		}
	case r.second != nil:
		d.Root, d.Head = r.root, r.head
		return []Problem{
			{
				Line: r.second.Line, Column: r.second.Column, Code: CodeSeveral,
				Text: "a second document starts here; write one declaration per file",
			},
		}
	}
	d.Root, d.Head = r.root, r.head
	return nil
}

// Whole reports whether YAML could read all of the text.
func (d *Document) Whole() bool { return len(d.repairs) == 0 }

// reading is what came of reading a text.
type reading struct {
	root, second *yaml.Node // second when there is a second document
	head         string
	err          error // io.EOF when there is none at all
	at           int   // how many bytes the reader took, if it was asked for that
}

// decode reads one document and looks whether a second follows.
func decode(text io.Reader) (r reading) {
	// The library has a few panics of its own for what it believes impossible; a
	// declaration comes from outside and must not bring the process down.
	defer func() {
		if p := recover(); p != nil {
			r = reading{err: fmt.Errorf("yaml: %v", p)}
		}
	}()
	dec := yaml.NewDecoder(text)
	var first, next yaml.Node
	if err := dec.Decode(&first); err != nil {
		return reading{err: err}
	}
	r.root, r.head = first.Content[0], first.HeadComment
	if r.root.Kind == yaml.ScalarNode && r.root.Tag == "!!null" && r.root.Value == "" {
		return reading{err: io.EOF}
	}
	switch err := dec.Decode(&next); {
	case err == nil:
		r.second = &next
	case !errors.Is(err, io.EOF):
		return reading{err: err}
	}
	return r
}

// trickle hands out a text byte by byte, so that how much was taken tells where
// the reader gave up. The library's own line numbers often name where the
// surrounding block began instead.
type trickle struct {
	text string
	n    int
}

func (t *trickle) Read(p []byte) (int, error) {
	if t.n == len(t.text) {
		return 0, io.EOF
	}
	n := copy(p[:1], t.text[t.n:])
	t.n += n
	return n, nil
}

// decodeAt reads a text and tells how much of it the reader took.
func decodeAt(text string) reading {
	t := &trickle{text: text}
	r := decode(t)
	r.at = t.n
	return r
}

// What the library's errors say that need words of our own.
const (
	controlCharacters = "control characters"
	unicodeEscape     = "Unicode character escape"
)

var errorText = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxProblem says that the text is no YAML, as near to the place as can be told.
func syntaxProblem(src *Source, r reading) Problem {
	message, said := strings.SplitN(r.err.Error(), "\n", 2)[0], 0
	if m := errorText.FindStringSubmatch(message); m != nil {
		said, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	seen := r.at
	for seen > 0 && isSpace(src.text[seen-1]) {
		seen--
	}
	line, column := src.Place(max(seen-1, 0))
	if strings.Contains(message, controlCharacters) {
		return Problem{
			Line: line, Column: column, Code: CodeSyntax,
			Text: "the declaration holds a control character here; remove it",
		}
	}
	// The scanner's own line is right. The parser's is the one above the block that
	// it was in, where what it missed may have been opened.
	parser := strings.HasPrefix(message, "did not find")
	if !parser && said > 0 && said <= len(src.starts) {
		line = said
	}
	text, _ := src.line(line)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	column = indent + 1
	advice := "check indentation, brackets and quotes here and just above"
	switch {
	case strings.Contains(text[:indent], "\t"):
		advice = "indent with spaces, not tabs"
		column = strings.IndexByte(text, '\t') + 1
	case strings.Contains(message, "mapping values are not allowed"):
		advice = `quote the text if it holds ": ", else check the indentation`
	case strings.Contains(message, "unexpected end of stream"):
		advice = "close the quote that is opened here"
		if values := lineValues(text[:min(len(text), maxLine)], 0, min(len(text), maxLine), 0); len(values) > 0 {
			column = utf8.RuneCountInString(text[:values[0].from]) + 1
		}
	case strings.Contains(message, unicodeEscape):
		advice = "write the character itself instead of the escape"
	case parser && strings.Contains(message, "',' or") && said > 0 && said+1 < line:
		advice = fmt.Sprintf("close the bracket that is opened on line %d", said+1)
	}
	return Problem{Line: line, Column: column, Code: CodeSyntax, Text: "this is not YAML: " + message + "; " + advice}
}

// Tagged reports whether a node has an explicit tag. The library forgets the tag !
// of a scalar, so that ! x would silently be x.
func (d *Document) Tagged(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle != 0 || n.Kind != yaml.ScalarNode {
		return n.Style&yaml.TaggedStyle != 0
	}
	_, ok := slices.BinarySearchFunc(d.bareTags, place{n.Line, n.Column}, place.compare)
	return ok
}

// Unreadable is why YAML could not read the value at n, so that n is not what the
// user wrote; "" when it could.
func (d *Document) Unreadable(n *yaml.Node) string {
	if r := d.repaired(n); r != nil {
		return r.text
	}
	return ""
}

func (d *Document) repaired(n *yaml.Node) *repair {
	for i := range d.repairs {
		if r := &d.repairs[i]; r.line == n.Line && r.column == n.Column {
			return r
		}
	}
	return nil
}

// Settle notes that what is unreadable within n has been reported.
func (d *Document) Settle(n *yaml.Node) {
	if len(d.repairs) == 0 {
		return
	}
	if r := d.repaired(n); r != nil {
		r.settled = true
	}
	for _, c := range n.Content {
		d.Settle(c)
	}
}

// Unsettled is a problem for each unreadable value that was not settled.
func (d *Document) Unsettled() []Problem {
	var problems []Problem
	for _, r := range d.repairs {
		if !r.settled {
			problems = append(problems, Problem{Line: r.line, Column: r.column, Code: CodeSyntax, Text: r.text})
		}
	}
	return problems
}
