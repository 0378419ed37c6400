package reread

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A file is read again when its stamp has changed, when that is too fresh to be believed, and once in a while whatever
// it says; and it is told of when what is in it has changed.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	born := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	put := func(text string, at time.Duration) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600),
			os.Chtimes(path, time.Time{}, born.Add(at))); err != nil {
			t.Fatal(err)
		}
	}
	var files Files
	read := func(at time.Duration) string {
		t.Helper()
		text, changed, err := files.Read(path, born.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		if !changed {
			return ""
		}
		return string(text)
	}
	hour := time.Hour
	for _, step := range []struct {
		name string
		put  string
		at   time.Duration // when it is written
		read time.Duration
		want string
	}{
		{"the first time", "a", 0, time.Second, "a"},
		{"changed within the grain of its clock", "b", 0, 3 * time.Second, "b"},
		{"under an old stamp, which is believed", "c", 0, 4 * time.Second, ""},
		{"but not for ever", "", 0, 3*time.Second + always, "c"},
		{"another time", "d", hour, hour + settled, "d"},
		{"another size", "ee", hour, hour + 2*settled, "ee"},
		{"the same in it", "ee", 2 * hour, 3 * hour, ""},
	} {
		if step.put != "" {
			put(step.put, step.at)
		}
		if got := read(step.read); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	if files.Forget(path); read(3*hour) != "ee" {
		t.Error("it is known although it was forgotten")
	}
	if files.ForgetAll(); read(3*hour) != "ee" {
		t.Error("it is known although all were forgotten")
	}
	if gone := files.Only([]string{path}); gone != nil {
		t.Errorf("gone: %v", gone)
	}
	if gone := files.Only([]string{"other"}); !slices.Equal(gone, []string{path}) {
		t.Errorf("gone: %v, want the file", gone)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := files.Read(path, born); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
}

// A folder is listed again when its stamp has changed, when that is too fresh to be believed, and once in a while
// whatever it says.
func TestFolderIsListedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	born := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	var folder Folder
	put := func(name string, at time.Duration) {
		t.Helper()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o600),
			os.Chtimes(dir, time.Time{}, born.Add(at))); err != nil {
			t.Fatal(err)
		}
	}
	list := func(at time.Duration) (names []string) {
		t.Helper()
		paths, err := folder.List(filepath.Join(dir, "*.y*ml"), born.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			names = append(names, filepath.Base(p))
		}
		return names
	}
	for _, step := range []struct {
		name string
		put  string
		at   time.Duration // when the folder was written
		read time.Duration
		want []string
	}{
		{"the first time", "a.yaml", 0, time.Second, []string{"a.yaml"}},
		{"changed within the grain of its clock", "b.yml", 0, 3 * time.Second, []string{"a.yaml", "b.yml"}},
		{"under an old stamp, which is believed", "c.yaml", 0, 4 * time.Second, []string{"a.yaml", "b.yml"}},
		{"but not for ever", "", 0, 3*time.Second + always, []string{"a.yaml", "b.yml", "c.yaml"}},
		{"another time", "d.yaml", time.Hour, time.Hour + settled, []string{"a.yaml", "b.yml", "c.yaml", "d.yaml"}},
		{"not one of these", "e.txt", 2 * time.Hour, 3 * time.Hour, []string{"a.yaml", "b.yml", "c.yaml", "d.yaml"}},
	} {
		if step.put != "" {
			put(step.put, step.at)
		}
		if got := list(step.read); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	put("f.yaml", 2*time.Hour)
	if folder.ForgetAll(); len(list(3*time.Hour)) != 5 {
		t.Error("it is known although it was forgotten")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := list(3 * time.Hour); got != nil {
		t.Errorf("it is gone, and lists %q", got)
	}
}
