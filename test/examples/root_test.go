// Package examples runs what stands in the folder examples: every declaration's own tests, and
// each example with real data against a plain program that computes the same.
package examples

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
