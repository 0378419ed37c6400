package access

import (
	"strings"
	"testing"
	"time"
)

// TestRoles: which role gives what, in full.
func TestRoles(t *testing.T) {
	t.Parallel()
	give := map[Role]string{
		NoRole:        "public",
		Viewer:        "public known read",
		Pusher:        "public known push",
		Operator:      "public known read push operate",
		AuthorRole:    "public known read push operate author",
		TenantAdmin:   "public known read push operate author administer",
		PlatformAdmin: "public known read push operate author administer platform",
	}
	for role := NoRole; role <= roles; role++ {
		var got []string
		for p := Nobody; p <= permissions; p++ {
			if role.Gives(p) {
				got = append(got, p.String())
			}
		}
		want := give[role]
		if role == roles {
			want = "public"
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s gives %v, want %s", role, got, want)
		}
		if parsed, ok := ParseRole(role.String()); ok != (role != NoRole && role < roles) || ok && parsed != role {
			t.Errorf("%s is read as %s, %v", role, parsed, ok)
		}
	}
}

// TestScope: a scope takes away, and never gives.
func TestScope(t *testing.T) {
	t.Parallel()
	tests := []struct {
		role  Role
		scope Scope
		want  string
	}{
		{PlatformAdmin, Scope{Reading: true}, "public known read"},
		{PlatformAdmin, Scope{Graphs: []string{"a"}}, "public known read push operate author"},
		{AuthorRole, Scope{Reading: true}, "public known read"},
		{Pusher, Scope{Reading: true}, "public known"},
		{NoRole, Scope{}, "public"},
	}
	for _, tt := range tests {
		who := Principal{Role: tt.role, Scope: tt.scope}
		var got []string
		for p := Nobody; p < permissions; p++ {
			guard := Needs(p, "x")
			what, ok := guard.For(&who)
			if ok != (what == "x") || ok != who.May(p) {
				t.Errorf("%s: the guard gives %q, %v", p, what, ok)
			}
			if ok {
				got = append(got, p.String())
			}
		}
		for _, p := range who.All() {
			if all, _, _ := strings.Cut(tt.want+" ", p.String()+" "); !who.May(p) || all == tt.want+" " {
				t.Errorf("%s with %+v has %s", tt.role, tt.scope, p)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s with %+v may %v, want %s", tt.role, tt.scope, got, tt.want)
		}
	}
	who := Principal{Role: Viewer, Scope: Scope{Graphs: []string{"fx_*", "rates"}}}
	for name, sees := range map[string]bool{"fx_eur": true, "rates": true, "ratesx": false, "other": false} {
		if who.Sees(name) != sees {
			t.Errorf("%s is seen: %v", name, !sees)
		}
	}
	if (&Principal{}).Sees("x") {
		t.Error("nobody sees a graph")
	}
	var zero Guard[string]
	if _, ok := zero.For(&Principal{Role: PlatformAdmin}); ok {
		t.Error("the zero guard opens")
	}
}

func TestTokenText(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		var tok Token
		text := Mint(&tok)
		id, ok := IDOf(text)
		if !ok || id != tok.ID || !tok.Opens(text) || seen[text] || len(text) != textLen {
			t.Fatalf("a token %s… of %d characters with the id %q, %v", text[:3], len(text), id, ok)
		}
		seen[text] = true
		i := len(text) / 2
		other := text[:i] + string(base62[(strings.IndexByte(base62, text[i])+1)%62]) + text[i+1:]
		if _, ok := IDOf(other); ok {
			t.Fatal("a mistyped token is taken for one")
		}
		if tok.Opens(other) || tok.Opens("") {
			t.Fatal("another text opens the token")
		}
	}
	for _, text := range []string{"", "gd_", strings.Repeat("a", textLen), "gd_" + strings.Repeat("_", textLen-3)} {
		if _, ok := IDOf(text); ok {
			t.Errorf("%q is taken for a token", text)
		}
	}
}

func TestTokenValidate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	good := Token{Name: "ci", Tenant: "acme", Role: AuthorRole, Created: now, Expires: now.Add(DefaultLife)}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"graphd-ci", "anton", "oidc", "other", "a: b", "config"} {
		fine := good
		if fine.Name = name; fine.Validate() != nil {
			t.Errorf("%s is not allowed", name)
		}
	}
	for what, change := range map[string]func(*Token){
		"no name":               func(t *Token) { t.Name = "" },
		"a control character":   func(t *Token) { t.Name = "a\x1b[31m" },
		"the folder's name":     func(t *Token) { t.Name = "--graphs" },
		"a subject's":           func(t *Token) { t.Name = "OIDC:ada" },
		"a certificate's":       func(t *Token) { t.Name = "CN=ops,O=Acme" },
		"an address'":           func(t *Token) { t.Name = "anonymous@10.0.0.1" },
		"the daemon's":          func(t *Token) { t.Name = "graphd" },
		"no role":               func(t *Token) { t.Role = NoRole },
		"platform of a tenant":  func(t *Token) { t.Role = PlatformAdmin },
		"an admin of one graph": func(t *Token) { t.Role, t.Scope.Graphs = TenantAdmin, []string{"a"} },
		"no expiry":             func(t *Token) { t.Expires = time.Time{} },
		"for ever":              func(t *Token) { t.Expires = now.Add(MaxLife + 1) },
		"no glob":               func(t *Token) { t.Scope.Graphs = []string{"["} },
	} {
		bad := good
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("%s is allowed", what)
		}
	}
	if good.Live(good.Expires) || !good.Live(now) {
		t.Error("a token lives to its expiry, and not longer")
	}
	good.Revoked = now
	if good.Live(now) {
		t.Error("a revoked token lives")
	}
	if !good.Admits("acme") || good.Admits("other") || good.Admits(AllTenants) {
		t.Error("a token admits its tenant alone")
	}
}
