package gate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// TestSessions: a browser's session is of who has begun it, and ends with its time, with a logout, with the token
// that it was begun with, and when too many others have been begun since.
func TestSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, newStore(), nil)
		if _, _, err := g.Login(&access.Principal{Role: access.PlatformAdmin}); codeOf(err) != api.CodeLoginNeedless {
			t.Errorf("who needs no token logs in: %v", err)
		}
		root := access.Principal{Tenant: "default", Subject: "root", Role: access.PlatformAdmin}
		made := newToken(t, g, root, api.TokenRequest{Role: "platform-admin"})
		who := enter(t, g, access.Credentials{Bearer: made.Text, Tenant: "acme"}, "")
		login := func() string {
			t.Helper()
			text, _, err := g.Login(&who)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		first, second := login(), login()
		if got := enter(t, g, access.Credentials{Session: first}, ""); got.Tenant != "acme" || got.Token != made.ID {
			t.Errorf("got %+v", got)
		}
		enter(t, g, access.Credentials{Session: first, Tenant: "other"}, api.CodeTenantNotFound)
		enter(t, g, access.Credentials{Bearer: first}, api.CodeInvalidToken) // it is none
		enter(t, g, access.Credentials{Session: made.Text}, api.CodeUnauthenticated)
		browser := enter(t, g, access.Credentials{Session: first}, "")
		if _, _, err := g.Login(&browser); codeOf(err) != api.CodeLoginNeedless {
			t.Errorf("a session begins another: %v", err)
		}
		ticket, err := g.Ticket(&browser)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Still(t.Context(), &browser); err != nil {
			t.Errorf("one who is logged in may not stay: %v", err)
		}
		g.Logout(first)
		if err := g.Still(t.Context(), &browser); codeOf(err) != api.CodeUnauthenticated {
			t.Errorf("a socket outlives the logout: %v", err)
		}
		enter(t, g, access.Credentials{Ticket: ticket.Ticket}, api.CodeUnauthenticated)
		enter(t, g, access.Credentials{Session: first}, api.CodeUnauthenticated)
		for range maxSessionsEach - 1 {
			login()
		}
		enter(t, g, access.Credentials{Session: second}, "")
		login()
		enter(t, g, access.Credentials{Session: second}, api.CodeUnauthenticated)
		long := login()
		time.Sleep(sessionLife - time.Second)
		enter(t, g, access.Credentials{Session: long}, "")
		time.Sleep(time.Second)
		enter(t, g, access.Credentials{Session: long}, api.CodeUnauthenticated)
		last := login()
		if err := g.Revoke(t.Context(), &root, made.ID); err != nil {
			t.Fatal(err)
		}
		enter(t, g, access.Credentials{Session: last}, api.CodeUnauthenticated)
		until := time.Now().Add(time.Minute)
		who = access.Principal{Tenant: "acme", Role: access.Viewer, Holds: func(now time.Time) bool {
			return now.Before(until)
		}}
		vouched := login()
		enter(t, g, access.Credentials{Session: vouched}, "")
		time.Sleep(time.Minute)
		enter(t, g, access.Credentials{Session: vouched}, api.CodeInvalidToken)
		enter(t, g, access.Credentials{Session: vouched}, api.CodeUnauthenticated) // it is gone
		g.sessions.mu.Lock()
		if len(g.sessions.bySum) != 0 || len(g.sessions.each) != 0 || len(g.sessions.of) != 0 {
			t.Errorf("%d sessions are left behind, of %v", len(g.sessions.bySum), g.sessions.of)
		}
		g.sessions.mu.Unlock()
	})
}

// TestSessionsOfTenants: a tenant that logs in as often as it can with many tokens keeps no other out, and what has
// ended makes room (A10, A11).
func TestSessionsOfTenants(t *testing.T) {
	t.Parallel()
	g := newGate(t, newStore(), nil)
	good := true
	login := func(tenant string, n int) error {
		_, _, err := g.Login(&access.Principal{Tenant: tenant, Subject: fmt.Sprint(tenant, "-", n), Role: access.Viewer,
			Holds: func(time.Time) bool { return good || tenant != "t0" }})
		return err
	}
	for tenant := range 5 {
		for n := range maxSessionsTenant {
			if err := login(fmt.Sprint("t", tenant), n); err != nil {
				t.Fatal(err)
			}
		}
		if err := login(fmt.Sprint("t", tenant), -1); codeOf(err) != api.CodeTooManySessions {
			t.Errorf("one more of a tenant: %v", err)
		}
	}
	for n := range 10 {
		if err := login("calm", n); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(g.sessions.bySum); n != maxSessions || g.sessions.of["calm"] != 10 {
		t.Errorf("%d sessions, of %v", n, g.sessions.of)
	}
	good = false
	if err := login("calm", 10); err != nil || g.sessions.of["t0"] != 0 {
		t.Errorf("%v, and those that have ended are %d", err, g.sessions.of["t0"])
	}
}
