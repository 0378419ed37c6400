//go:build !unix

package filelock

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock that the kernel releases, two processes could
// own one graph.
func tryLock(*os.File) (bool, error) {
	return false,
		errors.New("the embedded store needs a file lock, which is not built for this platform; use the store " +
			"memory: instead")
}

func unlock(*os.File) error { return nil }
