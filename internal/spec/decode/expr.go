package decode

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// Expr is an expression as the user wrote it. The zero Expr means "not given".
type Expr struct {
	// Text is the expression's source. A YAML boolean or number is its literal text.
	Text string
	Pos  Pos

	origin *origin // how Text stands in the document, for At; nil when it was not parsed from one
}

// IsZero reports whether no expression was given.
func (e Expr) IsZero() bool { return e.Text == "" }

// Named is a named expression; the order of several is the document's order.
type Named struct {
	Name string
	Expr Expr
}

// Expr reads an expression. A mistake leaves the zero Expr.
func (d *Decoder) Expr(v Value) Expr {
	n := v.node
	if why := d.notAnExpression(n); why != "" {
		at := n
		bare := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == ""
		if bare && v.key != nil && d.doc.Unreadable(n) == "" {
			at = v.key // nothing stands there that could be pointed at
		}
		advice, meant := "put the expression in single quotes", ""
		switch {
		case why == readsNothing && n.Value != "":
			advice, meant = "in expressions null is written nil", "nil"
		case why == readsNothing:
			advice = "write one, in single quotes if it is there"
		case len(n.Content) == 0 && n.Kind == yaml.SequenceNode:
			meant = "'[]'"
		case len(n.Content) == 0 && n.Kind == yaml.MappingNode:
			meant = "'{}'"
		}
		d.Report(Place{at, v.at}, CodeQuoteExpression, meant, "%s where an expression is expected; %s", why, advice)
		d.doc.Settle(n)
		return Expr{}
	}
	text := strings.TrimRight(n.Value, " \t\r\n")
	switch {
	case text == "":
		d.Report(Place{n, v.at}, CodeEmptyValue, "", "the expression is empty; write one or remove the field")
		return Expr{}
	case strings.Contains(text, "${"):
		d.Report(Place{n, v.at}, CodeNotAllowed, "",
			"an expression cannot hold ${…}; set a constant under vars from it and use vars.NAME")
		return Expr{}
	}
	if text = d.literal(v, text); text == "" {
		return Expr{}
	}
	from := &origin{src: d.doc.Source, style: n.Style}
	if document.Copied(n) {
		from.src = nil
	}
	return Expr{Text: text, Pos: v.Here().Pos(), origin: from}
}

// maxKeyParts bounds a composite key: each part is evaluated for every event.
const maxKeyParts = 8

const (
	readsNothing = "YAML reads nothing"
	readsMapping = "YAML reads a mapping"
)

// notAnExpression says what YAML made of an expression that needed quotes, "" when
// it left it alone.
func (d *Decoder) notAnExpression(n *yaml.Node) string {
	switch {
	case d.doc.Unreadable(n) != "":
		return "YAML cannot read what stands"
	case n.Anchor != "" && n.Tag == "!!null" && n.Value == "":
		return "YAML reads the & as an anchor"
	case d.doc.Tagged(n):
		return "YAML reads the ! as a tag"
	case n.Kind == yaml.MappingNode:
		return readsMapping
	case n.Kind == yaml.SequenceNode:
		return "YAML reads a list"
	case n.Tag == "!!null":
		return readsNothing
	}
	return ""
}

// Expressions reads a mapping from names to expressions, in the order of the
// document. what says what is named; when it is "", any text is a name.
func (d *Decoder) Expressions(v Value, what string) []Named {
	var list []Named
	for _, p := range d.Pairs(v, false) {
		if what != "" {
			d.CheckName(p.Name(), p.key.Value, what)
		}
		switch {
		case p.key.Value == "" && what == "":
			d.Report(p.Name(), CodeEmptyValue, "", "a field needs a name; write one before the colon")
		case p.split:
			d.reportSplit(p)
			list = append(list, Named{Name: p.key.Value})
		default:
			list = append(list, Named{Name: p.key.Value, Expr: d.Expr(p.Value)})
		}
	}
	return list
}

// ExpressionsInOrder reads names with expressions whose order means something: a mapping, or a
// list with an item for each, which stays in order in hands that sort the keys of mappings.
func (d *Decoder) ExpressionsInOrder(v Value, what string) []Named {
	if v.node.Kind != yaml.SequenceNode {
		return d.Expressions(v, what)
	}
	var list []Named
	for _, item := range v.Items() {
		if !d.Mapping(item, "a "+what+" with its expression") {
			continue
		}
		one := d.Expressions(item, what)
		if len(item.Entries()) != 1 && len(one) != 1 {
			d.Report(item.Here(), CodeWrongType, "",
				"an item of the list is one %s with its expression, this one has %d; give each an item of its own",
				what, len(item.Entries()))
		}
		for _, e := range one {
			if slices.ContainsFunc(list, func(other Named) bool { return other.Name == e.Name }) {
				d.Report(item.Here(), CodeDuplicateEntry, "", "%s is listed twice; remove one", document.Quote(e.Name))
				continue
			}
			list = append(list, e)
		}
	}
	return list
}

// Exprs reads the expressions that make a key: one, or a list of them.
func (d *Decoder) Exprs(v Value) []Expr {
	if v.node.Kind != yaml.SequenceNode || d.doc.Unreadable(v.node) != "" {
		return []Expr{d.Expr(v)}
	}
	list := make([]Expr, 0, len(v.node.Content))
	switch n := len(v.node.Content); {
	case n == 0:
		d.Report(v.Here(), CodeEmptyValue, "",
			"expected an expression or a list of them, found an empty list; name at least one, or remove it")
	case n > maxKeyParts:
		d.Report(v.Here(), CodeTooMany, "",
			"the key has %d parts, more than the %d allowed; shorten it", n, maxKeyParts)
	default:
		for _, item := range v.Items() {
			list = append(list, d.Expr(item))
		}
	}
	return list
}

// ReadsMapping reports whether v is a mapping, and not an expression that needed quotes.
func (d *Decoder) ReadsMapping(v Value) bool { return d.notAnExpression(v.node) == readsMapping }

// literal turns YAML's booleans and numbers into those of expressions.
func (d *Decoder) literal(v Value, text string) string {
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
	src   *document.Source // nil of what an alias stands for: all of it is at the alias
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
	case e.origin != nil && e.origin.src == nil:
		return e.Pos.Line, e.Pos.Column
	case e.origin == nil:
		offset = min(max(offset, 0), len(e.Text))
		return e.Pos.Line, e.Pos.Column + utf8.RuneCountInString(e.Text[:offset])
	}
	n := yaml.Node{Line: e.Pos.Line, Column: e.Pos.Column, Style: e.origin.style}
	return e.origin.src.Within(&n, e.Text, offset)
}
