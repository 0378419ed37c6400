package gate

import (
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
		enter(t, g, access.Credentials{Session: last}, api.CodeInvalidToken)
		until := time.Now().Add(time.Minute)
		who = access.Principal{Tenant: "acme", Role: access.Viewer, Holds: func(now time.Time) bool {
			return now.Before(until)
		}}
		vouched := login()
		enter(t, g, access.Credentials{Session: vouched}, "")
		time.Sleep(time.Minute)
		enter(t, g, access.Credentials{Session: vouched}, api.CodeInvalidToken)
		g.sessions.mu.Lock()
		g.sessions.expire(time.Now().Add(sessionLife))
		if len(g.sessions.bySum) != 0 || len(g.sessions.each) != 0 {
			t.Errorf("%d sessions are left behind", len(g.sessions.bySum))
		}
		g.sessions.mu.Unlock()
	})
}
