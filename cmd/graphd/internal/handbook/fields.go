package handbook

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/api"
)

// maxFields is how many shapes that have a field are quoted.
const maxFields = 3

// shape is what the document of the API says of a request or an answer, or of a field of one.
type shape struct {
	Description string           `yaml:"description"`
	Type        any              `yaml:"type"`
	Ref         string           `yaml:"$ref"`
	Enum        []string         `yaml:"enum"`
	Properties  map[string]shape `yaml:"properties"`
	Items       *shape           `yaml:"items"`
	AllOf       []shape          `yaml:"allOf"`
	OneOf       []shape          `yaml:"oneOf"`
	AnyOf       []shape          `yaml:"anyOf"`
}

// fields is what the document of the API says of a field of requests and answers, shape by shape in the order of their
// names. What has a description goes before what has none.
func fields(word string) ([]Entry, error) {
	var document struct {
		Components struct {
			Schemas map[string]shape `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(api.OpenAPI(), &document); err != nil {
		return nil, fmt.Errorf("read the document of the API: %w", err)
	}
	var told, untold []Entry
	names := make([]string, 0, len(document.Components.Schemas))
	for name := range document.Components.Schemas {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		of := document.Components.Schemas[name]
		of.each(word, func(f *shape) {
			e := Entry{Term: word, Where: "api/openapi.yaml, " + name, Text: f.text()}
			if f.Description != "" {
				told = append(told, e)
			} else {
				untold = append(untold, e)
			}
		})
	}
	told = append(told, untold...)
	return told[:min(len(told), maxFields)], nil
}

// each visits the fields of a name in the shape and in what is nested in it.
func (s *shape) each(word string, visit func(*shape)) {
	for name, p := range s.Properties {
		if name == word {
			visit(&p)
		}
		p.each(word, visit)
	}
	if s.Items != nil {
		s.Items.each(word, visit)
	}
	for _, list := range [][]shape{s.AllOf, s.OneOf, s.AnyOf} {
		for i := range list {
			list[i].each(word, visit)
		}
	}
}

// text is the field in words: what it is, and of which type.
func (s *shape) text() string {
	var lines []string
	if s.Description != "" {
		lines = append(lines, plain(strings.Join(strings.Fields(s.Description), " ")))
	}
	kind := s.kind()
	if len(s.Enum) > 0 {
		kind = "one of " + strings.Join(s.Enum, ", ")
	}
	if kind != "" {
		lines = append(lines, "type: "+kind)
	}
	return strings.Join(lines, "\n")
}

func (s *shape) kind() string {
	switch t := s.Type.(type) {
	case string:
		if t == "array" && s.Items != nil {
			return "array of " + s.Items.kind()
		}
		return t
	case []any:
		words := make([]string, len(t))
		for i := range t {
			words[i] = fmt.Sprint(t[i])
		}
		return strings.Join(words, " or ")
	}
	for _, of := range append([]shape{*s}, s.AllOf...) {
		if i := strings.LastIndexByte(of.Ref, '/'); i >= 0 {
			return of.Ref[i+1:]
		}
	}
	return ""
}
