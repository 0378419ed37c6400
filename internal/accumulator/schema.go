package accumulator

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
	"github.com/graphd/graphd/internal/spec"
)

// schemaURL names the declared schema inside the validator. It is never fetched, nor shown.
const schemaURL = "schema:///event"

// errRemoteRef refuses references that leave the document: validating a declaration does no I/O.
var errRemoteRef = errors.New("a $ref must stay within the schema; put what it refers to under $defs")

// schema checks events against a JSON Schema (2020-12 unless it says otherwise;
// formats are asserted). It is safe for concurrent use.
type schema struct {
	quick *quickSchema // nil when the schema says more than quickSchema understands
	full  *jsonschema.Schema
}

// refuseLoader answers every reference to another document.
type refuseLoader struct{}

func (refuseLoader) Load(string) (any, error) { return nil, errRemoteRef }

func compileSchema(a *spec.Accumulator) (*schema, spec.Diagnostics) {
	fail := func(err error) (*schema, spec.Diagnostics) {
		text := strings.ReplaceAll(err.Error(), schemaURL, "")
		return nil, spec.Diagnostics{diagnostic(a.SchemaPos, "schema_invalid", oneLine(text))}
	}
	// The document's own numbers and maps are whatever its decoder made; the validator
	// wants what its own decoder makes.
	text, err := json.Marshal(a.Schema)
	if err != nil {
		return fail(fmt.Errorf("the schema is not JSON: %w", err))
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fail(fmt.Errorf("the schema is not JSON: %w", err))
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return fail(err)
	}
	full, err := c.Compile(schemaURL)
	if errors.Is(err, errRemoteRef) {
		return fail(errRemoteRef)
	}
	if err != nil {
		if invalid := new(jsonschema.SchemaValidationError); errors.As(err, &invalid) {
			err = errors.New(explain(invalid.Err))
		}
		return fail(err)
	}
	return &schema{quick: newQuickSchema(doc), full: full}, nil
}

// check returns what is wrong with v, one line, or "".
func (s *schema) check(v boundary.Value) string {
	if s.quick != nil && s.quick.admits(v) {
		return ""
	}
	err := s.full.Validate(plain(v.Any()))
	if err == nil {
		return ""
	}
	return explain(err)
}

// explain is the first concrete fault that the validator found, with its place in the event.
func explain(err error) string {
	var fault *jsonschema.ValidationError
	if !errors.As(err, &fault) {
		return oneLine(err.Error())
	}
	for len(fault.Causes) > 0 {
		fault = fault.Causes[0]
	}
	at := "the event"
	if len(fault.InstanceLocation) > 0 {
		at = strings.Join(fault.InstanceLocation, ".")
	}
	return oneLine(at + ": " + fault.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// oneLine keeps a text of foreign origin fit for a log line and an answer.
func oneLine(s string) string {
	const most = 500 // enough for any real message; an event's own text may be in it
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
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
