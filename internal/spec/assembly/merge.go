package assembly

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/decode"
)

// merge puts what the included files bring before what the declaration has itself, section by section.
func (g *gatherer) merge(own *source) {
	root := own.doc.Root
	names := map[string]entry{}
	for _, section := range sections {
		key, mapping := find(root, section)
		if mapping != nil && mapping.Kind != yaml.MappingNode {
			continue // the decoder says so
		}
		list := g.got[section]
		g.checkNames(names, section, list)
		if mapping != nil {
			var its []entry
			for i := 0; i+1 < len(mapping.Content); i += 2 {
				its = append(its, entry{mapping.Content[i], mapping.Content[i+1], own})
			}
			g.checkNames(names, section, its)
		}
		if len(list) == 0 {
			continue
		}
		if mapping == nil {
			mapping = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: root.Line, Column: root.Column}
			key = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: section, Line: root.Line, Column: root.Column}
			root.Content = append(root.Content, key, mapping)
		}
		if mapping.Style&yaml.FlowStyle != 0 { // from here on it has lines of its own
			mapping.Style &^= yaml.FlowStyle
			key.HeadComment = strings.TrimSpace(key.HeadComment + "\n" + mapping.LineComment)
			mapping.LineComment = ""
		}
		var before []*yaml.Node
		for _, e := range list {
			before = append(before, e.key, e.value)
		}
		mapping.Content = append(before, mapping.Content...)
	}
}

// find is a field of a mapping; nil where there is none.
func find(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// checkNames reports the entries whose names are taken. Accumulators and nodes share one name space.
func (g *gatherer) checkNames(names map[string]entry, section string, list []entry) {
	space := section
	if section == "nodes" {
		space = "accumulators"
	}
	for _, e := range list {
		name := space + "." + e.key.Value
		first, taken := names[name]
		if !taken {
			names[name] = e
			continue
		}
		what := strings.TrimSuffix(section, "s")
		if first.from == e.from && slices.Contains(first.from.section(section), first.key) {
			g.report(e.from, e.key, decode.CodeDuplicateKey, "%s is given twice, first on line %d; remove one",
				decode.Quote(e.key.Value), first.key.Line)
			continue
		}
		g.report(e.from, e.key, decode.CodeDuplicateName, "%s of this name, %s, cannot stand beside that of %s on "+
			"line %d; rename one of the two", decode.Article(what), decode.Quote(e.key.Value), first.from.name,
			first.key.Line)
	}
}

// section is the keys and values of one of the file's sections.
func (s *source) section(name string) []*yaml.Node {
	if _, mapping := find(s.doc.Root, name); mapping != nil {
		return mapping.Content
	}
	return nil
}
