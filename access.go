package graphd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/tenancy"
)

// Tenant is the settings of one tenant: what its declarations may reach, and its quotas.
type Tenant = tenancy.Settings

// folder is where relative paths of declarations begin that came over the network.
func (c *Config) folder() string {
	if c.FilesDir != "" {
		return c.FilesDir
	}
	return filepath.Join(c.Data, "files")
}

// permit gives the kinds what the configuration lists for declarations, by tenant.
func (c *Config) permit(kinds *builtin.Kinds, quotas *quota.Book) (err error) {
	if kinds.Connections, err = c.connections(); err != nil {
		return err
	}
	if kinds.Access, err = c.access(kinds.Names()); err != nil {
		return err
	}
	tenants, err := tenancy.Config{Data: c.Data, Default: kinds.Reach, Own: c.Tenants, Known: kinds.Names(),
		Quotas: quotas}.Tenants()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	kinds.Reach, kinds.Tenants = *tenants.Of(checkpoint.DefaultTenant), tenants.Of
	kinds.Keep()
	return nil
}

// access is what declarations of the default tenant may reach that come over the network; kinds are all there are.
func (c *Config) access(kinds []string) (*policy.Policy, error) {
	p := &policy.Policy{Kinds: c.AllowKinds, Folders: []string{c.folder()}, Secrets: c.SecretsDir}
	if c.FilesDir == "" && !c.Insecure && c.onLoopback() {
		if here, err := os.Getwd(); err == nil && filepath.Dir(here) != here { // the folder of all is no choice
			p.Folders = append(p.Folders, here)
		}
	}
	p.Closed = append([]string{c.Data}, c.Closed...)
	for _, path := range []string{c.Graphs, c.SecretsDir, c.storeFile(), c.TLSKey, c.OIDCClientSecret} {
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
	return p, nil
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
	if err := tenancy.CheckFolder(flag, path); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

// connections are those that declarations of the default tenant may name.
func (c *Config) connections() (outbound.Named, error) {
	named, err := tenancy.Connections(c.Connections, func(path string) { c.Closed = append(c.Closed, path) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return named, nil
}
