package language

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Grammar is what the JSON Schema of declarations says.
type Grammar struct {
	root        map[string]any
	definitions map[string]any
}

// NewGrammar reads the JSON Schema, as graphd schema prints it.
func NewGrammar(schema []byte) (*Grammar, error) {
	g := new(Grammar)
	if err := json.Unmarshal(schema, &g.root); err != nil {
		return nil, fmt.Errorf("read the JSON Schema of declarations: %w", err)
	}
	g.definitions, _ = g.root["$defs"].(map[string]any)
	return g, nil
}

// Form is what can stand at a place.
type Form struct {
	// About is what the language says of it, and Default what stands for it when it is left out.
	About, Default string
	// Fields are the fields of a mapping that can stand there, Named whether it is one whose keys are the user's.
	Fields []Field
	Named  bool
	// Words are the values that can stand there where these are given.
	Words []string
	// Is are the definitions that it goes by, such as expression.
	Is []string
}

// Field is a field of a mapping.
type Field struct {
	Name, About, Default string
	Required             bool
}

const (
	maxRefs  = 32   // definitions in a row; the schema has ten
	maxForms = 4000 // parts of the schema that one place goes by
)

// At is what can stand at a path, ok is false where there can be nothing.
func (g *Grammar) At(path []string) (f Form, ok bool) {
	at := []map[string]any{g.root}
	for _, key := range path {
		var next []map[string]any
		for _, s := range g.spread(at) {
			if below := child(s, key); below != nil {
				next = append(next, below)
			}
		}
		if at = next; len(at) == 0 {
			return f, false
		}
	}
	seen := map[string]bool{}
	for _, s := range g.spread(at) {
		if text, _ := s["description"].(string); f.About == "" {
			f.About = text
		}
		if value, is := s["default"]; is && f.Default == "" {
			f.Default = shown(value)
		}
		if ref, is := s["$ref"].(string); is {
			f.Is = append(f.Is, strings.TrimPrefix(ref, "#/$defs/"))
		}
		f.words(s)
		g.fields(&f, s, seen)
	}
	slices.SortFunc(f.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return f, true
}

// fields adds the fields that a part of the schema has.
func (g *Grammar) fields(f *Form, s map[string]any, seen map[string]bool) {
	if _, named := s["additionalProperties"].(map[string]any); named {
		f.Named = true
	}
	required, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		of, _ := properties[name].(map[string]any)
		if not, is := of["not"].(map[string]any); seen[name] || of == nil || is && len(not) == 0 {
			continue // it is known and not built
		}
		seen[name] = true
		field := Field{Name: name, Required: slices.Contains(required, any(name))}
		for _, s := range g.spread([]map[string]any{of}) {
			if text, _ := s["description"].(string); field.About == "" {
				field.About = text
			}
			if value, is := s["default"]; is && field.Default == "" {
				field.Default = shown(value)
			}
		}
		f.Fields = append(f.Fields, field)
	}
}

// words adds the values that a part of the schema lists.
func (f *Form) words(s map[string]any) {
	list, _ := s["enum"].([]any)
	if value, is := s["const"]; is {
		list = append(list, value)
	}
	if s["type"] == "boolean" {
		list = append(list, true, false)
	}
	for _, value := range list {
		if _, number := value.(float64); number {
			continue // such as 0, for which a duration needs no unit: there are others
		}
		if word := shown(value); !slices.Contains(f.Words, word) {
			f.Words = append(f.Words, word)
		}
	}
}

func shown(value any) string {
	if text, is := value.(string); is {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// child is what a part of the schema says of a key, nil for nothing.
func child(s map[string]any, key string) map[string]any {
	if key == Item {
		items, _ := s["items"].(map[string]any)
		return items
	}
	properties, _ := s["properties"].(map[string]any)
	if of, _ := properties[key].(map[string]any); of != nil {
		return of
	}
	others, _ := s["additionalProperties"].(map[string]any)
	return others
}

// spread are parts of the schema with the definitions and alternatives that they go by.
func (g *Grammar) spread(parts []map[string]any) (all []map[string]any) {
	var add func(s map[string]any, depth int)
	add = func(s map[string]any, depth int) {
		if s == nil || depth > maxRefs || len(all) > maxForms {
			return
		}
		all = append(all, s)
		if ref, is := s["$ref"].(string); is {
			of, _ := g.definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			add(of, depth+1)
		}
		for _, word := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := s[word].([]any)
			for _, one := range list {
				of, _ := one.(map[string]any)
				add(of, depth+1)
			}
		}
	}
	for _, s := range parts {
		add(s, 0)
	}
	return all
}
