package spec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/suggest"
)

// value is a node of the document together with the key it stands under (nil for
// the document itself and for items of a list) and its path.
type value struct {
	node, key *yaml.Node
	at        *trail
}

// anchor is where something about the value as a whole is reported: its key.
func (v value) anchor() *yaml.Node {
	if v.key != nil {
		return v.key
	}
	return v.node
}

// trail is a path, linked upwards; it becomes text only when something is
// reported, since most never is.
type trail struct {
	up   *trail
	name string
	item int // of a list, when name is ""
}

func (v value) child(key, node *yaml.Node) value {
	return value{node: node, key: key, at: &trail{up: v.at, name: key.Value}}
}

func (v value) item(i int) value {
	return value{node: v.node.Content[i], at: &trail{up: v.at, item: i}}
}

// String is the path as diagnostics show it: "accumulators.orderbook.emit".
func (t *trail) String() string {
	if t == nil {
		return ""
	}
	up := t.up.String()
	switch {
	case t.name == "":
		return up + "[" + strconv.Itoa(t.item) + "]"
	case up == "":
		return document.Shorten(t.name, 64)
	}
	return up + "." + document.Shorten(t.name, 64)
}

func (d *decoder) pos(n *yaml.Node, at *trail) Pos {
	return Pos{Line: n.Line, Column: n.Column, Path: at.String()}
}

// plain rejects the parts of YAML that a declaration does not use: aliases,
// which can make a small document huge, anchors and tags.
func (d *decoder) plain(n *yaml.Node, at *trail) bool {
	switch {
	case d.doc.Unreadable(n) != "":
		d.report(n, at, CodeYAMLSyntax, "", "%s", d.doc.Unreadable(n))
		d.doc.Settle(n)
	case n.Kind == yaml.AliasNode:
		d.report(n, at, CodeAliasNotAllowed, "", "aliases are not allowed; write the value out, or quote it if it is a text that starts with *")
	case n.Anchor != "":
		d.report(n, at, CodeAliasNotAllowed, "", "anchors are not allowed; remove it, or quote the value if it is a text that starts with &")
	case n.Tag == "!!merge":
		d.report(n, at, CodeAliasNotAllowed, "", "merge keys are not allowed; write the fields out")
	case d.doc.Tagged(n):
		d.report(n, at, CodeTagNotAllowed, "", "tags are not allowed; remove it, or quote the value if it is a text that starts with !")
	default:
		return true
	}
	return false
}

// mapping reports whether v is a mapping; want says what should be there.
func (d *decoder) mapping(v value, want string) bool { return d.kind(v, yaml.MappingNode, want) }

func (d *decoder) kind(v value, kind yaml.Kind, want string) bool {
	if !d.plain(v.node, v.at) {
		return false
	}
	if v.node.Kind != kind {
		if kind == yaml.MappingNode && v.node.Tag == "!!null" {
			want += ", or {} for none"
		}
		d.wrongType(v, want)
		return false
	}
	return true
}

func (d *decoder) wrongType(v value, want string) {
	n := v.node
	if n.Kind == yaml.ScalarNode && n.Value == "" && n.Tag == "!!null" && v.key != nil {
		n = v.key // an empty value has no place of its own to point at
	}
	d.report(n, v.at, CodeWrongType, "", "expected %s, found %s", want, document.Describe(v.node))
}

// scalar is a scalar of the document with its references resolved.
type scalar struct {
	text      string
	tag       string // YAML's: !!str, !!int, !!bool, …
	reference bool   // it holds a reference: text may be a secret
}

// scalar reads v as a scalar; want says what should be there. A plain scalar gets
// its type after references are resolved. So does a quoted one that holds a
// reference, unless literal is set, since JSON has no other way to write one.
func (d *decoder) scalar(v value, want string, literal bool) (scalar, bool) {
	if !d.plain(v.node, v.at) {
		return scalar{}, false
	}
	if v.node.Kind != yaml.ScalarNode || v.node.Tag == "!!null" {
		d.wrongType(v, want)
		return scalar{}, false
	}
	text, reference, ok := d.expand(v)
	if !ok {
		return scalar{}, false
	}
	s := scalar{text: text, tag: v.node.Tag, reference: reference}
	if reference {
		d.keepField(v.at.String(), v.node.Value)
		if v.node.Style == 0 || !literal {
			s.tag = document.PlainTag(text)
		}
	}
	return s, true
}

// text reads a text that is not empty. A number must be quoted to be one.
func (d *decoder) text(v value, want string) (string, bool) {
	s, ok := d.scalar(v, want, true)
	if !ok {
		return "", false
	}
	if !s.reference && s.tag != "!!str" && s.tag != "!!timestamp" {
		d.report(v.node, v.at, CodeWrongType, "", "expected %s, found %s; put it in quotes if it is meant", want, document.Describe(v.node))
		return "", false
	}
	if s.text == "" {
		d.report(v.node, v.at, CodeEmptyValue, "", "expected %s, found an empty text", want)
		return "", false
	}
	return s.text, true
}

// boolean reads true or false.
func (d *decoder) boolean(v value, into *bool) {
	s, ok := d.scalar(v, "true or false", false)
	if !ok {
		return
	}
	if s.tag != "!!bool" {
		suggest := ""
		switch strings.ToLower(v.node.Value) {
		case "yes", "on", "y", "true":
			suggest = "true"
		case "no", "off", "n", "false":
			suggest = "false"
		}
		d.report(v.node, v.at, CodeWrongType, suggest, "expected true or false, found %s", document.Describe(v.node))
		return
	}
	*into = strings.EqualFold(s.text, "true")
}

// integer reads a whole number within bounds.
func (d *decoder) integer(v value, least, most int64) (int64, bool) {
	s, ok := d.scalar(v, "a whole number", false)
	if !ok {
		return 0, false
	}
	n, err := document.Int(s.text, s.tag)
	switch {
	case errors.Is(err, document.ErrLeadingZero):
		d.report(v.node, v.at, CodeWrongType, "", "%v; remove the zero", err)
	case errors.Is(err, document.ErrTooBig), err == nil && (n < least || n > most):
		d.outOfRange(v, least, most)
	case err != nil:
		d.wrongType(v, "a whole number")
	default:
		return n, true
	}
	return 0, false
}

func (d *decoder) outOfRange(v value, least, most int64) {
	bounds := fmt.Sprintf("between %d and %d", least, most)
	if most == math.MaxInt64 {
		bounds = fmt.Sprintf("%d or more", least)
	}
	d.report(v.node, v.at, CodeOutOfRange, "", "%s is out of range; give a number %s", document.Subject(v.node), bounds)
}

// count reads a whole number into an int.
func (d *decoder) count(v value, least, most int64, into *int) {
	if n, ok := d.integer(v, least, most); ok {
		*into = int(n)
	}
}

// duration reads a Go duration of at least least.
func (d *decoder) duration(v value, least time.Duration, into *time.Duration) {
	const want = "a duration such as 250ms, 10s or 1h"
	s, ok := d.scalar(v, want, false)
	if !ok {
		return
	}
	n, err := time.ParseDuration(s.text)
	switch {
	case err != nil:
		d.report(v.node, v.at, CodeBadDuration, suggest.Duration(v.node.Value), "expected %s, found %s", want, document.Describe(v.node))
	case n < least && least > 1:
		d.report(v.node, v.at, CodeOutOfRange, "", "%s is too short; give at least %s", document.Subject(v.node), least)
	case n < least && least > 0:
		d.report(v.node, v.at, CodeOutOfRange, "", "%s is too short; give a duration above 0s", document.Subject(v.node))
	case n < least:
		d.report(v.node, v.at, CodeOutOfRange, "", "%s is negative; give a duration of 0s or more", document.Subject(v.node))
	default:
		*into = n
	}
}

// choice is a field whose value is one of a few words.
type choice struct {
	built []string // the first is the default
	later []string // known, not built yet
}

// pick reads one of the words of a choice. It reports whether one was given.
func (d *decoder) pick(v value, c choice, into *string) bool {
	want := "one of " + strings.Join(c.built, ", ")
	if len(c.built) == 1 {
		want = c.built[0]
	}
	s, ok := d.scalar(v, want, false)
	switch {
	case !ok:
	case slices.Contains(c.built, s.text):
		*into = s.text
		return true
	case slices.Contains(c.later, s.text):
		d.report(v.node, v.at, CodeNotYetSupported, "", "%s is not supported by this version yet; use %s", document.Subject(v.node), strings.Join(c.built, " or "))
	case s.tag != "!!str" && !s.reference:
		d.wrongType(v, want)
	default:
		d.report(v.node, v.at, CodeBadValue, d.finder.Nearest(v.node.Value, c.built), "expected %s, found %s", want, document.Describe(v.node))
	}
	return false
}
