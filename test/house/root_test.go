// Package house holds the rules of AGENTS.md that a machine can hold: which package may import
// which (layers_test.go has the table), that the cores know no clock and no lock, how large
// packages, files and lines may be, that nothing happens in an init function, and that every
// package says what it is for.
//
// What is known to break a rule stands in exceptions_test.go, with its ceiling or its reason.
// The tests read the sources themselves and run no go command, so that a cached result is never
// older than what they read.
package house

import (
	"os"
	"sync"
	"testing"
)

// moveToRoot changes to the module's root, once. It is no TestMain: what a test reads after it
// has begun is what go test knows it by when it looks for a cached result.
var moveToRoot = sync.OnceValue(func() error { return os.Chdir("../..") })

// atRoot begins every test here: its paths are as they stand in the tree.
func atRoot(t *testing.T) {
	t.Helper()
	if err := moveToRoot(); err != nil {
		t.Fatal(err)
	}
}
