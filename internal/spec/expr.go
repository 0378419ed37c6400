package spec

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// expr reads an expression. A mistake leaves the zero Expr.
func (d *decoder) expr(v value) Expr {
	n := v.node
	if why := d.notAnExpression(n); why != "" {
		at := n
		if n.Kind == yaml.ScalarNode && n.Value == "" && v.key != nil && d.doc.Unreadable(n) == "" && n.Style == 0 && n.Anchor == "" {
			at = v.key // nothing stands there that could be pointed at
		}
		advice := "put the expression in single quotes"
		if why == readsNothing {
			advice = "write one, in single quotes if it is there"
		}
		d.report(at, v.at, CodeQuoteExpression, "", "%s where an expression is expected; %s", why, advice)
		d.doc.Settle(n)
		return Expr{}
	}
	text := strings.TrimRight(n.Value, " \t\r\n")
	switch {
	case text == "":
		d.report(n, v.at, CodeEmptyValue, "", "the expression is empty; write one or remove the field")
		return Expr{}
	case strings.Contains(text, "${"):
		d.report(n, v.at, CodeNotAllowed, "", "an expression cannot hold ${…}; set a constant under vars from it and use vars.NAME")
		return Expr{}
	}
	if text = d.literal(v, text); text == "" {
		return Expr{}
	}
	return Expr{Text: text, Pos: d.pos(n, v.at), origin: &origin{src: d.doc.Source, style: n.Style}}
}

const readsNothing = "YAML reads nothing"

// notAnExpression says what YAML made of an expression that needed quotes, "" when
// it left it alone.
func (d *decoder) notAnExpression(n *yaml.Node) string {
	switch {
	case d.doc.Unreadable(n) != "":
		return "YAML cannot read what stands"
	case n.Kind == yaml.AliasNode:
		return "YAML reads the * as an alias"
	case n.Anchor != "":
		return "YAML reads the & as an anchor"
	case d.doc.Tagged(n):
		return "YAML reads the ! as a tag"
	case n.Kind == yaml.MappingNode:
		return "YAML reads a mapping"
	case n.Kind == yaml.SequenceNode:
		return "YAML reads a list"
	case n.Tag == "!!merge":
		return "YAML reads a merge key"
	case n.Tag == "!!null":
		return readsNothing
	}
	return ""
}

// literal turns YAML's booleans and numbers into those of expressions.
func (d *decoder) literal(v value, text string) string {
	switch v.node.Tag {
	case "!!bool":
		return strings.ToLower(text)
	case "!!int", "!!float":
		x, _ := d.constant(v, text, v.node.Tag)
		switch x := x.(type) {
		case int64:
			return strconv.FormatInt(x, 10)
		case float64:
			text = strconv.FormatFloat(x, 'g', -1, 64)
			if !strings.ContainsAny(text, ".e") {
				text += ".0" // 1. is a float in YAML and stays one
			}
			return text
		}
		return ""
	}
	return text
}

// origin is how the text of an expression stands in its document.
type origin struct {
	src   *document.Source
	style yaml.Style
}

// At is the line and column in the document of a byte offset into e.Text, for
// diagnostics about a part of the expression. It sees through quotes, escapes,
// folded lines and the indentation of blocks. Both are 0 when the place of the
// expression is unknown.
func (e Expr) At(offset int) (line, column int) {
	switch {
	case e.Pos.Line == 0:
		return 0, 0
	case e.origin == nil:
		offset = min(max(offset, 0), len(e.Text))
		return e.Pos.Line, e.Pos.Column + utf8.RuneCountInString(e.Text[:offset])
	}
	n := yaml.Node{Line: e.Pos.Line, Column: e.Pos.Column, Style: e.origin.style}
	return e.origin.src.Within(&n, e.Text, offset)
}
