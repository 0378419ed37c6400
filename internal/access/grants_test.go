package access

import (
	"strings"
	"testing"
)

// TestGrantsOfSeveral: what gives something to several, where one is meant, is refused and not misread (A9).
func TestGrantsOfSeveral(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"groups=a=author@acme,groups=b=viewer@beta", "groups=a=author@acme;groups=b=viewer@beta",
		"groups=a=author@acme\ngroups=b=viewer@beta", "sub=1=platform-admin,sub=2=viewer@acme",
		"CN=prometheus,O=Acme=viewer@*,CN=ops,O=Acme=platform-admin",
		"spiffe://acme/a=platform-admin,spiffe://acme/b=viewer@*", "a=author@acme, b=viewer@acme",
	} {
		if got, err := ParseGrants([]string{line}); err == nil || !strings.Contains(err.Error(), "a line of its own") {
			t.Errorf("%q is %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"a=author,b@acme", "a=author=x@acme", "a=viewer@acme,b", "a=nobody@acme"} {
		if got, err := ParseGrants([]string{line}); err == nil {
			t.Errorf("%q is %+v", line, got)
		}
	}
	for _, line := range []string{"CN=prometheus,O=Acme=viewer@*", "CN=viewer,O=Acme=viewer@acme",
		"CN=platform-admin,O=Acme=viewer@acme", "sub=a,b=author@acme", "spiffe://acme/ns=a,b=pusher@acme"} {
		if _, err := ParseGrants([]string{line}); err != nil {
			t.Error(err)
		}
	}
}
