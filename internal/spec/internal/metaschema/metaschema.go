// Package metaschema checks that a value is a JSON Schema.
package metaschema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Problem is a place in a schema that is wrong, as the steps that lead there, and
// why, on one line.
type Problem struct {
	Pointer []string
	Text    string
}

// Checker checks schemas. One for many is faster than one each, since the
// meta-schema is compiled once. It is used by one goroutine.
type Checker struct {
	compiler *jsonschema.Compiler
	count    int
}

// sealed loads nothing: a schema is whole in itself, and checking it does no I/O.
type sealed struct{}

func (sealed) Load(string) (any, error) {
	return nil, errors.New("a schema may refer only to what is in it")
}

// Check returns what is wrong with a schema, nil when it is one. The schema is
// map[string]any, []any and scalars, and is not changed.
func (c *Checker) Check(schema any) []Problem {
	if c.compiler == nil {
		c.compiler = jsonschema.NewCompiler()
		c.compiler.UseLoader(sealed{})
	}
	c.count++
	url := "declaration:///" + strconv.Itoa(c.count)
	err := c.compiler.AddResource(url, schema)
	if err == nil {
		_, err = c.compiler.Compile(url)
	}
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if cause, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return leaves(cause)
		}
	}
	return []Problem{{Text: oneLine(strings.ReplaceAll(err.Error(), url, ""))}}
}

// leaves are the causes at the bottom, one per place: those above only repeat that
// something below is wrong.
func leaves(e *jsonschema.ValidationError) []Problem {
	var problems []Problem
	printer := message.NewPrinter(language.English)
	seen := make(map[string]bool)
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			walk(c)
		}
		if at := fmt.Sprint(e.InstanceLocation); len(e.Causes) == 0 && !seen[at] {
			seen[at] = true
			problems = append(problems, Problem{
				Pointer: e.InstanceLocation, Text: oneLine(e.ErrorKind.LocalizedString(printer)),
			})
		}
	}
	walk(e)
	return problems
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
