// Package includes reads declarations together with the files that they include.
//
// Start with [Read]. Who names a declaration on the command line may read what he includes there; a folder that a
// daemon watches includes only what is below it ([InFolder]). What comes of it is one text, see package assembly.
package includes

import (
	"errors"
	"fmt"
	"os"

	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec/assembly"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Read reads the declaration in a file, "-" for standard input, and makes it whole with vars that are set. Includes of
// standard input begin in the working directory. A mistake in an include is a [decode.Diagnostics], a var that cannot
// be set a *[assembly.SetError].
func Read(path string, set map[string]string) (*assembly.Document, error) {
	o := assembly.Options{File: path, Set: set}
	if path == "-" {
		o.File, o.Folder = os.Stdin.Name(), "."
	}
	data, err := os.ReadFile(o.File)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no declaration %s: %w", o.File, os.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read the declaration: %w", err)
	}
	return Whole(data, o)
}

// Whole makes a declaration whole that has been read already: its includes are read as those of the command line.
func Whole(data []byte, o assembly.Options) (*assembly.Document, error) {
	var operator *policy.Policy
	if o.File != "" {
		o.Read = func(path string) ([]byte, error) { return operator.Read(path, decode.MaxBytes) }
	}
	return assembly.Make(data, o)
}

// InFolder makes a declaration whole that lies in a folder, below which what it includes has to be, too. read is told
// what has been read of each of these; nil where there was none to be had.
func InFolder(folder, path string, data []byte, read func(path string, text []byte)) (*assembly.Document, error) {
	return assembly.Make(data, assembly.Options{File: path, Read: func(path string) ([]byte, error) {
		text, err := policy.ReadBelow(folder, path, decode.MaxBytes)
		read(path, text)
		return text, err
	}})
}
