package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
)

// M44: a file that was rotated while nobody read it is finished first, found beside the new
// one by its fingerprint; where that cannot be told for sure it is lost data, and said so.
func TestM44RotatedWhileDown(t *testing.T) {
	head := strings.Repeat("x", fingerprintSize) // a fingerprint of its own
	for _, tc := range []struct {
		name   string
		others map[string]string // beside the renamed file; "" beginning: the head again
		want   string            // of what comes after the restart; "" means lost
	}{
		{"found", nil, "3 4 5"},
		{"another log is no matter", map[string]string{"other.txt": "something\n"}, "3 4 5"},
		{"two match", map[string]string{"copy": head + "\n2\n3\n4\n"}, ""},
		{"a generation was missed", map[string]string{"app.log.0": "never read\n"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "app.log")
				write(t, path, head+"\n2\n")
				f := follow(t, Config{Path: path})
				settle(time.Second)
				from := f.last(t)
				f.end(t)

				appendTo(t, path, "3\n4\n")
				if err := os.Rename(path, filepath.Join(dir, "app.log.1")); err != nil {
					t.Fatal(err)
				}
				old := time.Now().Add(-time.Hour)
				if err := os.Chtimes(filepath.Join(dir, "app.log.1"), old, old); err != nil {
					t.Fatal(err)
				}
				write(t, path, "5\n")
				for name, text := range tc.others {
					write(t, filepath.Join(dir, name), text)
				}
				f = follow(t, Config{Path: path}, from)
				settle(time.Minute)
				if tc.want == "" {
					var lost *accumulator.DataLost
					if err := <-f.done; !errors.As(err, &lost) || f.texts() != "" {
						t.Fatalf("got %v and %q, want lost data", err, f.texts())
					}
					return
				}
				if got := f.texts(); got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
				appendTo(t, path, "6\n")
				settle(time.Second)
				if got := f.texts(); got != tc.want+" 6" {
					t.Errorf("got %q", got)
				}
				f.end(t)
			})
		})
	}
}
