package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/suggest"
)

// field is one field of a mapping of the declaration, decoded into a T.
type field[T any] struct {
	name string
	// read decodes the field. Nil: known, but not built yet.
	read func(d *decoder, v value, into *T)
	need bool // it must be there
}

// fieldSet is a field table without its type.
type fieldSet struct {
	names, built, needed []string
}

func setOf[T any](fields []field[T]) fieldSet {
	var s fieldSet
	for _, f := range fields {
		s.names = append(s.names, f.name)
		if f.read != nil {
			s.built = append(s.built, f.name)
		}
		if f.need {
			s.needed = append(s.needed, f.name)
		}
	}
	return s
}

// given is what a mapping holds, by field.
type given map[string]value

// readObject decodes a mapping with fixed fields. It returns the fields that were
// there, or ok false when v is no mapping. where says in words what v is.
func readObject[T any](d *decoder, v value, where string, fields []field[T], into *T) (got given, ok bool) {
	if !d.mapping(v, "a mapping with the fields of "+where) {
		return nil, false
	}
	find := func(name string) int {
		return slices.IndexFunc(fields, func(f field[T]) bool { return f.name == name })
	}
	got = make(given)
	for _, p := range d.pairs(v, func(name string) bool { return find(name) >= 0 }) {
		i := find(p.key.Value)
		if i < 0 {
			d.unknownField(p.value, where, setOf(fields))
			continue
		}
		f := fields[i]
		got[f.name] = p.value
		switch {
		case f.read == nil:
			d.report(p.key, p.at, CodeNotYetSupported, "", "%s is not supported by this version yet; remove it", f.name)
		case p.split:
			d.reportSplit(p)
		default:
			f.read(d, p.value, into)
		}
	}
	for _, f := range fields {
		if _, ok := got[f.name]; f.need && !ok {
			d.missing(v, f.name, where)
		}
	}
	return got, true
}

func (d *decoder) missing(v value, name, where string) {
	at := &trail{up: v.at, name: name}
	d.report(v.anchor(), at, CodeMissingField, "", "%s needs the field %s; add it", where, name)
}

func (d *decoder) unknownField(v value, where string, set fieldSet) {
	name := v.key.Value
	meant := d.finder.Nearest(name, set.names)
	if others := d.places[name]; meant == "" && len(others) > 0 {
		d.report(v.key, v.at, CodeUnknownField, "", "%s has no field %s, it is a field of %s; move it there", where, document.Quote(name), strings.Join(others, ", "))
		return
	}
	if len(set.names) == 0 {
		d.report(v.key, v.at, CodeUnknownField, "", "%s takes no fields, found %s; write {}", where, document.Quote(name))
		return
	}
	advice := "remove it or correct its name"
	if meant == "" {
		advice = "remove it or use one of " + strings.Join(set.names, ", ")
	}
	d.report(v.key, v.at, CodeUnknownField, meant, "%s has no field %s; %s", where, document.Quote(name), advice)
}

// readOne decodes a mapping that holds exactly one of several kinds. It returns
// the name of the kind, "" when there is none.
func readOne[T any](d *decoder, v value, where string, kinds []field[T], into *T) (kind value, ok bool) {
	if !d.mapping(v, fmt.Sprintf("%s as a mapping with one key, such as %s", where, kinds[0].name)) {
		return value{}, false
	}
	got, isMapping := readObject(d, v, where, kinds, into)
	if !isMapping {
		return value{}, false
	}
	names := setOf(kinds).names
	if kind, ok = d.exclusive(got, where, names); !ok && len(v.node.Content) == 0 {
		d.report(v.anchor(), v.at, CodeMissingKind, "", "%s is empty; give one of %s", where, strings.Join(names, ", "))
	}
	return kind, ok
}

// exclusive finds which of several fields was given, and reports all but the first.
func (d *decoder) exclusive(got given, where string, names []string) (first value, ok bool) {
	var there []value
	for _, name := range names {
		if v, ok := got[name]; ok {
			there = append(there, v)
		}
	}
	if len(there) == 0 {
		return value{}, false
	}
	slices.SortFunc(there, func(a, b value) int { return compareNodes(a.key, b.key) })
	for _, v := range there[1:] {
		d.report(v.key, v.at, CodeSeveralKinds, "", "%s is %s already; keep one of the two", where, there[0].key.Value)
	}
	return there[0], true
}

// compareNodes orders two nodes by where they stand.
func compareNodes(a, b *yaml.Node) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

// pair is one entry of a mapping.
type pair struct {
	value
	// split: YAML ended the value at a comma that was meant to be part of it.
	split bool
}

// pairs lists the entries of a mapping whose keys are texts, each key once. known
// says which keys can stand without a value.
func (d *decoder) pairs(v value, known func(string) bool) []pair {
	content := v.node.Content
	list := make([]pair, 0, len(content)/2)
	seen := make(map[string]*yaml.Node, len(content)/2)
	for i := 0; i+1 < len(content); i += 2 {
		key, node := content[i], content[i+1]
		if last := len(list) - 1; last >= 0 && isRest(v.node, list[last].node, key, node) && !known(key.Value) {
			list[last].split = true
			continue
		}
		if !d.goodKey(v, key) {
			continue
		}
		child := v.child(key, node)
		if first := seen[key.Value]; first != nil {
			d.report(key, child.at, CodeDuplicateKey, "", "%s is given twice, first on line %d; remove one", document.Quote(key.Value), first.Line)
			continue
		}
		seen[key.Value] = key
		list = append(list, pair{value: child})
	}
	return list
}

// isRest reports whether an entry of a { } is what a comma cut off the value before
// it, as in { expr: max(a, b) }.
func isRest(mapping, before, key, node *yaml.Node) bool {
	return mapping.Style&yaml.FlowStyle != 0 &&
		before.Kind == yaml.ScalarNode && before.Style == 0 &&
		key.Kind == yaml.ScalarNode && key.Style == 0 &&
		node.Kind == yaml.ScalarNode && node.Tag == "!!null" && node.Value == "" && node.Style == 0
}

func (d *decoder) reportSplit(p pair) {
	d.report(p.node, p.at, CodeQuoteExpression, "", "the value ends at the comma after %s; put all of it in single quotes", document.Quote(p.node.Value))
}

// goodKey reports whether a key is a plain text.
func (d *decoder) goodKey(v value, key *yaml.Node) bool {
	if !d.plain(key, v.at) {
		return false
	}
	switch {
	case key.Kind != yaml.ScalarNode || key.Tag == "!!null":
		d.report(key, v.at, CodeWrongType, "", "a key must be a name, found %s", document.Describe(key))
	case len(key.Value) > maxKeyBytes:
		d.report(key, v.at, CodeTooLarge, "", "the key %s has %d bytes, more than the %d allowed; shorten it", document.Quote(key.Value), len(key.Value), maxKeyBytes)
	default:
		return true
	}
	return false
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// reservedNames mean something else where accumulators and nodes are referred to:
// what stands in scope beside them, and the words of the expression language.
var reservedNames = []string{
	"event", "meta", "value", "key", "epoch", "output", "now", "vars",
	"true", "false", "nil", "not", "and", "or", "in", "matches", "contains", "let", "if", "else",
}

// names lists the entries of a mapping from names that the user chose, up to maxEntries.
// what says what is named.
func (d *decoder) names(v value, what string) []pair {
	if !d.mapping(v, "a mapping from names to "+what+"s") {
		return nil
	}
	list := d.pairs(v, func(string) bool { return false })
	if len(list) > maxEntries {
		d.report(list[maxEntries].key, list[maxEntries].at, CodeTooMany, "", "a graph may have %d %ss, this one has %d; split it into several graphs", maxEntries, what, len(list))
		list = list[:maxEntries]
	}
	for _, p := range list {
		d.checkName(p.key, p.at, what)
	}
	return list
}

// checkName reports a name that does not match the pattern.
func (d *decoder) checkName(n *yaml.Node, at *trail, what string) {
	if validName.MatchString(n.Value) {
		return
	}
	why := "lower-case letters, digits and _, starting with a letter"
	if len(n.Value) > 64 {
		why = "at most 64 characters"
	}
	d.report(n, at, CodeBadName, suggest.Name(n.Value), "%s cannot be the name of %s: a name has %s", document.Quote(n.Value), article(what), why)
}

func article(what string) string {
	if strings.IndexByte("aeiou", what[0]) >= 0 {
		return "an " + what
	}
	return "a " + what
}
