package decode

import (
	"cmp"
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

// plain rejects the parts of YAML that a declaration does not use, which are its tags. Aliases and merge keys are
// unfolded before anything is read.
func (d *Decoder) plain(n *yaml.Node, at *trail) bool {
	switch {
	case d.doc.Unreadable(n) != "":
		d.Report(Place{n, at}, CodeYAMLSyntax, "", "%s", d.doc.Unreadable(n))
		d.doc.Settle(n)
	case d.doc.Tagged(n):
		d.Report(Place{n, at}, CodeTagNotAllowed, "",
			"tags are not allowed; remove it, or quote the value if it is a text that starts with !")
	default:
		return true
	}
	return false
}

// Mapping reports whether v is a mapping; want says what should be there.
func (d *Decoder) Mapping(v Value, want string) bool { return d.kind(v, yaml.MappingNode, want) }

// List reports whether v is a list; want says what should be there.
func (d *Decoder) List(v Value, want string) bool {
	if !d.plain(v.node, v.at) {
		return false
	}
	text := v.node.Value
	if v.IsScalar() && v.node.Tag == "!!str" && text != "" && len(text) <= 64 && !strings.ContainsAny(text, "${}[]\n") {
		d.Report(v.Here(), CodeWrongType, "["+text+"]", "expected %s, found %s", want, v.Described())
		return false
	}
	return d.kind(v, yaml.SequenceNode, want)
}

func (d *Decoder) kind(v Value, kind yaml.Kind, want string) bool {
	if !d.plain(v.node, v.at) {
		return false
	}
	if v.node.Kind != kind {
		if kind == yaml.MappingNode && v.node.Tag == "!!null" {
			want += ", or {} for none"
		}
		d.WrongType(v, want)
		return false
	}
	return true
}

// WrongType reports that v is not what it should be, which want says.
func (d *Decoder) WrongType(v Value, want string) {
	n := v.node
	if n.Kind == yaml.ScalarNode && n.Value == "" && n.Tag == "!!null" && v.key != nil {
		n = v.key // an empty value has no place of its own to point at
	}
	d.Report(Place{n, v.at}, CodeWrongType, "", "expected %s, found %s", want, document.Describe(v.node))
}

// AnyText reads a text that may be empty, or a number or word that counts as one.
func (d *Decoder) AnyText(v Value, want string) (string, bool) {
	s, ok := d.scalar(v, want, true)
	return s.text, ok
}

// Number reads a number. What is no finite number is NaN, which is out of every range.
func (d *Decoder) Number(v Value, want string) (x float64, ok bool) {
	s, ok := d.scalar(v, want, false)
	if !ok {
		return 0, false
	}
	if s.tag != "!!int" && s.tag != "!!float" {
		d.WrongType(v, want)
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(s.text, "_", ""), 64)
	if err != nil {
		x = math.NaN() // out of every range
	}
	return x, true
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
func (d *Decoder) scalar(v Value, want string, literal bool) (scalar, bool) {
	if !d.plain(v.node, v.at) {
		return scalar{}, false
	}
	if v.node.Kind != yaml.ScalarNode || v.node.Tag == "!!null" {
		d.WrongType(v, want)
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

// Text reads a text that is not empty. A number must be quoted to be one.
func (d *Decoder) Text(v Value, want string) (string, bool) {
	s, ok := d.scalar(v, want, true)
	if !ok {
		return "", false
	}
	if !s.reference && s.tag != "!!str" && s.tag != "!!timestamp" {
		d.Report(v.Here(), CodeWrongType, "",
			"expected %s, found %s; put it in quotes if it is meant", want, document.Describe(v.node))
		return "", false
	}
	if s.text == "" {
		d.Report(v.Here(), CodeEmptyValue, "", "expected %s, found an empty text", want)
		return "", false
	}
	return s.text, true
}

// Bool reads true or false.
func (d *Decoder) Bool(v Value, into *bool) {
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
		d.Report(v.Here(), CodeWrongType, suggest, "expected true or false, found %s", document.Describe(v.node))
		return
	}
	*into = strings.EqualFold(s.text, "true")
}

// Integer reads a whole number within bounds.
func (d *Decoder) Integer(v Value, least, most int64) (int64, bool) {
	s, ok := d.scalar(v, "a whole number", false)
	if !ok {
		return 0, false
	}
	n, err := document.Int(s.text, s.tag)
	switch {
	case errors.Is(err, document.ErrLeadingZero):
		d.Report(v.Here(), CodeWrongType, "", "%v; remove the zero", err)
	case errors.Is(err, document.ErrTooBig), err == nil && (n < least || n > most):
		d.outOfRange(v, least, most)
	case err != nil:
		meant := ""
		if n := suggest.Number(v.node.Value); n >= max(0, least) && n <= most {
			meant = strconv.FormatInt(n, 10)
		}
		d.Report(v.Here(), CodeWrongType, meant, "expected a whole number, found %s", v.Described())
	default:
		return n, true
	}
	return 0, false
}

func (d *Decoder) outOfRange(v Value, least, most int64) {
	bounds := fmt.Sprintf("between %d and %d", least, most)
	if most == math.MaxInt64 {
		bounds = fmt.Sprintf("%d or more", least)
	}
	d.Report(v.Here(), CodeOutOfRange, "", "%s is out of range; give a number %s", document.Subject(v.node), bounds)
}

// Count reads a whole number into an int.
func (d *Decoder) Count(v Value, least, most int64, into *int) {
	if n, ok := d.Integer(v, least, most); ok {
		*into = int(n)
	}
}

// Duration reads a Go duration of at least least.
func (d *Decoder) Duration(v Value, least time.Duration, into *time.Duration) {
	const want = "a duration such as 250ms, 10s or 1h"
	s, ok := d.scalar(v, want, false)
	if !ok {
		return
	}
	n, err := time.ParseDuration(s.text)
	switch {
	case err != nil:
		d.Report(v.Here(), CodeBadDuration, suggest.Duration(v.node.Value),
			"expected %s, found %s", want, document.Describe(v.node))
	case n < least && least > 1:
		d.Report(v.Here(), CodeOutOfRange, "", "%s is too short; give at least %s", document.Subject(v.node), least)
	case n < least && least > 0:
		d.Report(v.Here(), CodeOutOfRange, "", "%s is too short; give a duration above 0s", document.Subject(v.node))
	case n < least:
		d.Report(v.Here(), CodeOutOfRange, "",
			"%s is negative; give a duration of 0s or more", document.Subject(v.node))
	default:
		*into = n
	}
}

// Choice is a field whose value is one of a few words.
type Choice struct {
	Words []string          // the first is the default
	Later []string          // known, not built yet
	Also  map[string]string // what words are called elsewhere
}

// Words is a choice of these words, of which the first is the default.
func Words(words ...string) Choice { return Choice{Words: words} }

// Default is the word of a declaration that gives none.
func (c Choice) Default() string { return c.Words[0] }

// Pick reads one of the words of a choice. It reports whether one was given.
func (d *Decoder) Pick(v Value, c Choice, into *string) bool {
	want := "one of " + strings.Join(c.Words, ", ")
	if len(c.Words) == 1 {
		want = c.Words[0]
	}
	s, ok := d.scalar(v, want, false)
	switch {
	case !ok:
	case slices.Contains(c.Words, s.text):
		*into = s.text
		return true
	case slices.Contains(c.Later, s.text):
		d.Report(v.Here(), CodeNotYetSupported, "",
			"%s is not supported by this version yet; use %s", document.Subject(v.node), strings.Join(c.Words, " or "))
	case s.tag != "!!str" && !s.reference:
		d.WrongType(v, want)
	default:
		meant := cmp.Or(c.Also[strings.ToLower(v.node.Value)], d.finder.Nearest(v.node.Value, c.Words))
		d.Report(v.Here(), CodeBadValue, meant, "expected %s, found %s", want, document.Describe(v.node))
	}
	return false
}
