// Package eventschema checks events, and answers of what nodes call, against the JSON Schema of a declaration.
//
// Nearly every schema is made of a few keywords, and nearly every event conforms: a quick
// check admits those without turning the event into Go maps. What it does not admit, or a
// schema that says more than it understands, goes to a full validator, which decides and
// explains.
package eventschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec/decode"
)

// schemaURL names the declared schema inside the validator. It is never fetched, nor shown.
const schemaURL = "schema:///event"

// errRemoteRef refuses references that leave the document: validating a declaration does no I/O.
var errRemoteRef = errors.New("a $ref must stay within the schema; put what it refers to under $defs")

// Schema is a compiled JSON Schema (2020-12 unless it says otherwise; formats are
// asserted). It is immutable and safe for concurrent use.
type Schema struct {
	quick *quick // nil when the schema says more than quick understands
	full  *jsonschema.Schema
	of    string
}

// refuseLoader answers every reference to another document.
type refuseLoader struct{}

func (refuseLoader) Load(string) (any, error) { return nil, errRemoteRef }

// Compile compiles a schema: nested map[string]any, []any and scalars. Validating a
// declaration does no I/O, so a reference that leaves the schema is an error. The error is
// one line, for the author of the schema. of is what is checked, in words, such as "the event".
func Compile(document any, of string) (*Schema, error) {
	// The document's own numbers and maps are whatever its decoder made; the validator
	// wants what its own decoder makes.
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, tidy(err)
	}
	full, err := c.Compile(schemaURL)
	if err != nil {
		return nil, tidy(err)
	}
	return &Schema{quick: newQuick(doc), full: full, of: of}, nil
}

// tidy makes one line of the validator's errors, without the name it knows the schema by.
func tidy(err error) error {
	if load := new(jsonschema.LoadURLError); errors.As(err, &load) { // refuseLoader's only answer
		return errRemoteRef
	}
	if invalid := new(jsonschema.SchemaValidationError); errors.As(err, &invalid) {
		return errors.New(explain(invalid.Err, "the schema"))
	}
	return errors.New(decode.OneLine(strings.ReplaceAll(err.Error(), schemaURL, "")))
}

// Fields are the top-level fields that the quick check looks at: the check is faster
// where they are decoded into slots.
func (s *Schema) Fields() []string {
	if s.quick == nil {
		return nil
	}
	names := make([]string, len(s.quick.fields))
	for i, f := range s.quick.fields {
		names[i] = f.name
	}
	return names
}

// Check returns what is wrong with v, one line, or "".
func (s *Schema) Check(v boundary.Value) string {
	if s.quick != nil && s.quick.admits(v) {
		return ""
	}
	err := s.full.Validate(plain(v.Any()))
	if err == nil {
		return ""
	}
	return explain(err, s.of)
}

// explain is the first concrete fault that the validator found, with its place in what was checked.
func explain(err error, of string) string {
	var fault *jsonschema.ValidationError
	if !errors.As(err, &fault) {
		return decode.OneLine(err.Error())
	}
	for len(fault.Causes) > 0 {
		fault = fault.Causes[0]
	}
	at := of
	if len(fault.InstanceLocation) > 0 {
		at = strings.Join(fault.InstanceLocation, ".")
	}
	return decode.OneLine(at + ": " + fault.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// plain turns what JSON does not have into what it would be there: values that did not
// come as JSON may hold times and durations.
func plain(x any) any {
	switch x := x.(type) {
	case map[string]any:
		for k, e := range x {
			x[k] = plain(e)
		}
	case []any:
		for i, e := range x {
			x[i] = plain(e)
		}
	case nil, bool, string, float64, json.Number,
		int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
	default: // a time or a duration: its JSON is a string
		v, err := boundary.FromAny(x)
		if err != nil {
			return nil
		}
		s := v.String()
		var text string
		if json.Unmarshal(v.AppendJSON(nil), &text) == nil {
			s = text
		}
		return s
	}
	return x
}
