// Package contexts keeps what daemons a person speaks to, and the tokens that open them, in one file
// that its owner alone can read. [File.Daemon] puts it together with flags and environment; [Command]
// is the verb.
package contexts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// Context is a daemon and what opens it.
type Context struct {
	Server string `yaml:"server"`
	Tenant string `yaml:"tenant,omitempty"`
	Token  string `yaml:"token,omitempty"`
	Files  `yaml:",inline"`
}

// Files are what TLS takes, by their paths in PEM: the authorities of the daemon's certificate, and the certificate
// with its key that are shown to it.
type Files struct {
	CA   string `yaml:"ca,omitempty"`
	Cert string `yaml:"client_cert,omitempty"`
	Key  string `yaml:"client_key,omitempty"`
}

// over is f, with what o has of it in its place.
func (f Files) over(o Files) Files {
	return Files{terminal.Or(f.CA, o.CA), terminal.Or(f.Cert, o.Cert), terminal.Or(f.Key, o.Key)}
}

// File is the contexts by name.
type File struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Context `yaml:"contexts,omitempty"`

	path string
}

// none is the name that chooses no context.
const none = "none"

// maxFile bounds the file.
const maxFile = 1 << 20

// Path is where the file is; "" where the system names no folder for it.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	switch home := getenv("HOME"); {
	case dir != "":
	case runtime.GOOS == "windows":
		dir = getenv("AppData")
	case home != "" && runtime.GOOS == "darwin":
		dir = filepath.Join(home, "Library", "Application Support")
	case home != "":
		dir = filepath.Join(home, ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "graphd", "contexts.yaml")
}

// Read reads the file; there need not be one. A file that others can read is refused: they could use
// the tokens in it.
func Read(getenv func(string) string) (*File, error) {
	f := &File{path: Path(getenv)}
	info, err := os.Stat(f.path)
	if f.path == "" || errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others can read it: chmod 600 %s", f.path)
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(f.path)
	}
	if err == nil {
		if err = yaml.Unmarshal(text, f); err != nil { // the words of the error could hold a token
			err = errors.New("it is not in the form it must have; remove it, and 'graphd context add' writes it anew")
		}
	}
	if err != nil {
		return nil, terminal.Exit(terminal.ExitFormat, fmt.Errorf("the contexts in %s cannot be used: %w", f.path, err))
	}
	return f, nil
}

// Write puts the file in the place of the one before, whole or not at all.
func (f *File) Write() (err error) {
	if f.path == "" {
		return errors.New("there is no folder for contexts: set HOME or XDG_CONFIG_HOME")
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("keep the contexts: %w", err)
	}
	part, err := os.CreateTemp(filepath.Dir(f.path), "contexts-*") // its owner's alone, as all of CreateTemp
	if err != nil {
		return fmt.Errorf("keep the contexts: %w", err)
	}
	_, err = part.Write(text)
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = os.Rename(part.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("keep the contexts: %w", errors.Join(err, os.Remove(part.Name())))
	}
	return nil
}

// Given is what the command line and the environment say; "" where they say nothing.
type Given struct {
	Server, Tenant, TokenFile string
	Files
}

// Daemon is which daemon to speak to and how: what is given goes before the context, and a context's
// token and tenant go to no other server than the context's.
func Daemon(t *terminal.Terminal, given Given, otherwise string) (Context, error) {
	f, err := Read(t.Getenv)
	if err != nil {
		return Context{}, err
	}
	var chosen Context
	if name := terminal.Or(t.Getenv("GRAPHD_CONTEXT"), f.Current); name != "" && name != none {
		var ok bool
		if chosen, ok = f.Contexts[name]; !ok {
			return Context{}, terminal.Exit(terminal.ExitNotFound,
				fmt.Errorf("there is no context %q; 'graphd context list' lists those there are", name))
		}
	}
	c := Context{Server: terminal.Or(given.Server, terminal.Or(chosen.Server, otherwise))}
	if c.Server, err = address(c.Server); err != nil {
		return Context{}, err
	}
	if at, err := address(chosen.Server); err == nil && at == c.Server {
		c.Tenant, c.Token, c.Files = chosen.Tenant, chosen.Token, chosen.Files
	}
	c.Files = given.over(c.Files)
	c.Tenant = terminal.Or(given.Tenant, c.Tenant)
	if c.Token = terminal.Or(t.Getenv("GRAPHD_TOKEN"), c.Token); given.TokenFile != "" {
		c.Token, err = ReadToken(t, given.TokenFile)
	}
	return c, err
}

// ReadToken is the token in a file, "-" for standard input.
func ReadToken(t *terminal.Terminal, path string) (string, error) {
	text, err := t.ReadFile(path, 16<<10)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \r\n\t") {
		return "", terminal.Exit(terminal.ExitFormat, fmt.Errorf("%s does not hold one token", path))
	}
	return token, nil
}

// WriteToken makes a file that its owner alone can read, and has mint fill it: nothing is made that
// could not be kept.
func WriteToken(path string, mint func() (string, error)) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return terminal.Exit(terminal.ExitConflict, fmt.Errorf("%s is there already; name a new file", path))
	}
	if err != nil {
		return fmt.Errorf("keep the token: %w", err)
	}
	token, err := mint()
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keep the token: %w; revoke it, and make another", err)
	}
	return nil
}
