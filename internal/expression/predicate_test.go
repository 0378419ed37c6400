package expression

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
)

// An object behind a comma is an object, and what goes wrong is told at its place in the text.
func TestObjectsInPredicates(t *testing.T) {
	t.Parallel()
	const text = `map(l, {"ä": #}) == map(l, {b: map(l, {c: 1 / (# - 1)})})`
	p, err := Compile(text, Scope{Names: []Name{{"l", Any()}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Eval(&Env{Values: []boundary.Value{boundary.List([]boundary.Value{boundary.Int(1)})}})
	failed := new(EvalError)
	if !errors.As(err, &failed) || failed.Offset != strings.Index(text, "/") {
		t.Errorf("got %v at %d, want it at %d", err, failed.Offset, strings.Index(text, "/"))
	}
	if got := p.Text(); got != text {
		t.Errorf("the text became %q", got)
	}
}
