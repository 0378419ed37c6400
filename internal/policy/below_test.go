package policy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file below a folder is read by any name that leads to it there, and none by a name or link that leads out.
func TestReadBelow(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	folder := filepath.Join(top, "folder")
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := errors.Join(os.MkdirAll(in("below/.hidden"), 0o755),
		os.WriteFile(in("below/.hidden/a"), []byte("in"), 0o600),
		os.WriteFile(filepath.Join(top, "a"), []byte("out"), 0o600), os.Symlink("below/.hidden", in("link")),
		os.Symlink("../a", in("out")), os.Symlink("..", in("up"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		in("below/.hidden/a"): "in", in("link/a"): "in", in("below/../link/a"): "in", in("out"): "denied",
		in("up/a"): "denied", in("../a"): "denied", filepath.Join(top, "a"): "denied", "/": "denied",
		in("none"): "none", in("../none"): "denied", in("below"): "irregular",
	} {
		text, err := ReadBelow(folder, path, 100)
		_, denied := errors.AsType[*DeniedError](err)
		got := string(text)
		switch {
		case denied:
			got = "denied"
		case errors.Is(err, os.ErrNotExist):
			got = "none"
		case errors.Is(err, ErrNotRegular):
			got = "irregular"
		case err != nil:
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s (%v)", path, got, want, err)
		}
	}
	if _, err := ReadBelow(folder, in("link/a"), 1); err == nil {
		t.Error("more than the bound is read")
	}
}
