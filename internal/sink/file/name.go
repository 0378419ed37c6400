package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/policy"
)

// placeholder is where in a path the partition stands.
const placeholder = "{partition}"

// maxName is how many bytes a file's or folder's name may have.
const maxName = 255

// name is the text that stands for a partition in a path. A list is a folder for each of its values but
// the last; whatever a value is, it makes no folder and leads into none but by a list.
func name(v boundary.Value) string {
	if v.Kind() != boundary.KindList || v.Len() == 0 {
		return part(v)
	}
	parts := make([]string, 0, v.Len())
	for item := range v.Items() {
		parts = append(parts, part(item))
	}
	return strings.Join(parts, "/")
}

// part is a value as a part of a path: a text is itself, anything else its JSON. Letters, digits and
// what is plain in a file's name stand for themselves; every other byte, and a point in
// front, is %XX.
func part(v boundary.Value) string {
	text, ok := v.AsString()
	switch {
	case v.IsAbsent() || v.IsNull():
		return "_null"
	case !ok:
		text = strings.Trim(string(v.AppendJSON(nil)), `"`) // a time is a text in JSON
	}
	if text == "" {
		return "_empty"
	}
	var b strings.Builder
	for i, w := 0, 0; i < len(text); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(text[i:])
		if plain(r) && (r != '.' || i > 0) {
			b.WriteString(text[i : i+w])
			continue
		}
		for _, c := range []byte(text[i : i+w]) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func plain(r rune) bool {
	return r != utf8.RuneError && (strings.ContainsRune("._-+=@,~", r) || unicode.IsLetter(r) || unicode.IsDigit(r) ||
		unicode.IsMark(r))
}

// fill is the path of a partition. It is refused where a name would be longer than names can be.
func fill(path, partition string) (string, error) {
	filled := strings.ReplaceAll(path, placeholder, partition)
	for one := range strings.SplitSeq(filled, "/") {
		if len(one) > maxName {
			return "", fmt.Errorf("the partition makes a name of %d bytes, and a name has %d at most: %.60s…; "+
				"make it shorter in partition, as with x[:40]", len(one), maxName, one)
		}
	}
	return filled, nil
}

// root is the folder below which all files of a path are, whatever stands for the partition.
func root(path string) string {
	before, _, _ := strings.Cut(path, placeholder)
	return filepath.Dir(before + "x")
}

// lookForFolder answers an error when a folder is not there.
func lookForFolder(path, folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noFolder(path, folder)
	case err == nil && !info.IsDir():
		return fmt.Errorf("open %s: %s is no folder; name one", path, folder)
	}
	return err
}

func noFolder(path, folder string) error {
	return fmt.Errorf("open %s: the folder %s does not exist; make it or change the sink's path", path, folder)
}

// makeFolders makes the folders between a root, which must be there, and a file.
func makeFolders(access *policy.Policy, path, root string) error {
	folder := filepath.Dir(path)
	if filepath.Clean(folder) == filepath.Clean(root) {
		return nil
	}
	if err := lookForFolder(path, root); err != nil {
		return err
	}
	if err := access.MakeFolders(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	return nil
}

// inTheWay says what is in the way of a partition's file: a folder of its name, or a file where its folders
// would be; nil for nothing.
func inTheWay(path, root string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder, made for partitions of longer names; look at partition", path)
	}
	root = filepath.Clean(root)
	for dir := filepath.Dir(path); dir != root && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return fmt.Errorf("%s would be the folder of %s and is a file, of a partition of a shorter name; look at "+
				"partition", dir, path)
		}
	}
	return nil
}
