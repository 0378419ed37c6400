// Package npm fetches packages from the registry of npm, by npm's own client, and takes none whose bytes are others
// than those that are asked for.
package npm

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrAway says that the registry was not asked, or has not answered.
var ErrAway = errors.New("npm cannot fetch it")

// Package is one version of a package.
type Package struct {
	Name, Version string
	Sum           string // SHA-256 of its archive, in hex
}

// Fetch is the package's archive, in the user's cache; fetched, unless it is there.
func Fetch(ctx context.Context, p Package) (path string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache: %w", err)
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(p.Name) + "-" + p.Version + ".tgz"
	path = filepath.Join(cache, "graphd-npm", name)
	if p.check(path) == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make a folder for packages: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "fetch-")
	if err != nil {
		return "", fmt.Errorf("make a folder to fetch into: %w", err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, p.Name+"@"+p.Version)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s@%s: %w\n%s", ErrAway, p.Name, p.Version, err, said)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%w: npm pack %s@%s has made %d archives", ErrAway, p.Name, p.Version, len(found))
	}
	if err := p.check(found[0]); err != nil {
		return "", err
	}
	if err := os.Rename(found[0], path); err != nil {
		return "", fmt.Errorf("keep %s: %w", p.Name, err)
	}
	return path, nil
}

// check compares an archive with the sum.
func (p Package) check(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.Name, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("read %s: %w", p.Name, err)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != p.Sum {
		return fmt.Errorf("%s@%s has the SHA-256 %s, want %s", p.Name, p.Version, sum, p.Sum)
	}
	return nil
}

// maxFile bounds a file of a package, in bytes.
const maxFile = 64 << 20

// Each hands over the files of an archive, by their names within the package.
func Each(archive string, do func(name string, text []byte) error) error {
	f, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", archive, err)
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", archive, err)
		}
		_, name, _ := strings.Cut(h.Name, "/") // "package/…", or whatever the folder is called
		if h.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(t, maxFile))
		if err == nil {
			err = do(name, text)
		}
		if err != nil {
			return fmt.Errorf("unpack %s of %s: %w", name, archive, err)
		}
	}
}
