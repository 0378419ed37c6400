//go:build unix

package reread

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// stampOf is a file's size, and when it was last written. [os.Stat] makes much more of it, for each file of thousands.
func stampOf(path string) (stamp, error) {
	var s unix.Stat_t
	for {
		switch err := unix.Stat(path, &s); { //nolint:errorlint // it is a number
		case err == nil:
			return stamp{s.Size, s.Mtim.Nano()}, nil
		case err == unix.EINTR: // a network's file system may answer so
		default:
			return stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
	}
}
