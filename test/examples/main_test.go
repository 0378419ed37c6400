// Package examples runs what stands in the folder examples: every declaration's own tests, and
// each example with real data against a plain program that computes the same.
package examples

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
