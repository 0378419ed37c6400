package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Encode renders data as indented JSON, or as YAML in the same order.
func Encode(data any, format string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(data); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	if format != FormatYAML {
		return buf.Bytes(), nil
	}
	// JSON is YAML: read as nodes, it keeps its order and its numbers to the digit.
	var doc yaml.Node
	if err := yaml.Unmarshal(buf.Bytes(), &doc); err != nil {
		return nil, fmt.Errorf("turn the answer into YAML: %w", err)
	}
	blockStyle(&doc)
	var out bytes.Buffer
	y := yaml.NewEncoder(&out)
	y.SetIndent(2)
	if err := y.Encode(&doc); err != nil {
		return nil, fmt.Errorf("turn the answer into YAML: %w", err)
	}
	if err := y.Close(); err != nil {
		return nil, fmt.Errorf("turn the answer into YAML: %w", err)
	}
	return out.Bytes(), nil
}

// blockStyle takes away JSON's brackets and quotes. A string that this version of YAML
// would read as something else keeps its quotes by its tag; one that an older reader
// would ("yes", "12:30") gets them here.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && oldMeaning(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// oldMeaning reports whether YAML 1.1 takes a bare s for a boolean or a number to the base of 60.
func oldMeaning(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return s != "" && strings.IndexByte("+-0123456789", s[0]) >= 0 && strings.Contains(s, ":")
}
