package graphd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/policy"
)

// folder is where relative paths of declarations begin that came over the network.
func (c *Config) folder() string {
	if c.FilesDir != "" {
		return c.FilesDir
	}
	return filepath.Join(c.Data, "files")
}

// permit gives the kinds what the configuration lists for declarations.
func (c *Config) permit(kinds *builtin.Kinds) (err error) {
	if kinds.Connections, err = c.connections(); err != nil {
		return err
	}
	kinds.Access, err = c.access(kinds.Names())
	return err
}

// access is what declarations may reach that come over the network; kinds are all there are.
func (c *Config) access(kinds []string) (*policy.Tenants, error) {
	p := &policy.Policy{Kinds: c.AllowKinds, Folders: []string{c.folder()}, Secrets: c.SecretsDir}
	if c.FilesDir == "" && !c.Insecure && c.onLoopback() {
		if here, err := os.Getwd(); err == nil && filepath.Dir(here) != here { // the folder of all is no choice
			p.Folders = append(p.Folders, here)
		}
	}
	p.Closed = append([]string{c.Data}, c.Closed...)
	for _, path := range []string{c.Graphs, c.SecretsDir, c.storeFile(), c.TLSKey} {
		if path != "" {
			p.Closed = append(p.Closed, path)
		}
	}
	if err := whole(p.Folders, p.Closed); err != nil {
		return nil, err
	}
	if p.Secrets != "" {
		one := []string{p.Secrets}
		if err := whole(one); err != nil {
			return nil, err
		}
		p.Secrets = one[0]
	}
	if err := c.checkFolders(); err != nil {
		return nil, err
	}
	if err := p.Validate(kinds); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &policy.Tenants{Default: p}, nil
}

// whole makes paths absolute.
func whole(lists ...[]string) error {
	for _, list := range lists {
		for i, path := range list {
			at, err := filepath.Abs(path)
			if err != nil {
				return fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
			}
			list[i] = at
		}
	}
	return nil
}

// storeFile is the file of a store that is one.
func (c *Config) storeFile() string {
	path, ok := strings.CutPrefix(c.Store, "sqlite:")
	if !ok {
		return ""
	}
	return path
}

// checkFolders refuses folders that are none.
func (c *Config) checkFolders() error {
	return errors.Join(checkFolder("--files-dir", c.FilesDir), checkFolder("--secrets-dir", c.SecretsDir))
}

func checkFolder(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: the folder of %s cannot be read: %w", ErrConfig, flag, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a folder; %s names one", ErrConfig, path, flag)
	}
	return nil
}

// maxAddress bounds the file of an address.
const maxAddress = 64 << 10

// connections are those that declarations may name.
func (c *Config) connections() (outbound.Named, error) {
	named := outbound.Named{}
	for _, text := range c.Connections {
		name, address, ok := strings.Cut(text, "=")
		if _, twice := named[name]; !ok || twice {
			return nil, fmt.Errorf("%w: the connection %q: write NAME=ADDRESS, once for each name", ErrConfig, name)
		}
		if path, ok := strings.CutPrefix(address, "file:"); ok {
			text, err := (*policy.Policy)(nil).Read(path, maxAddress)
			if err != nil {
				return nil, fmt.Errorf("%w: the connection %s: %w", ErrConfig, name, err)
			}
			address = strings.TrimSpace(string(text))
			c.Closed = append(c.Closed, path)
		}
		named[name] = address
	}
	if err := builtin.CheckConnections(named); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return named, nil
}
