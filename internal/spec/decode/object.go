package decode

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
	"github.com/graphd/graphd/internal/spec/internal/suggest"
)

// Field is one field of a mapping of the declaration, decoded into a T.
type Field[T any] struct {
	Name string
	// Read decodes the field. Nil: known, but not built yet (M47).
	Read func(d *Decoder, v Value, into *T)
	Need bool // it must be there
	// Instead says what there is instead of a field that is not built; "" for nothing.
	Instead string
	// Also are the names that it has elsewhere, for who writes one of these.
	Also []string
	// Alone says that it is what somebody means who writes a bare value in place of the mapping, Listed a list.
	Alone, Listed bool
	// Beside says that it is a field of another mapping, which some look for in this one.
	Beside bool
}

// FieldSet is a field table without its type.
type FieldSet struct {
	Names, Built, Needed []string
	// Also maps names that fields have elsewhere to those that they have here.
	Also map[string]string
}

// SetOf is a table without its type.
func SetOf[T any](fields []Field[T]) FieldSet {
	var s FieldSet
	for _, f := range fields {
		if !f.Beside {
			s.Names = append(s.Names, f.Name)
		}
		if f.Read != nil {
			s.Built = append(s.Built, f.Name)
		}
		if f.Need {
			s.Needed = append(s.Needed, f.Name)
		}
		for _, name := range f.Also {
			if s.Also == nil {
				s.Also = make(map[string]string)
			}
			s.Also[name] = f.Name
		}
	}
	return s
}

// Given is what a mapping holds, by field.
type Given map[string]Value

// Object decodes a mapping with fixed fields. It returns the fields that were
// there, or ok false when v is no mapping. where says in words what v is.
func Object[T any](d *Decoder, v Value, where string, fields []Field[T], into *T) (got Given, ok bool) {
	want := "a mapping with the fields of " + where
	if meant := alone(v, fields); meant != "" {
		d.Report(v.Here(), CodeWrongType, meant, "expected %s, found %s", want, v.Described())
		return nil, false
	}
	if !d.Mapping(v, want) {
		return nil, false
	}
	find := func(name string) int {
		return slices.IndexFunc(fields, func(f Field[T]) bool { return f.Name == name && !f.Beside })
	}
	got = make(Given)
	meant := make(map[string]bool) // by those that there are not
	for _, p := range d.pairs(v, func(name string) bool { return find(name) >= 0 }) {
		i := find(p.key.Value)
		if i < 0 {
			meant[d.unknownField(p.Value, where, SetOf(fields))] = true
			continue
		}
		f := fields[i]
		got[f.Name] = p.Value
		switch {
		case f.Read == nil:
			d.Report(p.Name(), CodeNotYetSupported, "", "%s is not supported by this version yet; %s", f.Name,
				cmp.Or(f.Instead, "remove it"))
		case p.split:
			d.reportSplit(p)
		default:
			f.Read(d, p.Value, into)
		}
	}
	for _, f := range fields {
		if _, ok := got[f.Name]; f.Need && !ok && !meant[f.Name] {
			d.Missing(v, f.Name, where)
		}
	}
	return got, true
}

// alone is the mapping that a bare value stands for, "" when nobody knows.
func alone[T any](v Value, fields []Field[T]) string {
	text := v.node.Value
	i := slices.IndexFunc(fields, func(f Field[T]) bool { return f.Alone })
	if list := v.node; list.Kind == yaml.SequenceNode && len(list.Content) > 0 {
		i = slices.IndexFunc(fields, func(f Field[T]) bool { return f.Listed })
		var items []string
		for _, item := range list.Content {
			if item.Kind != yaml.ScalarNode || strings.ContainsAny(item.Value, "${},[]\n") {
				return ""
			}
			items = append(items, item.Value)
		}
		if text = "[" + strings.Join(items, ", ") + "]"; i < 0 || len(text) > 64 {
			return ""
		}
		return "{ " + fields[i].Name + ": " + text + " }"
	}
	if i < 0 || !v.IsScalar() || v.node.Tag == "!!null" || text == "" || len(text) > 64 ||
		strings.ContainsAny(text, "${},\n") {
		return ""
	}
	return "{ " + fields[i].Name + ": " + text + " }"
}

// Missing reports a field that must be there.
func (d *Decoder) Missing(v Value, name, where string) {
	d.Report(Place{v.anchor(), &trail{up: v.at, name: name}}, CodeMissingField, "",
		"%s needs the field %s; add it", where, name)
}

// MissingEither reports that one of two fields must be there.
func (d *Decoder) MissingEither(v Value, name, other, where string) {
	d.Report(Place{v.anchor(), &trail{up: v.at, name: name}}, CodeMissingField, "",
		"%s needs the field %s or the field %s; add one of them", where, name, other)
}

// unknownField says that a mapping has no such field, and answers with the one that was meant, if any.
func (d *Decoder) unknownField(v Value, where string, set FieldSet) (meant string) {
	name := v.key.Value
	meant = cmp.Or(set.Also[name], d.finder.Nearest(name, set.Names))
	it, elsewhere := "a field", name
	if meant != "" && !slices.Contains(set.Names, meant) { // it is beside the mapping
		it, elsewhere, meant = "the field "+meant, meant, ""
	}
	if others := places(d.mappings, elsewhere); meant == "" && len(others) > 0 {
		d.Report(v.Name(), CodeUnknownField, "",
			"%s has no field %s, it is %s of %s; move it there",
			where, document.Quote(name), it, strings.Join(others, ", "))
		return ""
	}
	if len(set.Names) == 0 {
		d.Report(v.Name(), CodeUnknownField, "", "%s takes no fields, found %s; write {}", where, document.Quote(name))
		return ""
	}
	advice := "remove it or correct its name"
	switch {
	case meant == "":
		advice = "remove it or use one of " + strings.Join(set.Names, ", ")
	case meant == "on" && name == "true":
		advice = `a tool that reads YAML 1.1 has taken on for true: write "on" in quotes for it`
	}
	d.Report(v.Name(), CodeUnknownField, meant, "%s has no field %s; %s", where, document.Quote(name), advice)
	return meant
}

// One decodes a mapping that holds exactly one of several kinds. It returns
// the name of the kind, "" when there is none.
func One[T any](d *Decoder, v Value, where string, kinds []Field[T], into *T) (kind Value, ok bool) {
	want := fmt.Sprintf("%s as a mapping with one key, such as %s", where, kinds[0].Name)
	if text := v.node.Value; v.IsScalar() && slices.Contains(SetOf(kinds).Names, text) {
		d.Report(v.Here(), CodeWrongType, "{ "+text+": {} }", "expected %s, found %s", want, v.Described())
		return Value{}, false
	}
	if !d.Mapping(v, want) {
		return Value{}, false
	}
	got, isMapping := Object(d, v, where, kinds, into)
	if !isMapping {
		return Value{}, false
	}
	names := SetOf(kinds).Names
	if kind, ok = d.Exclusive(got, where, names); !ok && len(v.node.Content) == 0 {
		d.Report(v.Whole(), CodeMissingKind, "", "%s is empty; give one of %s", where, strings.Join(names, ", "))
	}
	return kind, ok
}

// Exclusive finds which of several fields was given, and reports all but the first.
func (d *Decoder) Exclusive(got Given, where string, names []string) (first Value, ok bool) {
	var there []Value
	for _, name := range names {
		if v, ok := got[name]; ok {
			there = append(there, v)
		}
	}
	if len(there) == 0 {
		return Value{}, false
	}
	slices.SortFunc(there, func(a, b Value) int { return CompareNames(a, b) })
	for _, v := range there[1:] {
		d.Report(v.Name(), CodeSeveralKinds, "", "%s is %s already; keep one of the two", where, there[0].key.Value)
	}
	return there[0], true
}

// Pair is one entry of a mapping.
type Pair struct {
	Value
	// split: YAML ended the value at a comma that was meant to be part of it.
	split bool
}

// Unsplit reports whether a pair's value is all of it, and reports that it is not: YAML may end
// one at a comma that was meant to be part of it.
func (d *Decoder) Unsplit(p Pair) bool {
	if p.split {
		d.reportSplit(p)
	}
	return !p.split
}

// Pairs lists the entries of a mapping whose keys are texts, each key once. bare says that a
// key can stand without a value.
func (d *Decoder) Pairs(v Value, bare bool) []Pair {
	return d.pairs(v, func(string) bool { return bare })
}

// pairs lists the entries of a mapping; known says which keys can stand without a value.
func (d *Decoder) pairs(v Value, known func(string) bool) []Pair {
	content := v.node.Content
	list := make([]Pair, 0, len(content)/2)
	seen := make(map[string]*yaml.Node, len(content)/2)
	for i := 0; i+1 < len(content); i += 2 {
		key, node := content[i], content[i+1]
		if last := len(list) - 1; last >= 0 && d.isRest(v.node, list[last].node, key, node) && !known(key.Value) {
			list[last].split = true
			continue
		}
		if !d.goodKey(v, key) {
			continue
		}
		child := v.child(key, node)
		if first := seen[key.Value]; first != nil {
			d.Report(Place{key, child.at}, CodeDuplicateKey, "",
				"%s is given twice, first on line %d; remove one", document.Quote(key.Value), first.Line)
			continue
		}
		seen[key.Value] = key
		list = append(list, Pair{Value: child})
	}
	return list
}

// isRest reports whether an entry of a { } is what a comma cut off the value before
// it, as in { expr: max(a, b) }.
func (d *Decoder) isRest(mapping, before, key, node *yaml.Node) bool {
	return mapping.Style&yaml.FlowStyle != 0 && !document.Copied(key) &&
		before.Kind == yaml.ScalarNode && before.Style == 0 &&
		key.Kind == yaml.ScalarNode && key.Style == 0 &&
		node.Kind == yaml.ScalarNode && node.Tag == "!!null" && node.Value == "" && node.Style == 0 &&
		!d.doc.Source.HasColon(key)
}

func (d *Decoder) reportSplit(p Pair) {
	d.Report(p.Here(), CodeQuoteExpression, "",
		"the value ends at the comma after %s; put all of it in single quotes", document.Quote(p.node.Value))
}

// goodKey reports whether a key is a plain text.
func (d *Decoder) goodKey(v Value, key *yaml.Node) bool {
	if !d.plain(key, v.at) {
		return false
	}
	switch {
	case key.Kind != yaml.ScalarNode || key.Tag == "!!null":
		d.Report(Place{key, v.at}, CodeWrongType, "", "a key must be a name, found %s", document.Describe(key))
	case len(key.Value) > maxKeyBytes:
		d.Report(Place{key, v.at}, CodeTooLarge, "",
			"the key %s has %d bytes, more than the %d allowed; shorten it",
			document.Quote(key.Value), len(key.Value), maxKeyBytes)
	default:
		return true
	}
	return false
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// ValidName reports whether a text can be the name of a graph, or of something in one.
func ValidName(name string) bool { return validName.MatchString(name) }

// Names lists the entries of a mapping from names that the user chose, up to MaxEntries.
// what says what is named.
func (d *Decoder) Names(v Value, what string) []Pair {
	if !d.Mapping(v, "a mapping from names to "+what+"s") {
		return nil
	}
	list := d.Pairs(v, false)
	if len(list) > MaxEntries {
		d.Report(list[MaxEntries].Name(), CodeTooMany, "",
			"a graph may have %d %ss, this one has %d; split it into several graphs", MaxEntries, what, len(list))
		list = list[:MaxEntries]
	}
	for _, p := range list {
		d.CheckName(p.Name(), p.key.Value, what)
	}
	return list
}

// CheckName reports a name that does not match the pattern.
func (d *Decoder) CheckName(p Place, name, what string) {
	if ValidName(name) {
		return
	}
	why := "lower-case letters, digits and _, starting with a letter"
	if len(name) > 64 {
		why = "at most 64 characters"
	}
	d.Report(p, CodeBadName, suggest.Name(name),
		"%s cannot be the name of %s: a name has %s", document.Quote(name), Article(what), why)
}

// Article puts an article before a noun.
func Article(what string) string {
	if strings.IndexByte("aeiou", what[0]) >= 0 {
		return "an " + what
	}
	return "a " + what
}
