// Package leaks finds goroutines that tests leave behind.
//
// What was told to end may take a while for that on a machine that does much else, and goleak alone gives it less than
// half a second. Here it has a minute, which nobody waits for where all has ended.
//
//	func TestMain(m *testing.M) { leaks.Main(m) }
//
//	defer leaks.None(t, goleak.IgnoreCurrent())
//
// The package starts no goroutine.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long what was told to end may take.
const patience = time.Minute

// None fails a test that leaves goroutines behind, but for those that the options let be.
func None(t testing.TB, let ...goleak.Option) {
	t.Helper()
	if err := find(patience, let...); err != nil {
		t.Error(err)
	}
}

// Main runs the tests of a package, ends what they share, and ends the process: as a failure also where goroutines are
// left behind.
func Main(m *testing.M, ends ...func()) {
	code := m.Run()
	for _, end := range ends {
		end()
	}
	if code == 0 {
		if err := find(patience); err != nil {
			fmt.Fprintln(os.Stderr, "the tests are well, but for what they leave behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// find looks again and again, goleak's own pauses apart, until nothing is left or its time is over.
func find(within time.Duration, let ...goleak.Option) (err error) {
	for began := time.Now(); ; {
		if err = goleak.Find(let...); err == nil || time.Since(began) >= within {
			return err
		}
	}
}
