// Package docs holds the documentation to the product: every command, declaration, test, flag,
// code and figure that a page shows is run or looked up. docs_test.go reads the pages and their
// declarations, run_test.go and daemon_test.go run their console blocks as a reader would, and
// code_test.go compares what the pages list with the sources.
package docs

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
