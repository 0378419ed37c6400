package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/spec/decode"
	"go.yaml.in/yaml/v3"
)

// Mistake is something wrong in a test document.
type Mistake struct {
	File         string
	Line, Column int
	Path         string // such as cases.0.steps.1.push; "" for the document as a whole
	Text         string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

// Whole is a mistake of a document as a whole.
func Whole(file, text string) *Mistake { return &Mistake{File: file, Line: 1, Column: 1, Text: text} }

// Mistakes are those of an error of [Parse], one at least.
func Mistakes(err error) (found []*Mistake) {
	if many, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		for _, one := range many.Unwrap() {
			found = append(found, Mistakes(one)...)
		}
		return found
	}
	if m, ok := errors.AsType[*Mistake](err); ok {
		return []*Mistake{m}
	}
	return []*Mistake{Whole("", err.Error())}
}

// So many mistakes are told, each with so many bytes.
const maxMistakes, maxText = 1000, 500

func (p *parser) bad(n *yaml.Node, format string, args ...any) {
	if len(p.mistakes) >= maxMistakes {
		return
	}
	p.mistakes = append(p.mistakes, &Mistake{File: p.file, Line: n.Line, Column: n.Column,
		Text: decode.Shorten(fmt.Sprintf(format, args...), maxText)})
	p.about = append(p.about, n)
}

// place has the mistakes name the paths of what they are about.
func (p *parser) place(root *yaml.Node) {
	of := map[*yaml.Node][]*Mistake{}
	for i, n := range p.about {
		if m, ok := errors.AsType[*Mistake](p.mistakes[i]); ok {
			of[n] = append(of[n], m)
		}
	}
	if len(of) > 0 {
		trace(root, nil, of)
	}
}

// trace walks what is below a node, to which path leads.
func trace(n *yaml.Node, path []string, of map[*yaml.Node][]*Mistake) {
	for _, m := range of[n] {
		m.Path = decode.Shorten(strings.Join(path, "."), maxText)
	}
	for i, inner := range n.Content {
		step := strconv.Itoa(i)
		if n.Kind == yaml.MappingNode {
			step = n.Content[i&^1].Value // a key stands for its value
		}
		trace(inner, append(path, step), of)
	}
}

// unreadable is that a document is no YAML, at the line that the decoder tells of.
func unreadable(file string, err error) error {
	m := Whole(file, strings.TrimPrefix(err.Error(), "yaml: "))
	if at, text, ok := strings.Cut(m.Text, ": "); ok {
		if n, err := fmt.Sscanf(at, "line %d", &m.Line); err == nil && n == 1 {
			m.Text = text
		}
	}
	return m
}
