package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// nonblock has an open not wait for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

// MayReach says whether a file may be read and written. The path is absolute.
func (p *Policy) MayReach(path string) error {
	if p == nil {
		return nil
	}
	_, _, err := p.find(path)
	return err
}

// Open opens a regular file for reading.
func (p *Policy) Open(path string) (*os.File, error) { return p.regular(path, os.O_RDONLY, 0) }

// Append opens a file for appending, and makes it when it is not there. It is regular, or the operator's: then it
// may be a pipe or a device, too.
func (p *Policy) Append(path string, perm fs.FileMode) (*os.File, error) {
	const flag = os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if p != nil {
		return p.regular(path, flag, perm)
	}
	f, err := os.OpenFile(path, flag|nonblock, perm)
	if errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("open %s: it is a pipe that nobody reads: %w", path, syscall.ENXIO)
	}
	return f, err
}

// Read reads a file of at most so many bytes.
func (p *Policy) Read(path string, most int) ([]byte, error) {
	f, err := p.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only
	return readAll(f, most)
}

// ReadBelow reads a regular file below a folder, of at most so many bytes. Links are followed as long as they stay in
// the folder; what is outside is a *DeniedError.
func ReadBelow(folder, path string, most int) ([]byte, error) {
	whole, err := filepath.Abs(path)
	root, rootErr := filepath.Abs(folder)
	if err = errors.Join(err, rootErr); err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, whole)
	outside := &DeniedError{fmt.Sprintf("%s is not below the folder %s", path, folder), "put the file there"}
	if err != nil || !filepath.IsLocal(below) {
		return nil, outside
	}
	f, err := openBelow(root, below, os.O_RDONLY, 0)
	if f, err = onlyRegular(f, path, err); err != nil {
		if target, linkErr := filepath.EvalSymlinks(whole); linkErr == nil && !within(root, target) {
			return nil, outside
		}
		return nil, err
	}
	defer f.Close() // read only
	return readAll(f, most)
}

// within reports whether a path without links is below a folder, which may be one by a link.
func within(folder, path string) bool {
	if whole, err := filepath.EvalSymlinks(folder); err == nil {
		folder = whole
	}
	below, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
}

func readAll(f *os.File, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("read %s: it has more than %d bytes", f.Name(), most)
	}
	return data, err
}

// MakeFolders makes a folder and those above it, as far as they are not there.
func (p *Policy) MakeFolders(path string, perm fs.FileMode) error {
	if p == nil {
		return os.MkdirAll(path, perm)
	}
	root, below, err := p.find(path)
	if err != nil || below == "." {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	return errors.Join(r.MkdirAll(below, perm), r.Close())
}

// regular opens a file that is, or becomes, a regular one.
func (p *Policy) regular(path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	if p == nil {
		f, err = os.OpenFile(path, flag|nonblock, perm)
	} else {
		f, err = p.below(path, flag, perm)
	}
	return onlyRegular(f, path, err)
}

// ErrNotRegular is in the error of a pipe, a device or a folder where a file is needed.
var ErrNotRegular = errors.New("it is not a regular file")

func onlyRegular(f *os.File, path string, err error) (*os.File, error) {
	if errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EISDIR) { // a pipe that nobody reads; a folder
		return nil, fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// below opens a file below one of the folders, through which no link leads out.
func (p *Policy) below(path string, flag int, perm fs.FileMode) (*os.File, error) {
	root, below, err := p.find(path)
	if err != nil {
		return nil, err
	}
	return openBelow(root, below, flag, perm)
}

func openBelow(root, below string, flag int, perm fs.FileMode) (*os.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	f, err := r.OpenFile(below, flag|nonblock, perm)
	return f, errors.Join(err, r.Close())
}

// find is the folder of the policy that a file is below, and its path from there. Links are followed first.
func (p *Policy) find(path string) (root, below string, err error) {
	path = filepath.Clean(path)
	whole, err := follow(path)
	if err != nil && !p.named(path) {
		err = p.outside(path)
	}
	if err != nil {
		return "", "", err
	}
	for at := whole; ; at = filepath.Dir(at) {
		open := one(p.Folders, at)
		if closed := p.closed(at); closed || !open && filepath.Dir(at) == at {
			return "", "", p.outside(path)
		}
		if open {
			return p.open(path, at, whole)
		}
	}
}

// outside denies a path in the same words, be it the daemon's, another tenant's, anything else or nothing at all: who
// asks does not learn what there is.
func (p *Policy) outside(path string) error {
	return &DeniedError{
		fmt.Sprintf("%s is no file that declarations from the network may use: those are below these folders (%s), "+
			"and none of the daemon's own or of others", path, orNone(p.folders())),
		"name a file there, or " + p.setting("--files-dir", ""),
	}
}

// named reports whether a path is below one of the folders by its name alone, whatever links there are.
func (p *Policy) named(path string) bool {
	return slices.ContainsFunc(p.Folders, func(folder string) bool {
		below, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(below)
	})
}

// open is the way to a file below a folder of the policy.
func (p *Policy) open(path, root, whole string) (_, below string, err error) {
	if below, err = filepath.Rel(root, whole); err != nil {
		return "", "", err
	}
	for name := range strings.SplitSeq(filepath.ToSlash(below), "/") {
		if strings.HasPrefix(name, ".") && name != "." {
			return "", "", &DeniedError{
				fmt.Sprintf("%s has a name that begins with a point, as settings of programs do", path),
				"give it another name, or ask the operator of the daemon to put the declaration into the folder of " +
					"--graphs",
			}
		}
	}
	return root, below, nil
}

func (p *Policy) folders() string { return strings.Join(p.Folders, ", ") }

// closed reports whether a path is one of those that stay closed: that folder or file, or a file beside it whose
// name goes on after its, as those do that a store keeps beside its own.
func (p *Policy) closed(path string) bool {
	if one(p.Closed, path) {
		return true
	}
	for _, c := range p.Closed {
		if is, err := os.Stat(c); err == nil && is.IsDir() {
			continue
		}
		name, own := strings.ToLower(filepath.Base(path)), strings.ToLower(filepath.Base(c))
		if strings.HasPrefix(name, own) && one([]string{filepath.Dir(c)}, filepath.Dir(path)) {
			return true
		}
	}
	return false
}

// one reports whether a path without links is one of a list, by name or as the same file under another name.
func one(list []string, path string) bool {
	is, isErr := os.Stat(path)
	for _, l := range list {
		if whole, err := follow(l); err == nil && whole == path {
			return true
		}
		if other, err := os.Stat(l); err == nil && isErr == nil && os.SameFile(is, other) {
			return true
		}
	}
	return false
}

// follow is an absolute path with its links followed, as far as it is there.
func follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		whole, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(whole, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || filepath.Dir(at) == at {
			return "", fmt.Errorf("look for %s: %w", path, cause(err))
		}
		if _, err := os.Lstat(at); err == nil { // who opens it would make what it names, wherever that is
			return "", &DeniedError{fmt.Sprintf("%s is a link that leads nowhere", at), "name the file itself"}
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// cause is a path's error without the path, which may be another than was asked for.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// secret reads the file of a secret.
func (p *Policy) secret(path string) ([]byte, error) {
	if p == nil {
		return p.Read(path, maxSecret)
	}
	denied := &DeniedError{
		"a declaration from the network reads secrets only below the daemon's folder of secrets",
		"name it as ${file:NAME} and " + p.setting("--secrets-dir", ""),
	}
	if p.Secrets == "" {
		return nil, denied
	}
	below := path
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(p.Secrets, path)
		if err != nil {
			return nil, denied
		}
		below = rel
	}
	if !filepath.IsLocal(below) {
		return nil, denied
	}
	f, err := openBelow(p.Secrets, below, os.O_RDONLY, 0)
	if f, err = onlyRegular(f, path, err); err != nil {
		return nil, err
	}
	defer f.Close() // read only
	return readAll(f, maxSecret)
}
