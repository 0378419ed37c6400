package file

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSiblings bounds how many files of a folder are looked at for the one that was renamed.
const maxSiblings = 1000

// rotatedAway finds the file that was being read when it was renamed while nobody looked: a
// file of the same folder with the fingerprint and at least what was read of it. It is open
// for reading, or nil when there is none, or when it cannot be told for sure: two files
// match, or another generation, which was never read, lies between it and the present one.
func (t *tail) rotatedAway(want fingerprint, offset int64) (*os.File, error) {
	if want.n == 0 {
		return nil, nil // an empty beginning says nothing
	}
	dir, base := filepath.Split(t.cfg.Path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for a renamed file: %w", err)
	}
	if len(entries) > maxSiblings {
		return nil, nil
	}
	var found fs.FileInfo
	var name string
	var siblings []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name() == base {
			continue
		}
		if generationOf(e.Name(), base) {
			siblings = append(siblings, info)
		}
		if info.Size() < offset || !t.matches(filepath.Join(dir, e.Name()), want) {
			continue
		}
		if found != nil {
			return nil, nil
		}
		found, name = info, filepath.Join(dir, e.Name())
	}
	if found == nil {
		return nil, nil
	}
	for _, s := range siblings {
		if s.ModTime().After(found.ModTime()) {
			return nil, nil
		}
	}
	return t.cfg.Access.Open(name)
}

// generationOf says whether a file is named like an earlier generation of base: app.log.1,
// app.log-20261121, app-2.log.
func generationOf(name, base string) bool {
	ext := filepath.Ext(base)
	return strings.HasPrefix(name, base) || strings.HasPrefix(name, strings.TrimSuffix(base, ext)) &&
		filepath.Ext(name) == ext
}

func (t *tail) matches(path string, want fingerprint) bool {
	f, err := t.cfg.Access.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // read only
	have, err := fingerprintOf(f, want.n)
	return err == nil && have == want
}
