package settings

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/spf13/pflag"
)

// TestMembersInTheEnvironment: a variable has a member on each line where members may have commas, and its refusal
// does not tell what may be a secret.
func TestMembersInTheEnvironment(t *testing.T) {
	t.Parallel()
	fill := func(variable, text string) (named, plain []string, tenants map[string]graphd.Tenant, err error) {
		f := pflag.NewFlagSet("x", pflag.ContinueOnError)
		f.SetOutput(io.Discard)
		f.String(ConfigFlag, "", "")
		f.StringArrayVar(&named, "oidc-grants", nil, "")
		f.StringSliceVar(&plain, "hosts", nil, "")
		f.Var(Tenants{Into: &tenants}, "tenants", "")
		err = Fill(f, func(name string) string {
			if name == variable {
				return text
			}
			return ""
		})
		return named, plain, tenants, err
	}
	named, _, _, err := fill("GRAPHD_OIDC_GRANTS", "a=b,c=viewer@x\n  d=e=author@y\n\n")
	if err != nil || !slices.Equal(named, []string{"a=b,c=viewer@x", "d=e=author@y"}) {
		t.Errorf("%q, %v", named, err)
	}
	if _, plain, _, err := fill("GRAPHD_HOSTS", "a,b"); err != nil || !slices.Equal(plain, []string{"a", "b"}) {
		t.Errorf("%q, %v", plain, err)
	}
	_, _, tenants, err := fill("GRAPHD_TENANTS", "acme.max_graphs=3\nacme.connections.w=postgres://u:p@h/d,e\n")
	if got := tenants["acme"]; err != nil || got.Quota.Graphs != 3 || !slices.Equal(got.Connections,
		[]string{"w=postgres://u:p@h/d,e"}) {
		t.Errorf("%+v, %v", tenants, err)
	}
	_, _, tenants, err = fill("GRAPHD_TENANTS", "acme.max_keys=9\nacme.max_stored_bytes=2GiB\nacme.cpu=0.5\n")
	if q := tenants["acme"].Quota; err != nil || q.Keys != 9 || q.StoredBytes != 2<<30 || q.CPU != 0.5 {
		t.Errorf("%+v, %v", tenants, err)
	}
	for _, text := range []string{"acme.max_keys=many", "acme.max_stored_bytes=2GB", "acme.cpu=50%"} {
		if _, _, _, err := fill("GRAPHD_TENANTS", text); err == nil || !strings.Contains(err.Error(), " must be a ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"acme.connections.w postgres://u:hunter2@h/d",
		"acme.postgres://u:hunter2@h/d?sslmode=x",
		"postgres://u:hunter2@h.b/d?sslmode=x"} {
		if _, _, _, err := fill("GRAPHD_TENANTS", text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
