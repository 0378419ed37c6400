package decode

import (
	"slices"
	"strings"
)

// Kind is how one kind of something (a source, a sink, …) is read from a declaration, into a
// configuration C. The zero Kind is none; make one with [NewKind].
type Kind[C any] struct {
	name     string
	also     []string // what it is called elsewhere
	schema   Schema
	defaults func() C
	read     func(d *Decoder, v Value) C // nil: known, not built yet
	instead  string                      // of one that is not built: what there is
}

// NewKind describes a kind: its name in declarations, what it adds to their JSON Schema, the
// configuration of a declaration that says nothing, and how the rest is read over that.
func NewKind[C any](name string, schema Schema, defaults func() C, read func(d *Decoder, v Value, into *C)) Kind[C] {
	return Kind[C]{name: name, schema: schema, defaults: defaults, read: func(d *Decoder, v Value) C {
		c := defaults()
		read(d, v, &c)
		return c
	}}
}

// LaterKind is a kind that is known and not built yet: declarations that name it are refused
// with not_yet_supported (M47). instead says what there is instead.
func LaterKind[C any](name, about, instead string) Kind[C] {
	return Kind[C]{name: name, schema: Schema{about: about}, instead: instead}
}

// Also is the kind with names that it has elsewhere, for who writes one of these.
func (k Kind[C]) Also(names ...string) Kind[C] {
	k.also = names
	return k
}

// As is a kind whose configuration is known only by what it answers.
func As[I, C any](k Kind[C], as func(C) I) Kind[I] {
	out := Kind[I]{name: k.name, also: k.also, schema: k.schema, defaults: func() I { return as(k.defaults()) }}
	if k.read != nil {
		out.read = func(d *Decoder, v Value) I { return as(k.read(d, v)) }
	}
	return out
}

// Name is the kind's name in declarations.
func (k Kind[C]) Name() string { return k.name }

// Built reports whether this version has the kind.
func (k Kind[C]) Built() bool { return k.read != nil }

// Schema is what the kind adds to the JSON Schema of declarations.
func (k Kind[C]) Schema() Schema { return k.schema }

// Default is the configuration of a declaration that says nothing.
func (k Kind[C]) Default() C { return k.defaults() }

// KindField is the kind as a field of a mapping that names it.
func KindField[C, T any](k Kind[C], set func(into *T, name Value, c C)) Field[T] {
	f := Field[T]{Name: k.name, Also: k.also, Instead: k.instead}
	if k.read != nil {
		f.Read = func(d *Decoder, v Value, into *T) { set(into, v, k.read(d, v)) }
	}
	return f
}

// Nothing reads the mapping of a kind that has no fields. where says in words what it is.
func Nothing[C any](where string) func(*Decoder, Value, *C) {
	return func(d *Decoder, v Value, _ *C) {
		Object(d, v, where, []Field[struct{}]{}, &struct{}{})
	}
}

// Schema is what a kind adds to the JSON Schema of declarations. Make one with [NewSchema],
// or with [NoFields] for a kind without any.
type Schema struct {
	about       string
	inline      string
	definitions []Definitions
}

// Definitions are definitions of the JSON Schema, with what the mappings that they define are
// read by. Make them with [Define].
type Definitions struct {
	text     string
	mappings []Mapping
}

// Define takes the JSON of an object with definitions, and the mappings with fixed fields among
// them, which are all of them that have properties.
func Define(text string, mappings ...Mapping) Definitions { return Definitions{text, mappings} }

// Text is the definitions, as one JSON object.
func (d Definitions) Text() string { return d.text }

// Mappings are what the definitions define.
func (d Definitions) Mappings() []Mapping { return slices.Clone(d.mappings) }

// NewSchema says what a kind is, in a few words, and defines its mappings: the first of its own
// is the kind's. Shared definitions are of several kinds and appear once.
func NewSchema(about string, own Definitions, shared ...Definitions) Schema {
	return Schema{about: about, definitions: append([]Definitions{own}, shared...)}
}

// Inline is the schema of a kind whose value is no mapping with fixed fields: members are those
// of its JSON Schema, without braces.
func Inline(about, members string) Schema { return Schema{about: about, inline: members} }

// NoFields is the schema of a kind without fields.
func NoFields(about string) Schema { return Schema{about: about} }

// About is what the kind is, in a few words.
func (s Schema) About() string { return s.about }

// Ref is the name of the definition of the kind's mapping.
func (s Schema) Ref() string {
	if len(s.definitions) == 0 {
		return "nothing"
	}
	return s.definitions[0].mappings[0].Name
}

// Members are the members of the JSON Schema of the kind's value.
func (s Schema) Members() string {
	if s.inline != "" {
		return s.inline
	}
	return `"$ref": "#/$defs/` + s.Ref() + `"`
}

// Definitions are what the kind defines.
func (s Schema) Definitions() []Definitions { return slices.Clone(s.definitions) }

// Mapping is one mapping of the declaration with fixed fields, by the name of its definition
// in the JSON Schema: what is read, for who has to know it without reading.
type Mapping struct {
	Name    string
	Fields  FieldSet
	Choices Choices
}

// Choices are the fields of a mapping that take one of a few words.
type Choices map[string]Choice

// MappingOf is the mapping that a table of fields reads.
func MappingOf[T any](name string, fields []Field[T], choices Choices) Mapping {
	return Mapping{name, SetOf(fields), choices}
}

// places are the mappings that have a field, for who put it in the wrong one.
func places(mappings func() []Mapping, name string) (places []string) {
	if mappings == nil {
		return nil
	}
	for _, m := range mappings() {
		where := strings.ReplaceAll(m.Name, "_", " ")
		if slices.Contains(m.Fields.Names, name) && !slices.Contains(places, where) {
			places = append(places, where)
		}
	}
	slices.Sort(places)
	return places
}
