package tenancy

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/quota"
)

// folder is one that a tenant's declarations reach.
type folder struct {
	tenant  string
	path    string
	secrets bool
}

func (f *folder) what() string {
	if f.secrets {
		return "secrets"
	}
	return "files"
}

// Overlaps are the folders of a tenant that lie in another's: refused where whoever reads the outer one would read
// secrets of both, else what is told of them.
func (c *Config) Overlaps() (remarks []string, refused error) {
	all := c.folders()
	var errs []error
	for i := range all {
		for k := range all {
			inner, outer := &all[i], &all[k]
			below, err := filepath.Rel(outer.path, inner.path)
			if inner.tenant == outer.tenant || err != nil || !filepath.IsLocal(below) {
				continue
			}
			switch {
			case outer.secrets:
				errs = append(errs, fmt.Errorf("the %s of the tenant %s, in %s, could be read by the tenant "+
					"%s, whose secrets are in %s; give each a folder beside the other", inner.what(), inner.tenant,
					inner.path, outer.tenant, outer.path))
			case below != ".":
				remarks = append(remarks, fmt.Sprintf("the %s of the tenant %s, in %s, lie among the files of "+
					"the tenant %s, which cannot use them; give each a folder beside the other", inner.what(),
					inner.tenant, inner.path, outer.tenant))
			case !inner.secrets && i < k:
				remarks = append(remarks, fmt.Sprintf("the tenants %s and %s read and write the files of each other, "+
					"in %s; give each a folder of its own", inner.tenant, outer.tenant, inner.path))
			}
		}
	}
	return remarks, errors.Join(errs...)
}

// folders are those of all tenants, with links followed, in order.
func (c *Config) folders() (all []folder) {
	add := func(tenant, path string, secrets bool) {
		if path != "" {
			all = append(all, folder{tenant, real(path), secrets})
		}
	}
	if byDefault := c.Default.Access; byDefault != nil {
		for _, path := range byDefault.Folders {
			add(checkpoint.DefaultTenant, path, false)
		}
		add(checkpoint.DefaultTenant, byDefault.Secrets, true)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Own)) {
		if s := c.Own[name]; name != quota.All && name != checkpoint.DefaultTenant {
			add(name, c.filesOf(name, &s), false)
			add(name, s.SecretsDir, true)
		}
	}
	return all
}

// filesOf is the folder with a tenant's files.
func (c *Config) filesOf(name string, s *Settings) string {
	if s.FilesDir != "" {
		return s.FilesDir
	}
	return filepath.Join(c.Data, "tenants", name, "files")
}

// real is a path with its links followed, where it is there.
func real(path string) string {
	if at, err := filepath.Abs(path); err == nil {
		path = at
	}
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at
	}
	return path
}
