package trial_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/engine/trial"
)

// TestComplete: the cursor is where a mistake would be, whatever characters stand before it, and the word around it is
// replaced; of a text that nobody can read nothing is known, and that is no error.
func TestComplete(t *testing.T) {
	t.Parallel()
	const doc = "graph: g\naccumulators:\n  orders:\n    schema: { type: object, " +
		"properties: { price: { type: number } } }\n" +
		"nodes:\n  n: { expr: '\"🙂ü\" + orders.pr‸ice' }\n"
	s := trial.NewSpeller(new(builtin.Kinds))
	for text, want := range map[string]string{doc: "2 3 member price price float", "a: [\nb: ‸": "0 0"} {
		before, after, _ := strings.Cut(text, "‸")
		line := strings.Count(before, "\n") + 1
		column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
		got, err := s.Complete(t.Context(), "acme", &api.CompletionRequest{Declaration: before + after, Line: line,
			Column: column})
		if err != nil {
			t.Fatal(err)
		}
		said := []string{string(rune('0' + got.Before)), string(rune('0' + got.After))}
		for _, i := range got.Items {
			said = append(said, i.Sort, i.Label, i.Text, i.Detail)
		}
		if !slices.Equal(said, strings.Fields(want)) {
			t.Errorf("%q: %v, want %s", text, said, want)
		}
	}
}
