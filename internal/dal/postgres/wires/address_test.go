package wires

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// An address that cannot be used is told of without its password, and a file that it names by its name.
func TestParse(t *testing.T) {
	t.Parallel()
	for dsn, missing := range map[string]bool{
		"postgres://graphd:s3cret@db:5432/graphd?sslmode=verify-full&sslrootcert=/nowhere/ca.crt": true,
		"postgres://graphd:s3cret@db:54x32/graphd":                                                false,
	} {
		_, err := Parse(dsn)
		if err == nil || errors.Is(err, fs.ErrNotExist) != missing || strings.Contains(err.Error(), "s3cret") ||
			missing != strings.Contains(err.Error(), "/nowhere/ca.crt") {
			t.Errorf("%s: got %v", dsn, err)
		}
	}
}
