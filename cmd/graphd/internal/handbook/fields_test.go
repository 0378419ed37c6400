package handbook

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/api"
)

// Every field of requests and answers is known, by what the document of the API says of it.
func TestFieldsOfAnswers(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct{ Schemas map[string]shape }
	}
	if err := yaml.Unmarshal(api.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, of := range document.Components.Schemas {
		for name := range of.Properties {
			if n++; n%16 != 0 {
				continue // each is looked for in all pages, which takes its time
			}
			if found, err := Find(name); err != nil || len(found) == 0 {
				t.Errorf("%s: nothing is said, %v", name, err)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d fields were found", n)
	}
	for word, want := range map[string]string{
		"next_index":       "type: integer",
		"checkpoint_bytes": "What the last checkpoint since the start wrote",
	} {
		found, err := Find(word)
		if err != nil || len(found) == 0 || !strings.HasPrefix(found[0].Where, "api/openapi.yaml, ") ||
			!strings.Contains(found[0].Text, want) {
			t.Errorf("%s: %+v, %v", word, found, err)
		}
	}
}
