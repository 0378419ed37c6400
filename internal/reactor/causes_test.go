package reactor

import (
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/expression/library"
)

// M38: what a condition over cause() is checked against is what epochs run for.
func TestM38CausesAreThoseOfExpressions(t *testing.T) {
	t.Parallel()
	var all []string
	for c := range causeCount {
		all = append(all, c.String())
	}
	known := library.Causes()
	slices.Sort(all)
	slices.Sort(known)
	if !slices.Equal(all, known) {
		t.Errorf("epochs run for %q, expressions know %q", all, known)
	}
}
