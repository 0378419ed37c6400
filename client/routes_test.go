package client

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	apidoc "github.com/graphd/graphd/api"
)

// elsewhere are operations that no method stands for: browsers and agents ask for them, or a Watch and a PushStream do.
const elsewhere = `page graphPage pageFile manual manualPage agentMessage loginPage login logout beginLogin
	finishLogin reactorSocket eventsSocket pushSocket`

// allCovered: every route of the document has a method.
func allCovered(t *testing.T, covered map[string]bool) {
	t.Helper()
	for _, operation := range strings.Fields(elsewhere) {
		covered[operation] = true
	}
	var doc struct{ Paths map[string]map[string]any }
	if err := yaml.Unmarshal(apidoc.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			if o, ok := op.(map[string]any); ok && !covered[o["operationId"].(string)] {
				t.Errorf("no method of the client sends %s %s", method, path)
			}
		}
	}
}
