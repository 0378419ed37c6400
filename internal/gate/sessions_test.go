package gate

import (
	"crypto/x509"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/certificate/certtest"
)

// TestSessions: a browser's session is of who has begun it, at every daemon on the store, and ends with its time, with
// a logout, with the token that it was begun with, and when too many others have been begun since.
func TestSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		g := newGate(t, s, nil)
		if _, _, err := g.Login(t.Context(), &access.Principal{Role: access.PlatformAdmin}); codeOf(err) !=
			api.CodeLoginNeedless {
			t.Errorf("who needs no token logs in: %v", err)
		}
		root := access.Principal{Tenant: "default", Subject: "root", Role: access.PlatformAdmin}
		made := newToken(t, g, root, api.TokenRequest{Role: "platform-admin"})
		there := newGate(t, s, nil)
		who := enter(t, g, access.Credentials{Bearer: made.Text, Tenant: "acme"}, "")
		login := func() string {
			t.Helper()
			text, _, err := g.Login(t.Context(), &who)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		first := login()
		time.Sleep(time.Second)
		second := login()
		for _, at := range []*Gate{g, there} {
			if got := enter(t, at, access.Credentials{Session: first}, ""); got.Tenant != "acme" ||
				got.Token != made.ID || !got.SeesAll() {
				t.Errorf("got %+v", got)
			}
			enter(t, at, access.Credentials{Session: first, Tenant: "other"}, api.CodeTenantNotFound)
			enter(t, at, access.Credentials{Bearer: first}, api.CodeInvalidToken) // it is none
			enter(t, at, access.Credentials{Session: made.Text}, api.CodeUnauthenticated)
		}
		browser := enter(t, there, access.Credentials{Session: first}, "")
		if _, _, err := there.Login(t.Context(), &browser); codeOf(err) != api.CodeLoginNeedless {
			t.Errorf("a session begins another: %v", err)
		}
		ticket, err := there.Ticket(t.Context(), &browser)
		if err != nil {
			t.Fatal(err)
		}
		if err := there.Still(t.Context(), &browser); err != nil {
			t.Errorf("one who is logged in may not stay: %v", err)
		}
		if err := g.Logout(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for there.Still(t.Context(), &browser) == nil { // as a socket asks
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("a socket outlives the logout at another daemon by %v", took)
		}
		enter(t, g, access.Credentials{Ticket: ticket.Ticket}, api.CodeUnauthenticated)
		enter(t, g, access.Credentials{Session: first}, api.CodeUnauthenticated)
		enter(t, there, access.Credentials{Session: first}, api.CodeUnauthenticated)
		for range maxSessionsEach - 1 {
			login()
		}
		enter(t, there, access.Credentials{Session: second}, "")
		login()
		time.Sleep(trust)
		enter(t, there, access.Credentials{Session: second}, api.CodeUnauthenticated)
		long := login()
		time.Sleep(sessionLife - time.Second)
		enter(t, g, access.Credentials{Session: long}, "")
		time.Sleep(time.Second)
		enter(t, g, access.Credentials{Session: long}, api.CodeUnauthenticated)
		last := login()
		enter(t, there, access.Credentials{Session: last}, "")
		if err := g.Revoke(t.Context(), &root, made.ID); err != nil {
			t.Fatal(err)
		}
		enter(t, g, access.Credentials{Session: last}, api.CodeUnauthenticated)
		time.Sleep(trust)
		enter(t, there, access.Credentials{Session: last}, api.CodeUnauthenticated)
		if len(s.passes) != 0 {
			t.Errorf("%d sessions are left behind", len(s.passes))
		}
	})
}

// TestSessionsOfOthers: a session that was begun with a certificate or with an issuer's token is looked at again by
// what the daemon believes where it is shown, and by what that gives today.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		line := access.Granted{Name: "groups=x", Grant: access.Grant{Tenant: "acme", Role: access.AuthorRole}}
		here := newGate(t, s, func(c *Config) { c.Required, c.Grants = true, []access.Granted{line} })
		until := time.Now().Add(time.Minute)
		is := access.Identity{Subject: "oidc:ada", Grants: []access.Granted{line}, Proof: access.Proof{Until: until},
			Holds: func(now time.Time) bool { return now.Before(until) }}
		who, _ := is.Principal("acme")
		text, made, err := here.Login(t.Context(), &who)
		if err != nil || !made.ExpiresAt.Equal(until) {
			t.Fatalf("got %+v, %v", made, err)
		}
		line.Role = access.Viewer
		there := newGate(t, s, func(c *Config) { c.Required, c.Grants = true, []access.Granted{line} })
		if got := enter(t, here, access.Credentials{Session: text}, ""); got.Role != access.AuthorRole ||
			got.Subject != "oidc:ada" || !got.Vouched() || got.Token != "" {
			t.Errorf("got %+v", got)
		}
		if got := enter(t, there, access.Credentials{Session: text}, ""); got.Role != access.Viewer {
			t.Errorf("a role of yesterday: %+v", got)
		}
		enter(t, newGate(t, s, func(c *Config) { c.Required = true }), access.Credentials{Session: text},
			api.CodeInvalidToken)
		enter(t, here, access.Credentials{Session: text}, "") // that daemon has ended it for nobody else
		ticket, err := here.Ticket(t.Context(), &who)
		if err != nil {
			t.Fatal(err)
		}
		if got := enter(t, there, access.Credentials{Ticket: ticket.Ticket}, ""); got.Holds == nil ||
			got.Holds(until) || !got.Holds(until.Add(-1)) {
			t.Errorf("got %+v", got)
		}
		time.Sleep(time.Minute)
		enter(t, here, access.Credentials{Session: text}, api.CodeUnauthenticated)

		cert := certtest.New(t).Named(t, "ops", "spiffe://acme.example/ops").Cert
		good := true
		believes := func(c *Config) {
			c.Required = true
			c.Certificates = func(chain []*x509.Certificate) (access.Identity, bool) {
				all := access.Granted{Name: "ops", Grant: access.Grant{Tenant: "*", Role: access.Viewer}}
				is := access.Identity{Subject: "ops", Grants: []access.Granted{all},
					Holds: func(time.Time) bool { return good }, Proof: access.Proof{Chain: [][]byte{chain[0].Raw}}}
				return is, good && chain[0].Equal(cert)
			}
		}
		here, there = newGate(t, s, believes), newGate(t, s, believes)
		certified := enter(t, here, access.Credentials{Chain: []*x509.Certificate{cert}, Tenant: "beta"}, "")
		if text, _, err = here.Login(t.Context(), &certified); err != nil {
			t.Fatal(err)
		}
		if got := enter(t, there, access.Credentials{Session: text}, ""); got.Tenant != "beta" ||
			got.Role != access.Viewer {
			t.Errorf("got %+v", got)
		}
		good = false
		enter(t, there, access.Credentials{Session: text}, api.CodeInvalidToken)
	})
}

// TestSessionsOfTenants: a tenant that logs in as often as it can with many tokens keeps no other out (A10, A11).
func TestSessionsOfTenants(t *testing.T) {
	t.Parallel()
	g := newGate(t, newStore(), nil)
	login := func(tenant string, n int) error {
		_, _, err := g.Login(t.Context(), &access.Principal{Tenant: tenant, Subject: fmt.Sprint(tenant, "-", n),
			Role: access.Viewer, Holds: func(time.Time) bool { return true }})
		return err
	}
	for n := range maxSessionsTenant {
		if err := login("loud", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := login("loud", -1); codeOf(err) != api.CodeTooManySessions {
		t.Errorf("one more of a tenant: %v", err)
	}
	if err := login("calm", 1); err != nil {
		t.Error(err)
	}
}
