package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// open are the settings whose texts are no secrets: paths, names, addresses that have no password, and choices.
var open = []string{"Data", "Listen", "Auth", "TLSCert", "TLSKey", "TLSMin", "TLSClientCA", "TLSClientAuth",
	"TLSClients", "OIDCIssuer", "OIDCAudience", "OIDCGrants", "OIDCClient", "OIDCRedirect", "OIDCScopes", "Graphs",
	"Hosts", "Origins", "MCP", "AllowOutbound", "FilesDir", "SecretsDir", "AllowKinds", "Closed", "KafkaBrokers",
	"Advertise", "MemberListen", "TrustedProxies", "Tenants.FilesDir", "Tenants.SecretsDir", "Tenants.AllowKinds",
	"Tenants.AllowOutbound", "Tenants.KafkaBrokers", "Tenants.Quota"}

// elsewhere are those that no configuration of a daemon that is examined has: a program gives them.
var elsewhere = []string{"Declarations", "Stdout", "Log", "LogLevel", "Reload", "Registry", "Arrivals", "Version"}

// TestSecretsAreKnown: whatever in a configuration can hold a secret is hidden, and none of its fields is forgotten
// (A2).
func TestSecretsAreKnown(t *testing.T) {
	dir := t.TempDir()
	planted := map[string]string{}
	plant := func(where string) string {
		planted[where] = "planted-" + strings.ToLower(where) + "-7f3a"
		return planted[where]
	}
	inFile := func(where, form string) string {
		path := filepath.Join(dir, where)
		if err := os.WriteFile(path, fmt.Appendf(nil, form, plant(where)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := graphd.Config{
		Store:        "postgres://u:" + plant("Store") + "@h/d",
		OTLPEndpoint: "https://u:" + plant("OTLPEndpoint") + "@h",
		OTLPHeaders: []string{"Authorization=Bearer " + plant("OTLPHeaders"),
			"X-Key=file:" + inFile("OTLPHeaders.file", "%s\n")},
		Connections: []string{"a=postgres://u:" + plant("Connections") + "@h/d",
			"b=file:" + inFile("Connections.file", "postgres://h/d?user=u&password=%s")},
		MemberSecret:     inFile("MemberSecret", "%s\n"),
		OIDCClientSecret: inFile("OIDCClientSecret", "%s\n"),
		Tenants: map[string]graphd.Tenant{"acme": {
			Connections: []string{"a=kafka://u:" + plant("Tenants.Connections") + "@h",
				"b=file:" + inFile("Tenants.Connections.file", "kafka://u:%s@h")},
			Variables: map[string]string{"KEY": "Basic " + plant("Tenants.Variables")},
		}},
	}
	x := &examination{daemon: Daemon{Config: c}}
	list := x.secrets(func(string) string { return "" })
	for where, secret := range planted {
		if got := string(list.hide([]byte("says " + secret + " of it"))); strings.Contains(got, secret) {
			t.Errorf("%s is told: %s", where, got)
		}
	}
	fields := texts(reflect.TypeFor[graphd.Config](), "")
	fields = append(fields, texts(reflect.TypeFor[graphd.Tenant](), "Tenants.")...)
	for _, name := range fields {
		if planted[name] == "" && !slices.Contains(open, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("nothing says whether %s may hold a secret: plant one in it here, or list it as open", name)
		}
	}
}

// texts are the fields of a struct that have texts in them, in whatever form.
func texts(of reflect.Type, before string) (names []string) {
	for f := range of.Fields() {
		switch f.Type.Kind() {
		case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.Func, reflect.Chan:
			continue
		}
		if before+f.Name != "Tenants" {
			names = append(names, before+f.Name)
		}
	}
	return names
}
