// Package docs holds the documentation to the product: every command, declaration, test, flag,
// code and figure that a page shows is run or looked up. docs_test.go reads the pages and their
// declarations, run_test.go and daemon_test.go run their console blocks as a reader would, and
// code_test.go compares what the pages list with the sources.
package docs

import (
	"fmt"
	"os"
	"testing"
)

// TestMain works in the module's root, so that every path here is as it stands in the tree.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
