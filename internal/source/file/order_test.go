package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/source/file"
)

// M49: the positions of a file have an order, also those that were taken while it was short; those of two files of one
// name have none.
func TestM49TheBytesOfAFileHaveAnOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "in.ndjson")
	source, err := file.New(file.Config{Path: path, ReaderConfig: file.ReaderConfig{Format: "ndjson"}})
	if err != nil {
		t.Fatal(err)
	}
	end := func(text string) boundary.Position {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at, err := source.Seek(t.Context(), "end")
		if err != nil {
			t.Fatal(err)
		}
		return at[0]
	}
	other := end("[]\n[]\n")
	short, longer, full := end("1\n"), end("1\n2\n"), end(strings.Repeat("1\n2\n", 1000))
	further := end(strings.Repeat("1\n2\n", 2000))
	for _, c := range []struct {
		name          string
		a, b          boundary.Position
		behind, known bool
	}{
		{"no position", boundary.Position{}, short, true, true},
		{"a file that has grown", full, further, true, true},
		{"the other way", further, full, false, true},
		{"itself", full, full, false, true},
		{"a short file that has grown", short, full, true, true},
		{"the other way", full, short, false, true},
		{"a file before", other, full, false, false},
		{"a file before, short", other, longer, false, false},
	} {
		behind, known := source.Behind(c.a, c.b)
		if known != c.known || known && behind != c.behind {
			t.Errorf("%s: %v, %v", c.name, behind, known)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, known := source.Behind(longer, full); known {
		t.Error("of a file that is gone it is known that it was one")
	}
}
