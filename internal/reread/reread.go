// Package reread reads files again and again, and each of them only when it may have changed.
//
// A file's time and size say so. They are not believed while the file has only just been written, for a file system's
// clock is coarse, and not for longer than a minute, for tools can set a time as they like.
package reread

import (
	"crypto/sha256"
	"os"
	"slices"
	"time"
)

// Every file is read again once in always, whatever its stamp says; a stamp is believed from settled on after the file
// was last written.
const (
	always  = time.Minute
	settled = 2 * time.Second
)

// Files are what is known of files that have been read. Its zero value knows none. It is for one goroutine.
type Files struct{ known map[string]file }

type file struct {
	sum [sha256.Size]byte
	stamp
	read int64 // when it was, in Unix nanoseconds
}

// stamp is what tells that a file may have changed.
type stamp struct {
	size    int64
	written int64 // in Unix nanoseconds
}

// believed says that what was read at a time, likewise, need not be read again while the stamp is that.
func (s stamp) believed(read int64, now time.Time) bool {
	return read-s.written > int64(settled) && now.UnixNano()-read < int64(always)
}

// Read answers with what is in a file, where that is not what was in it the last time.
func (f *Files) Read(path string, now time.Time) (content []byte, changed bool, err error) {
	before, known := f.known[path]
	at, err := stampOf(path)
	if err != nil || known && before.stamp == at && at.believed(before.read, now) {
		return nil, false, err
	}
	if content, err = os.ReadFile(path); err != nil {
		return nil, false, err
	}
	if f.known == nil {
		f.known = make(map[string]file)
	}
	read := file{sha256.Sum256(content), at, now.UnixNano()}
	f.known[path] = read
	return content, !known || before.sum != read.sum, nil
}

// Digest is what Read goes by: that of what is in a file, zero where it cannot be read.
func (f *Files) Digest(path string, now time.Time) [sha256.Size]byte {
	if _, _, err := f.Read(path, now); err != nil {
		f.Forget(path)
	}
	return f.known[path].sum
}

// Forget has a file read the next time as if it were for the first.
func (f *Files) Forget(path string) { delete(f.known, path) }

// ForgetAll forgets all files.
func (f *Files) ForgetAll() { clear(f.known) }

// Only forgets the files that are not among paths, which are in order, and answers which those were.
func (f *Files) Only(paths []string) (gone []string) {
	for path := range f.known {
		if _, there := slices.BinarySearch(paths, path); !there {
			f.Forget(path)
			gone = append(gone, path)
		}
	}
	slices.Sort(gone)
	return gone
}
