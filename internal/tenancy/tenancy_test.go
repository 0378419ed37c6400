package tenancy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/tenancy"
)

// world is a configuration of a daemon with folders.
func world(t *testing.T) (dir string, c tenancy.Config) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"files/shared", "secrets/acme", "acme/files", "acme/secrets", "data"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	guard, err := outbound.New(outbound.Config{Allow: []string{"10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	return dir, tenancy.Config{
		Data: data, Known: []string{"source.file", "sink.file", "sink.http"},
		Default: builtin.Reach{Guard: guard, Connections: outbound.Named{"w": "postgres://u:p@h/d"},
			KafkaBrokers: []string{"k:9092"}, Folder: filepath.Join(dir, "files"), Access: &policy.Policy{
				Kinds: []string{"source.file", "sink.file"}, Folders: []string{filepath.Join(dir, "files")},
				Closed: []string{data}, Secrets: filepath.Join(dir, "secrets"),
			}},
	}
}

// TestTenantsReach: what a tenant reaches is what its section lists, and nothing of another's (A1, A11).
func TestTenantsReach(t *testing.T) {
	t.Parallel()
	dir, c := world(t)
	c.Own = map[string]tenancy.Settings{
		"acme": {FilesDir: filepath.Join(dir, "files", "shared"), SecretsDir: filepath.Join(dir, "acme", "secrets"),
			AllowKinds: []string{"sink.http"}, AllowOutbound: []string{"10.0.0.2"},
			Connections: []string{"w=postgres://other:p@h/d"}, Variables: map[string]string{"GRAPHD_VAR_DESK": "fx"}},
		"beta": {},
	}
	tenants, err := c.Tenants()
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"default": "files/x", "acme": "files/shared/x", "beta": "data/tenants/beta/files/x",
		"plain": "data/tenants/plain/files/x"}
	for tenant := range own {
		r := tenants.Of(tenant)
		for of, path := range own {
			if err := r.Access.MayReach(filepath.Join(dir, path)); (err == nil) != (of == tenant) {
				t.Errorf("%s reaches %s: %v", tenant, path, err)
			}
		}
		for _, secret := range []string{"acme/secrets/s", "secrets/s"} {
			if err := r.Access.MayReach(filepath.Join(dir, secret)); err == nil {
				t.Errorf("%s reaches %s as a file", tenant, secret)
			}
		}
		if got := r.Connections["w"] != ""; got != (tenant == "default" || tenant == "acme") {
			t.Errorf("%s has connections %v", tenant, r.Connections)
		}
		if tenant != "default" && r.KafkaBrokers != nil {
			t.Errorf("%s has the daemon's brokers", tenant)
		}
		if err := r.Guard.For(true).Allows("10.0.0.1"); (err == nil) != (tenant != "acme") {
			t.Errorf("%s calls 10.0.0.1: %v", tenant, err)
		}
	}
	acme, beta := tenants.Of("acme"), tenants.Of("beta")
	if acme.Access.MayUse("sink.http") != nil || acme.Access.MayUse("sink.file") == nil ||
		beta.Access.MayUse("sink.http") == nil || beta.Access.MayUse("sink.file") != nil {
		t.Error("kinds are not a tenant's own, or else the daemon's")
	}
	if acme.Connections["w"] == c.Default.Connections["w"] {
		t.Error("a connection of acme's is the daemon's")
	}
	if text, ok, err := acme.Access.Resolve("GRAPHD_VAR_DESK"); text != "fx" || !ok || err != nil {
		t.Errorf("acme reads %q %v %v", text, ok, err)
	}
	if _, ok, err := beta.Access.Resolve("GRAPHD_VAR_DESK"); ok || err != nil {
		t.Errorf("beta reads acme's variable: %v", err)
	}
	if _, _, err := beta.Access.Resolve("file:s"); err == nil || !strings.Contains(err.Error(), "of the tenant beta") {
		t.Errorf("beta reads secrets, or is not told how: %v", err)
	}
}

// TestEnvironmentIsTheDaemons: no tenant but default reads the daemon's environment (A1).
func TestEnvironmentIsTheDaemons(t *testing.T) {
	t.Setenv("GRAPHD_VAR_DESK", "of the daemon")
	_, c := world(t)
	tenants, err := c.Tenants()
	if err != nil {
		t.Fatal(err)
	}
	if text, ok, _ := tenants.Of("default").Access.Resolve("GRAPHD_VAR_DESK"); !ok || text != "of the daemon" {
		t.Errorf("default reads %q", text)
	}
	if text, ok, err := tenants.Of("plain").Access.Resolve("GRAPHD_VAR_DESK"); ok || err != nil {
		t.Errorf("plain reads %q: %v", text, err)
	}
}

func TestMistakesOfTenants(t *testing.T) {
	t.Parallel()
	dir, c := world(t)
	for name, s := range map[string]tenancy.Settings{
		"Acme":    {},
		"default": {FilesDir: dir},
		"*":       {AllowKinds: []string{"sink.file"}},
		"a":       {AllowKinds: []string{"sink.fil"}},
		"b":       {AllowOutbound: []string{"!"}},
		"c":       {Connections: []string{"w"}},
		"d":       {Variables: map[string]string{"HOME": "x"}},
		"e":       {Quota: quota.Limits{Graphs: -1}},
		"f":       {SecretsDir: filepath.Join(dir, "secrets", "acme")}, // default reads below it
		"g":       {SecretsDir: filepath.Join(dir, "secrets")},
	} {
		c.Own = map[string]tenancy.Settings{name: s}
		if _, err := c.Tenants(); err == nil {
			t.Errorf("%s: %+v was taken", name, s)
		}
	}
	c.Own = map[string]tenancy.Settings{"a": {FilesDir: filepath.Join(dir, "nothing")}}
	if _, err := c.Tenants(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
