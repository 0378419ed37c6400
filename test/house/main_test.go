// Package house holds the rules of AGENTS.md that a machine can hold: which package may import
// which (layers_test.go has the table), that the cores know no clock and no lock, how large
// packages, files and lines may be, that nothing happens in an init function, and that every
// package says what it is for.
//
// What is known to break a rule stands in exceptions_test.go, with its ceiling or its reason.
// The tests read the sources themselves and run no go command, so that a cached result is never
// older than what it read.
package house

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
