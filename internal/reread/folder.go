package reread

import (
	"path/filepath"
	"time"
)

// Folder lists the files of a folder, and reads it again only when it may have changed; and so it does with the files.
// Its zero value knows none. It is for one goroutine.
type Folder struct {
	Files

	pattern string
	paths   []string
	at      stamp
	read    int64
}

// List is the paths that match a pattern, in order; only its last element is one, as [filepath.Glob] has it. The caller
// must not change the answer. A folder that is not there has no files.
func (f *Folder) List(pattern string, now time.Time) ([]string, error) {
	at, err := stampOf(filepath.Dir(pattern))
	if err == nil && f.pattern == pattern && at == f.at && at.believed(f.read, now) {
		return f.paths, nil
	}
	read := now.UnixNano()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	f.pattern, f.paths, f.at, f.read = pattern, paths, at, read
	return paths, nil
}

// ForgetAll forgets all files and what is in the folder.
func (f *Folder) ForgetAll() {
	f.Files.ForgetAll()
	f.pattern = ""
}
